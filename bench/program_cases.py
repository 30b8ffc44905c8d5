#!/usr/bin/env python3
"""Programs as people write them, one a process: program_cases.py CASE [SCALE]; program_cases.py --list names them.

Each makes its data, then computes something that is worth waiting for. A line of JSON says how long that took, and a number of the result, by which
two runs can be compared. SCALE multiplies the sizes. They need NumPy, SciPy, scikit-learn and statsmodels, or R, or Octave.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from typing import Callable

CASES: dict[str, Callable] = {}
SCRIPTS: dict[str, tuple[str, str, int]] = {}
"""Of other languages: the interpreter, a script that prints seconds and a number, and its size, which is %d in it."""


def case(make: Callable) -> Callable:
    CASES[make.__name__] = make
    return make


class Sizes:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, size: int) -> int:
        return max(8, int(size * self.scale))


def normal(rows: int, columns: int):
    import numpy

    return numpy.random.default_rng(1).standard_normal((rows, columns))


def definite(order: int):
    import numpy

    A = normal(order, order)
    return A @ A.T + order * numpy.eye(order)


# ---- linear algebra by name


@case
def solve(n):
    import scipy.linalg

    A, b = normal(n(10000), n(10000)), normal(n(10000), 4)
    return lambda: scipy.linalg.solve(A, b)[0, 0]


@case
def inv(n):
    import numpy

    A = normal(n(8000), n(8000))
    return lambda: numpy.linalg.inv(A)[0, 0]


@case
def chol(n):
    import numpy

    A = definite(n(12000))
    return lambda: numpy.linalg.cholesky(A)[-1, -1]


@case
def eigh(n):
    import numpy

    A = definite(n(5000))
    return lambda: numpy.linalg.eigh(A)[0][0]


@case
def geneigh(n):
    import scipy.linalg

    A, B = definite(n(4000)), definite(n(4000))
    return lambda: scipy.linalg.eigh(A, B)[0][0]


@case
def zeigh(n):
    import numpy

    A = normal(n(3000), n(3000)) + 1j * normal(n(3000), n(3000)).T
    A = A + A.conj().T
    return lambda: numpy.linalg.eigh(A)[0][0]


@case
def svd(n):
    import numpy

    A = normal(n(3000), n(3000))
    return lambda: numpy.linalg.svd(A)[1][0]


@case
def eig(n):
    import numpy

    A = normal(n(2000), n(2000))
    return lambda: abs(numpy.linalg.eig(A)[0]).max()


@case
def expm(n):
    import scipy.linalg

    A = normal(n(4000), n(4000)) / 60
    return lambda: scipy.linalg.expm(A)[0, 0]


@case
def lstsq(n):
    import scipy.linalg

    A, b = normal(n(20000), n(2000)), normal(n(20000), 1)
    return lambda: scipy.linalg.lstsq(A, b, lapack_driver="gelsy")[0][0, 0]


@case
def pinv(n):
    import numpy

    A = normal(n(6000), n(1500))
    return lambda: numpy.linalg.pinv(A)[0, 0]


@case
def qr(n):
    import numpy

    A = normal(n(8000), n(4000))
    return lambda: abs(numpy.linalg.qr(A)[1][0, 0])


@case
def slogdet(n):
    import numpy

    A = normal(n(8000), n(8000))
    return lambda: numpy.linalg.slogdet(A)[1]


@case
def zsolve(n):
    import numpy

    A, b = normal(n(5000), n(5000)) + 1j * normal(n(5000), n(5000)).T, normal(n(5000), 4)
    return lambda: abs(numpy.linalg.solve(A, b)[0, 0])


@case
def few_eigenvalues(n):
    import scipy.linalg

    A = definite(n(5000))
    return lambda: scipy.linalg.eigh(A, subset_by_index=[0, 19])[0][0]


@case
def singular_values(n):
    import scipy.linalg

    A = normal(n(4000), n(3000))
    return lambda: scipy.linalg.svdvals(A)[0]


# ---- iterations


@case
def kalman(n):
    import numpy
    import scipy.linalg

    states, seen = n(1500), n(500)
    F, H, Q, R = normal(states, states) / 60, normal(seen, states), 0.1 * numpy.eye(states), numpy.eye(seen)

    def steps():
        P = numpy.eye(states)
        for _ in range(20):
            P = F @ P @ F.T + Q
            gain = scipy.linalg.cho_solve(scipy.linalg.cho_factor(H @ P @ H.T + R), H @ P).T
            P = P - gain @ H @ P
        return P[0, 0]

    return steps


@case
def power(n):
    import numpy

    A, start = definite(n(8000)), normal(n(8000), 1)[:, 0]

    def steps():
        x = start
        for _ in range(600):
            x = A @ x
            x /= numpy.linalg.norm(x)
        return x @ (A @ x)

    return steps


@case
def conjugate_gradients(n):
    import scipy.sparse.linalg

    A, b = definite(n(8000)), normal(n(8000), 1)[:, 0]
    return lambda: scipy.sparse.linalg.cg(A, b, rtol=1e-12, maxiter=300)[0][0]


@case
def many_right_hand_sides(n):
    import scipy.linalg

    A, B = normal(n(8000), n(8000)), normal(n(8000), 60)

    def steps():
        factors = scipy.linalg.lu_factor(A)
        return sum(scipy.linalg.lu_solve(factors, B[:, i])[0] for i in range(B.shape[1]))

    return steps


@case
def attention(n):
    import numpy

    Q, K, V = (normal(n(16384), 512).astype("f4") for _ in range(3))

    def softmax():
        S = Q @ K.T
        S -= S.max(1, keepdims=True)
        numpy.exp(S, out=S)
        S /= S.sum(1, keepdims=True)
        return (S @ V)[0, 0]

    return softmax


# ---- statistics and learning


def points(rows: int, columns: int):
    X = normal(rows, columns)
    return X, X[:, 0] + normal(rows, 1)[:, 0]


@case
def gp(n):
    import numpy
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    X = normal(n(6000), 8)
    y = numpy.sin(X[:, 0])
    model = GaussianProcessRegressor(RBF(3.0) + WhiteKernel(0.1), optimizer=None)
    return lambda: model.fit(X, y).predict(X[:500], return_std=True)[1][0]


@case
def gp_opt(n):
    import numpy
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    X = normal(n(2500), 8)
    y = numpy.sin(X[:, 0])
    return lambda: GaussianProcessRegressor(RBF(3.0) + WhiteKernel(0.1)).fit(X, y).log_marginal_likelihood_value_


@case
def krr(n):
    from sklearn.kernel_ridge import KernelRidge

    X, y = points(n(10000), 50)
    return lambda: KernelRidge(kernel="rbf").fit(X, y).dual_coef_[0]


@case
def kpca(n):
    from sklearn.decomposition import KernelPCA

    X = normal(n(8000), 50)
    return lambda: KernelPCA(20, kernel="rbf", eigen_solver="dense").fit(X).eigenvalues_[0]


@case
def pca_full(n):
    from sklearn.decomposition import PCA

    X = normal(n(20000), n(2000))
    return lambda: PCA(50, svd_solver="full").fit(X).explained_variance_[0]


@case
def pca_cov(n):
    from sklearn.decomposition import PCA

    X = normal(n(60000), n(3000))
    return lambda: PCA(50, svd_solver="covariance_eigh").fit(X).explained_variance_[0]


@case
def ols(n):
    from sklearn.linear_model import LinearRegression

    X, y = points(n(40000), n(2000))
    return lambda: LinearRegression().fit(X, y).coef_[0]


@case
def ridge(n):
    from sklearn.linear_model import Ridge

    X, y = points(n(40000), n(5000))
    return lambda: Ridge(solver="cholesky").fit(X, y).coef_[0]


@case
def smols(n):
    import statsmodels.api

    X, y = points(n(30000), n(1200))
    return lambda: statsmodels.api.OLS(y, X).fit().params[0]


@case
def lda(n):
    import numpy
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    X = normal(n(20000), n(1500))
    y = numpy.random.default_rng(2).integers(0, 5, len(X))
    return lambda: LinearDiscriminantAnalysis().fit(X, y).score(X[:100], y[:100])


@case
def logreg(n):
    from sklearn.linear_model import LogisticRegression

    X = normal(n(60000), n(2000))
    y = (X[:, 0] > 0).astype(int)
    return lambda: LogisticRegression(max_iter=60).fit(X, y).coef_[0, 0]


@case
def nmf(n):
    from sklearn.decomposition import NMF

    X = abs(normal(n(10000), n(4000)))
    return lambda: NMF(64, max_iter=30, init="random", random_state=1).fit(X).reconstruction_err_


# ---- other languages

SCRIPTS["r_solve"] = ("Rscript", "set.seed(1); n <- %d; A <- matrix(rnorm(n * n), n); t <- system.time(x <- solve(A, rep(1, n)))[3]; cat(t, x[1])", 6000)
SCRIPTS["r_eigen"] = ("Rscript", "set.seed(1); n <- %d; A <- crossprod(matrix(rnorm(n * n), n)); t <- system.time(x <- eigen(A))[3]; cat(t, x$values[1])", 3000)
SCRIPTS["octave_svd"] = ("octave-cli", "rand('seed', 1); A = rand(%d); tic; s = svd(A); printf('%%g %%.12g', toc, s(1))", 3000)


def run_script(name: str, n: Sizes) -> tuple[float, float]:
    interpreter, script, size = SCRIPTS[name]
    if not shutil.which(interpreter):
        sys.exit(f"{interpreter} is not here")
    flag = "-e" if interpreter == "Rscript" else "--eval"
    said = subprocess.run([interpreter, flag, script % n(size)], capture_output=True, text=True, check=True).stdout.split()
    return float(said[0]), float(said[1])


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] == "--list":
        print("\n".join([*CASES, *SCRIPTS]))
        return
    name, n = sys.argv[1], Sizes(float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
    if name in SCRIPTS:
        seconds, result = run_script(name, n)
    elif name in CASES:
        compute = CASES[name](n)
        began = time.perf_counter()
        result = compute()
        seconds = time.perf_counter() - began
    else:
        sys.exit(f"no such program: {name}")
    print(json.dumps({"case": name, "seconds": seconds, "result": float(abs(result))}), flush=True)


if __name__ == "__main__":
    main()
