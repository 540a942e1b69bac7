"""Which functions of the core each test calls that passes: a plugin that pytest loads with `-p tests.chaos.calls`.

Each process writes what it has seen as one file of JSON into the folder that QUARTERDECK_CHAOS_CALLS names.
"""

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

CORE = str(Path(__file__).resolve().parents[2] / "engine" / "core") + os.sep
FOLDER = "QUARTERDECK_CHAOS_CALLS"

_now: set[str] = set()
"""What has been called since the test began."""
_tests: dict[str, set[str]] = defaultdict(set)
_shared: dict[str, set[str]] = defaultdict(set)
"""What fixtures have called that several tests of a file share, by that file."""
_failed: set[str] = set()
_cpu_s: dict[str, float] = defaultdict(float)


def _note(frame: FrameType, _event: str, _arg: object) -> None:
    code = frame.f_code
    if code.co_filename.startswith(CORE):
        _now.add(f"{code.co_filename.removeprefix(CORE)}:{code.co_firstlineno}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note what a test calls, its fixtures included, and the time that it takes."""
    _now.clear()
    began = time.process_time()
    threading.settrace(_note)
    sys.settrace(_note)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)
        test = item.nodeid.partition("[")[0]
        _tests[test] |= _now
        _cpu_s[test] += time.process_time() - began


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> Iterator[None]:
    """Note what a fixture calls for all tests of the file where it is shared."""
    before = set(_now)
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            _shared[request.node.nodeid.partition("::")[0]] |= _now - before


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what fails, for whatever reason."""
    if report.failed:
        _failed.add(report.nodeid.partition("[")[0])


def pytest_sessionfinish() -> None:
    """Write down what was seen."""
    seen = {
        test: {"cpu_s": _cpu_s[test], "calls": sorted(called | _shared[test.partition("::")[0]])}
        for test, called in _tests.items()
        if test not in _failed
    }
    if seen:
        (Path(os.environ[FOLDER]) / f"{os.getpid()}.json").write_text(json.dumps(seen), encoding="utf-8")
