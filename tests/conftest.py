"""What every test stands on: one event loop, repeatable examples, and nothing of the person who runs it."""

import faulthandler
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Literal

import pytest
from hypothesis import settings

from tests.depth import DEEP, examples
from tests.patience import PATIENCE_S

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell without job control lets what it runs in the background ignore Ctrl-C, and so all that this starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# By default all that lives is looked through again and again: a quarter of the time of a test that opens the dashboard.
gc.set_threshold(20_000, 10, 20)
# What is made while tests are collected is there to the end.
gc.disable()

# Different examples at each run of a person, always the same ones where nobody could look into a rare failure.
settings.register_profile("local", deadline=None, max_examples=examples(15))
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") and not DEEP else "local")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out files so that a test which hangs costs its worker once."""
    from tests.handing_out import by_file

    return by_file(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let workers begin with what takes long, so that none of them ends long after the others."""
    if hasattr(config, "workerinput"):
        from tests.handing_out import long_ones_first

        long_ones_first(items)


class EndOfHangs:
    """What hangs for twice what a test waits for anything shows its stacks and ends its worker; the others still run.

    An exception, as of a signal, would not do: anyio would wait for the test that hangs to clean up after it. One
    thread watches for many tests: one for each takes a third of a millisecond.
    """

    RENEWED_S = 10.0

    def __init__(self) -> None:
        self._stderr = os.dup(2)  # while tests run, what is written there is captured
        self._since_s = -self.RENEWED_S

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if item.get_closest_marker("chaos_long") is not None:  # one of them runs for half an hour
            faulthandler.cancel_dump_traceback_later()
            self._since_s = -self.RENEWED_S
        elif time.monotonic() - self._since_s >= self.RENEWED_S:
            self.pytest_exception_interact()

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self) -> None:
        """Arm the watch again: after a failure pytest disarms it, so that the test can be debugged."""
        self._since_s = time.monotonic()
        faulthandler.dump_traceback_later(2 * PATIENCE_S + self.RENEWED_S, exit=True, file=self._stderr)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(EndOfHangs())


@pytest.hookimpl(tryfirst=True)  # the loop of a worker would be the only one to be called
def pytest_runtestloop() -> None:
    """Let no collection of garbage walk through what was collected to be run."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Collect once what tests left, and nothing of what is still there: pytest looks for leaks five times more."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def anyio_backend() -> Literal["asyncio"]:
    """Run async tests on the loop that Textual and litellm need."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_this_person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep teams, keys and trust of whoever runs the tests out of them, also in child processes."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("QUARTERDECK_") and not name.startswith("QUARTERDECK_CHAOS_"):
                patch.delenv(name)
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            patch.setenv(name, str(home / name.removeprefix("XDG_").removesuffix("_HOME").lower()))
        patch.setenv("HOME", str(home))
        patch.setenv("TEXTUAL_ANIMATIONS", "none")
        yield


@pytest.fixture
def started() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Run a program in a Python of its own, ended with the test."""
    with ExitStack() as stack:

        def start(program: str, *arguments: object) -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", program, *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start
