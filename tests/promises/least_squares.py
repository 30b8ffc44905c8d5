"""The promises for least squares beyond those of every routine: what the library underneath computes alone."""

from __future__ import annotations

import harness
from eigen import as_underneath
from setting import HOST, Setting, labelled, told, verdict_errors

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")
FORCED = HOST | {"BLASLIFT_FORCE": ",".join(DRIVERS)}
"""What the library calls meanwhile stays."""


def stay(s: Setting, what: str, reason: str, drivers: tuple[str, ...] = DRIVERS, checked: bool = False) -> list[str]:
    """@param checked  also while verification looks at the calls, by another library"""
    oracle = str(harness.PROVIDERS["reference"][1] / "liblapack.so.3")
    modes = {"checked": {"BLASLIFT_VERIFY": "all", "BLASLIFT_VERIFY_ORACLE": oracle}} if checked else {}
    return [error for driver in drivers for error in as_underneath(s, (what, driver), reason, modes, "least_squares", FORCED)]


def verified(s: Setting, what: str, driver: str) -> list[str]:
    """All such calls are routed, twice with the same bits, and right by verification, with and without copies."""
    errors = []
    for mode in ("off", "always"):
        run = s.run("least_squares", what, driver, settings=FORCED | {"BLASLIFT_VERIFY": "all", "BLASLIFT_RESIDENCY": mode})
        errors += labelled(f"{what} {driver}, copies {mode}", verdict_errors(run))
        for name, calls in told(run).items():
            checked = run.reports[0]["routines"][name]["verified"]
            if checked["wrong"] or checked["checked"] != calls or checked["repeated"] != calls:
                errors.append(f"{name} {what}, copies {mode}: {checked} of {calls}, {run.reports[0]['worst'][:3]}")
    return errors


def least_squares_vectors(s: Setting) -> list[str]:
    """gelss leaves right singular vectors in A, however many columns A has."""
    return verified(s, "vectors", "gelss")


def least_squares_wide(s: Setting) -> list[str]:
    """gelsy's pivots of more columns than rows are for the library underneath."""
    return stay(s, "wide", harness.OF_COLUMNS, ("gelsy",))


def least_squares_condition(s: Setting) -> list[str]:
    """The shortest solutions with a wide and badly conditioned matrix, or one without full rank, are right by verification, too."""
    return [error for driver in ("gels", "gelsd", "gelss") for error in verified(s, "condition", driver)]


def least_squares_adjoint(s: Setting) -> list[str]:
    """With A^H in A's place gels is routed, and right by verification: whatever A's shape is, also where of more unknowns than
    equations A is badly conditioned, or has not full rank."""
    return verified(s, "adjoint", "gels")


def least_squares_singular(s: Setting) -> list[str]:
    """An R with a zero on its diagonal: gels ends as the library underneath leaves it, bit for bit, and with its info."""
    return stay(s, "singular", harness.SINGULAR, ("gels",), checked=True)


def least_squares_scaled(s: Setting) -> list[str]:
    """Norms of A or B that turn out to be such as LAPACK scales, or a matrix of zeros: the call ends as the library underneath
    leaves it, bit for bit, and with its info, rank and pivots; with and without copies."""
    return stay(s, "scaled", harness.SCALED, checked=True)


def least_squares_not_finite(s: Setting) -> list[str]:
    """The same of A or B that are not finite."""
    return stay(s, "not_finite", harness.NOT_CONVERGED, ("gels", "gelsy"))  # of others LAPACK's own do not come to an end


def least_squares_elsewhere(s: Setting) -> list[str]:
    """Where the device has not what it takes, such a call stays and says why."""
    errors = []
    for driver in DRIVERS:
        plain = s.run("least_squares", "scaled", driver, preload=False)
        run = s.run("least_squares", "scaled", driver, settings=FORCED | {"BLASLIFT_MEMORY": "4K"})
        errors += labelled(driver, verdict_errors(run))
        if run.stdout != plain.stdout:
            errors.append(f"{driver}: other results")
        for name, calls in told(plain).items():
            stayed = harness.accounts(run.reports)[name].stayed
            if stayed[harness.NO_ROOM] < calls / 4 or stayed[harness.NO_ROOM] + stayed[harness.SCALED] != calls:
                errors.append(f"{name}: {calls} calls, {stayed}")
    return errors


def least_squares_inside(s: Setting) -> list[str]:
    """What the library underneath calls for a large R is routed, as it would be from the program's own call."""
    run = s.run("least_squares", "large", "gelsd", settings=FORCED | {"BLASLIFT_FORCE": "gelsd,gebrd"})
    accounts = harness.accounts(run.reports)
    print({name: (account.calls, account.routed) for name, account in accounts.items()})
    inside = accounts.get("dgebrd", harness.Account())
    errors = verdict_errors(run) + harness.backend_errors(run.reports, "host")
    if (accounts["dgelsd"].calls, accounts["dgelsd"].routed, inside.calls, inside.routed) != (1, 1, 1, 1):
        errors.append(f"{accounts['dgelsd']}, inside {inside}")
    return errors


PROMISES = (least_squares_vectors, least_squares_wide, least_squares_condition, least_squares_adjoint, least_squares_singular, least_squares_scaled, least_squares_not_finite, least_squares_elsewhere, least_squares_inside)
