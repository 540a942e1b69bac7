"""`up` after an edit of the code alone, on engines in processes of their own as a person has them."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.reading.folding import fold_file
from store import Reader
from tests.patience import PATIENCE_S
from tests.runtime.console import Console, await_event, engine_of
from tests.runtime.shell import until

TEAM = """\
version: 1
supervisor: {name: pair, strategy: sequential}
agents:
  - {name: first, run: "one:work"}
  - {name: second, run: "two:work"}
"""
ONE = """\
import asyncio, pathlib
import code

async def work(task, ctx):
    while not pathlib.Path("go").exists():
        await ctx.step("look", lambda: asyncio.sleep(0.2))
    return code.two()
"""
TWO = "import code, os\n\ndef work(text):\n    return f'{text} {code.two()} in {os.getpid()}'\n"
CODE = "def two():\n    return 'old'\n"


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    """A team at work whose two agents share a module that is named like one of the standard library."""
    console = Console(tmp_path)
    for name, text in {"team.yaml": TEAM, "one.py": ONE, "two.py": TWO, "code.py": CODE}.items():
        console.write(name, text)
    console.done("up", "team.yaml", "--detach", "--trust")
    yield console
    engine = engine_of(console.database("pair"))
    if engine is not None and engine.alive:
        os.kill(engine.pid, signal.SIGKILL)


def test_an_edit_of_a_shared_module_is_shown_and_waits_for_trust(console: Console) -> None:
    before = engine_of(console.database("pair"))
    console.write("code.py", CODE.replace("old", "new"))

    ended = console.run("up", "team.yaml", "--detach")
    plan = console.json("up", "team.yaml", "--dry-run")

    assert ended.returncode == 2
    assert "has changed since it was trusted (code.py)" in ended.stderr
    assert "swapped pair/first: code" in ended.stderr
    assert f"quarterdeck up {console.folder / 'team.yaml'} --trust" in ended.stderr
    assert [(one["change"], one["path"], one["fields"][0]["field"]) for one in plan["items"]] == [
        ("swapped", "pair/first", "code"), ("swapped", "pair/second", "code"),
    ]  # fmt: skip
    after = engine_of(console.database("pair"))
    assert before is not None
    assert after is not None
    assert (after.pid, after.alive) == (before.pid, True)


def test_new_code_is_taken_over_in_the_middle_of_a_run_by_a_fresh_process_and_nothing_is_lost(
    console: Console,
) -> None:
    db = console.database("pair")
    before = engine_of(db)
    run = console.done("run", "go", "--detach").strip()
    await_event(db, "step_recorded")
    console.write("code.py", CODE.replace("old", "new"))

    up = console.json("up", "team.yaml", "--detach", "--trust")
    steps = {task.id: len(task.steps) for task in fold_file(db).tasks.values()}
    console.write("go", "")
    until(db, lambda state: run not in state.runs)
    outcome = console.done("wait", run)
    again = console.json("up", "team.yaml", "--detach")

    state = fold_file(db)
    assert before is not None
    assert (up["handed_over"], up["started"]) == (True, False)
    assert up["loaded"]["agents_swapped"] == 2
    assert up["pid"] != before.pid
    assert max(steps.values()) >= 1
    assert outcome.strip() == f"new new in {up['pid']}"
    assert [agent.generation for agent in state.agents.values()] == [2, 2]
    assert (state.tasks_failed, state.finished[-1].status) == (0, "done")
    assert (again["pid"], again["handed_over"], again["loaded"]) == (up["pid"], False, None)


def test_open_runs_go_on_with_code_that_was_edited_while_no_engine_ran(console: Console) -> None:
    db = console.database("pair")
    before = engine_of(db)
    assert before is not None
    run = console.done("run", "go", "--detach").strip()
    await_event(db, "step_recorded")
    os.kill(before.pid, signal.SIGKILL)
    console.write("code.py", CODE.replace("old", "new"))

    up = console.json("up", "team.yaml", "--detach", "--trust")
    console.write("go", "")
    outcome = console.done("wait", run)

    assert outcome.strip() == f"new new in {up['pid']}"
    assert fold_file(db).tasks_failed == 0


def test_the_process_that_goes_on_with_new_code_stands_by_before_that_is_loaded(console: Console) -> None:
    db = console.database("pair")
    before = engine_of(db)
    console.write("code.py", CODE.replace("old", "new"))
    seq = fold_file(db).seq

    upping = console.begin("up", "team.yaml", "--detach", "--trust")
    await_event(db, "team_loaded", after_seq=seq)
    with Reader(db) as reader:
        waits, leads = reader.standbys(), reader.engine()

    assert before is not None
    assert leads is not None
    assert waits or leads.pid != before.pid
    upping.communicate(timeout=PATIENCE_S)
    assert upping.returncode == 0


def test_a_rollback_of_code_alone_says_that_the_old_code_is_gone(console: Console) -> None:
    console.write("code.py", CODE.replace("old", "new"))
    console.done("up", "team.yaml", "--detach", "--trust")

    ended = console.run("rollback", "first", "--db", str(console.database("pair")))

    assert ended.returncode == 3
    assert "the code of first before g2 is gone" in ended.stderr
