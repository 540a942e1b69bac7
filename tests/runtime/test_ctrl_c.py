"""Ctrl-C ends a command with 130 and without a traceback, wherever in its code it falls."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.engines.process import Detached
from engine.core.commands import Submit
from engine.supervisor.client import Client
from tests.patience import PATIENCE_S
from tests.runtime.shell import team_at_work

TEAM = """
version: 1
supervisor: {name: crew}
agents: [{name: waiter, script: [{delay_s: 3000, output: late}]}]
"""
PRESSED = '''
"""Ctrl-C at the n-th entry of a function: the line is FUNCTION N WORDS..., or CALLER/FUNCTION N WORDS..."""
import runpy, signal, sys

(caller, _, function), left = sys.argv[1].rpartition("/"), int(sys.argv[2])

def look(frame, what, arg):
    global left
    if what != "call" or frame.f_code.co_qualname != function:
        return
    if not caller or frame.f_back.f_code.co_qualname == caller:
        left -= 1
        if left == 0:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)

sys.argv[1:] = sys.argv[3:]
sys.settrace(look)
runpy.run_module("dashboard", run_name="__main__", alter_sys=True)
'''


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Detached]:
    with team_at_work(tmp_path_factory.mktemp("ctrl_c"), TEAM, "") as engine:
        client = Client(engine.db)
        client.perform(Submit(request="waits"))
        yield engine


def pressed(db: Path, function: str, nth: int, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command, with Ctrl-C at the n-th entry of a function."""
    return subprocess.run(
        [sys.executable, "-P", "-c", PRESSED, function, str(nth), *words, "--db", str(db)],
        cwd=db.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("function", [f"Condition.{name}" for name in ("__enter__", "_acquire_restore", "__exit__")])
@pytest.mark.parametrize(
    "words", [("run", "hello"), ("wait", "r1"), ("events", "--follow")], ids=lambda words: words[0]
)
def test_ctrl_c_within_a_lock_is_no_defect_and_leaves_nobody_waiting_for_that_lock(
    engine: Detached, function: str, words: tuple[str, ...]
) -> None:
    # The eighth time is while it waits: the first ones are those of threads that start.
    ended = pressed(engine.db, function, 8, *words)

    assert ended.returncode == 130, ended.stderr
    assert ended.stderr == "" or ended.stderr.startswith("still running: quarterdeck wait r")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("InboxClient.__exit__", ()),
        ("Client.wait", ()),
        ("check_outcome", ()),
        ("finish", ()),
        ("ProgressLine.__init__", ()),
        ("emit", ("--detach",)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_ctrl_c_at_any_moment_after_a_request_was_sent_says_how_to_come_back(
    engine: Detached, function: str, words: tuple[str, ...]
) -> None:
    ended = pressed(engine.db, function, 1, "run", "hello", *words)

    assert ended.returncode == 130
    assert re.fullmatch(rf"still running: quarterdeck wait r\d+ --db {engine.db}", ended.stderr.splitlines()[-1])


# The fifth is that of the reader that has found the outcome of the command; where the first look finds it already, that
# of the reader of the state, and then there is none until the run ends.
@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5])
def test_ctrl_c_while_a_reader_is_closed_is_not_lost(engine: Detached, nth: int) -> None:
    assert pressed(engine.db, "Reader.__exit__", nth, "run", "hello").returncode == 130


# msgspec drops what is raised while it looks up a type by its hash.
@pytest.mark.parametrize("function", ["_LiteralGenericAlias.__hash__", "_UnionGenericAlias.__hash__"])
@pytest.mark.parametrize(
    "words", [("run", "hello"), ("wait", "r1"), ("events", "--follow")], ids=lambda words: words[0]
)
def test_ctrl_c_that_a_library_drops_while_it_makes_a_decoder_is_not_lost(
    engine: Detached, function: str, words: tuple[str, ...]
) -> None:
    ended = pressed(engine.db, f"_make_decoder/{function}", 1, *words)

    assert ended.returncode == 130, ended.stderr


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("_keep_output_from_failing", ("import", "team.zip")),
        ("one_interrupt", ("import", "team.zip")),
        ("LazyGroup.resolve_command", ("import", "team.zip")),
        ("read_team", ("up", "team.yaml")),
    ],
)
def test_ctrl_c_before_a_command_has_begun_says_nothing(
    engine: Detached, function: str, words: tuple[str, ...]
) -> None:
    ended = pressed(engine.db, function, 1, *words)

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


@pytest.mark.parametrize("module", ["dashboard.cli", "click", "dashboard.cli.group"])
def test_ctrl_c_while_the_command_line_is_still_imported_says_nothing(tmp_path: Path, module: str) -> None:
    program = f"""
import runpy, signal, sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Press())
runpy.run_module("dashboard", run_name="__main__", alter_sys=True)
"""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", program, "ps"],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
