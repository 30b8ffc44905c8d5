"""A pytest plugin that writes what became of each test, and which BLAS libraries the process had loaded.

Used as `python -m pytest -p outcomes --outcomes FILE ...` with this file's folder in PYTHONPATH; FILE gets
{"outcomes": {test id: outcome}, "libraries": [path, ...]}. It works with every pytest from 7 on and imports
nothing else, so that it fits into any interpreter under test.
"""

import json
import os
import re


def pytest_addoption(parser):
    parser.addoption("--outcomes", required=True, help="file that gets the outcome of each test")


def pytest_configure(config):
    config.pluginmanager.register(Recorder(config.getoption("outcomes"), os.getpid()))


class Recorder:
    """Collects outcomes; written by the process that began the session alone, not by children that tests fork."""

    def __init__(self, path, pid):
        self._path = path
        self._pid = pid
        self._outcomes = {}

    def pytest_collectreport(self, report):
        if report.outcome != "passed":
            self._outcomes[report.nodeid or "collection"] = f"collection {report.outcome}"

    def pytest_runtest_logreport(self, report):
        outcome = _outcome(report)
        if outcome:
            self._outcomes[report.nodeid] = outcome

    def pytest_sessionfinish(self):
        if os.getpid() == self._pid:
            with open(self._path, "w") as file:
                json.dump({"outcomes": self._outcomes, "libraries": _libraries()}, file)


def _outcome(report):
    """The test's outcome as far as this phase decides it; None where it does not."""
    if report.when == "call" or report.outcome == "skipped":
        if hasattr(report, "wasxfail"):
            return "xfailed" if report.outcome == "skipped" else "xpassed"
        return report.outcome
    return f"error in {report.when}" if report.outcome == "failed" else None


def _libraries():
    """Paths of the BLAS and LAPACK libraries mapped into this process, blaslift's own aside."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "/" in line}
    return sorted(path for path in paths if re.search(r"/lib(?!blaslift)[^/]*(blas|lapack)[^/]*\.so", path))
