"""Calls of SciPy's BLAS and LAPACK wrappers that its own tests do not make: SYMV and HEMV by name; and QR at sizes of
several blocks.

Without these, only LAPACK's inner calls reach them, and in the OpenBLAS of the wheels those are not visible from
outside.
"""

import numpy as np
import pytest
import scipy.linalg
from scipy.linalg import blas, lapack

N = 37

PRECISIONS = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


def matrix(dtype, shape):
    """Entries of magnitude about one, the same each time."""
    random = np.random.RandomState(1)
    values = random.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * random.standard_normal(shape)
    return np.asfortranarray(values.astype(dtype))


def times(x, y):
    """Without BLAS's help."""
    return np.einsum("ik,kj->ij", x, y)


def bound(dtype, terms):
    """For sums of `terms` products of entries of magnitude at most 5: the classical bound, with room for complex."""
    return 4 * terms * 25 * np.finfo(dtype).eps


@pytest.mark.parametrize("letter", PRECISIONS)
@pytest.mark.parametrize("lower", [0, 1])
def test_symmetric_matrix_times_vector(letter, lower):
    """Only the named triangle is read: the other one holds NaN."""
    dtype = PRECISIONS[letter]
    full = matrix(dtype, (N, N))
    full = np.asfortranarray(full + full.conj().T)
    x = matrix(dtype, N)
    half = full.copy(order="F")
    half[np.triu_indices(N, 1) if lower else np.tril_indices(N, -1)] = np.nan
    routine = getattr(blas, letter + ("symv" if letter in "sd" else "hemv"))
    assert np.max(np.abs(routine(1, half, x, lower=lower) - full @ x)) <= bound(dtype, 2 * N)


@pytest.mark.parametrize("letter", PRECISIONS)
@pytest.mark.parametrize("trans_a", [0, 1, 2])
@pytest.mark.parametrize("trans_b", [0, 1, 2])
def test_product(letter, trans_a, trans_b):
    dtype = PRECISIONS[letter]
    a, b = matrix(dtype, (N, N)), matrix(dtype, (N, N))[::-1].copy(order="F")
    op = (lambda x: x, lambda x: x.T, lambda x: x.conj().T)
    got = getattr(blas, letter + "gemm")(1, a, b, trans_a=trans_a, trans_b=trans_b)
    wanted = np.einsum("ik,kj->ij", op[trans_a](a), op[trans_b](b))
    assert np.max(np.abs(got - wanted)) <= bound(dtype, N)


@pytest.mark.parametrize("letter", PRECISIONS)
def test_qr(letter):
    """Q R gives A back, Q from Householder vectors applied one by one, without BLAS's help."""
    dtype = PRECISIONS[letter]
    a = matrix(dtype, (N + 5, N))
    factored, tau, _, info = getattr(lapack, letter + "geqrf")(a)
    assert info == 0
    product = np.triu(factored)
    for i in reversed(range(N)):
        v = np.concatenate((np.zeros(i), [1], factored[i + 1 :, i])).astype(dtype)
        product -= tau[i] * np.multiply.outer(v, np.einsum("i,ij->j", v.conj(), product))
    assert np.max(np.abs(product - a)) <= bound(dtype, N)


@pytest.mark.parametrize("letter", PRECISIONS)
@pytest.mark.parametrize("shape", [(N, N), (4 * N, 3 * N), (3 * N, 4 * N)])
def test_qr_of_packages(letter, shape):
    """numpy.linalg.qr, scipy.linalg.qr and qr_multiply, lstsq: Q R gives A back, Q is orthonormal."""
    dtype = PRECISIONS[letter]
    a = matrix(dtype, shape)
    small = bound(dtype, max(shape))
    for mode in ("reduced", "complete"):
        q, r = np.linalg.qr(a, mode=mode)
        assert np.max(np.abs(times(q, r) - a)) <= small
        assert np.max(np.abs(times(q.conj().T, q) - np.eye(q.shape[1]))) <= small
    q, r = scipy.linalg.qr(a, mode="full")
    assert np.max(np.abs(times(q, r) - a)) <= small
    k = min(shape)
    c = matrix(dtype, (k, 7))
    product, _ = scipy.linalg.qr_multiply(a, c, mode="left")
    assert np.max(np.abs(product - times(q[:, :k], c))) <= small
    if shape[0] >= shape[1]:
        x = matrix(dtype, (shape[1], 2))
        solved = scipy.linalg.lstsq(a, times(a, x), lapack_driver="gelsy")[0]
        assert np.max(np.abs(times(a, solved - x))) <= small
