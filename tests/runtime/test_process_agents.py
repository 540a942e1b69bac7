"""Agents that are programs: real ones, started without a shell, heard as they write, and stopped with their group."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

import anyio
import pytest

from engine import DynamicSupervisor, Unusable
from engine.core.commands import Answer, Cancel
from engine.core.records.records import copy_with
from engine.core.specs.spec import AgentSpec, Retry
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines, Hurried, soon
from tests.runtime.test_external_programs import gone, groups_below

pytestmark = pytest.mark.anyio


def program(*argv: str, name: str = "tool", timeout_s: float | None = None, **options: Any) -> AgentSpec:
    return AgentSpec(name=name, agent_type="process", timeout_s=timeout_s, options={"argv": list(argv), **options})


def python(code: str, **options: Any) -> AgentSpec:
    return program(sys.executable, "-c", code, **options)


async def shown(running: Engine, key: str) -> str:
    """Return a live text, once there is one."""

    async def look() -> str:
        return next((text for name, text in (await running.shown()).items() if name.startswith(f"{key}:") and text), "")

    return await soon(look)


def handles() -> int:
    return len(list(Path("/proc/self/fd").glob("*")))


async def cancelled(running: Engine, run_id: str) -> Any:
    """Cancel a run and return what is left of its task."""
    await running.host.order(Cancel(target=run_id))
    summary, _ = await running.ended(run_id)
    assert summary.status == "cancelled"
    (stopped,) = await running.journal("attempt_cancelled")
    return json.loads(stopped.body)


async def test_it_gets_the_task_on_its_standard_input(engine: Engines) -> None:
    async with engine(program("tr", "a-z", "A-Z")) as running:
        assert await running.ask("high tide\nat noon") == "HIGH TIDE\nAT NOON"


async def test_it_gets_the_task_as_its_last_argument_and_no_shell_reads_it(engine: Engines) -> None:
    async with engine(program("echo", "$HOME", "*", input="argument")) as running:
        assert await running.ask("a; echo b $(c)") == "$HOME * a; echo b $(c)"


async def test_a_task_that_is_no_text_comes_as_json(engine: Engines) -> None:
    async with engine(program("cat")) as running:
        assert await running.ask({"files": ["ä", 1]}) == '{"files": ["ä", 1]}'


async def test_its_environment_is_scrubbed(engine: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_KEY", "abc-secret")
    monkeypatch.setenv("WANTED", "yes")
    code = "import os; print(*os.environ)"

    async with engine(python(code, env=["WANTED"])) as running:
        names = set(str(await running.ask()).split())

    of_the_shell_before_it = {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}
    assert names - of_the_shell_before_it - {"HOME", "LANG", "TERM", "TMPDIR"} == {"PATH", "WANTED"}


async def test_its_output_is_shown_as_it_comes_and_characters_stay_whole(engine: Engines) -> None:
    code = "import sys, os; os.write(1, b'first \\xe2\\x82'); sys.stdin.read(); os.write(1, b'\\xac \\xff last')"
    waits = "import os, time; os.write(1, b'first \\xe2\\x82'); time.sleep(1000)"

    async with engine(python(code)) as running:
        assert await running.ask() == "first € \N{REPLACEMENT CHARACTER} last"
    async with engine(python(waits)) as running:
        await running.submit()
        assert await shown(running, "output") == "first "


async def test_an_exit_status_fails_the_attempt_with_the_last_line_of_its_errors(engine: Engines) -> None:
    async with engine(program("sh", "-c", "echo first >&2; echo 'no such reef' >&2; echo >&2; exit 4")) as running:
        assert "sh exited with 4: no such reef" in await running.fails()


async def test_a_signal_that_ends_it_is_a_crash_of_the_agent(engine: Engines) -> None:
    async with engine(program("sh", "-c", "kill -SEGV $$")) as running:
        assert "sh was killed by SIGSEGV" in await running.fails()
        (failed,) = await running.journal("attempt_failed")

    assert json.loads(failed.body)["crashed"]


async def test_a_failed_program_is_tried_again(engine: Engines, tmp_path: Path) -> None:
    spec = program("sh", "-c", f"test -e {tmp_path}/done || (touch {tmp_path}/done; exit 1)")

    async with engine(copy_with(spec, on_failure=[Retry(retries=1, base_s=0.001)])) as running:
        assert await running.ask() == ""


async def test_cancelling_interrupts_it_and_keeps_what_it_wrote(engine: Engines) -> None:
    code = (
        "import time\ntry:\n print('half', flush=True); time.sleep(1000)\nexcept KeyboardInterrupt: print(' and a bit')"
    )

    async with engine(python(code)) as running:
        run_id = await running.submit()
        await shown(running, "output")

        stopped = await cancelled(running, run_id)

    assert stopped["partial"] == "half\n and a bit\n"


async def test_one_that_ignores_what_can_be_ignored_is_killed_with_its_group(engine: Engines) -> None:
    async with engine(program("sh", "-c", "trap '' INT TERM; sleep 1000 & echo here; wait; sleep 1000")) as running:
        run_id = await running.submit()
        await shown(running, "output")
        pid = json.loads(await shown(running, "process"))["pid"]

        await cancelled(running, run_id)
        await gone(pid)


async def test_the_time_limit_ends_it_with_its_group(engine: Engines) -> None:
    clock = Hurried()
    async with engine(program("sh", "-c", "sleep 1000 & sleep 1000", timeout_s=3600), clock=clock) as running:
        run_id = await running.submit()
        pid = json.loads(await shown(running, "process"))["pid"]
        clock.let_pass(3600)
        summary, _ = await running.ended(run_id)

        assert "took longer than its time limit of 3600 s" in (summary.error or "")
        await gone(pid)


async def test_more_output_than_it_may_write_fails_it(engine: Engines) -> None:
    async with engine(program("yes", output_bytes=100_000)) as running:
        assert "its output is longer than 100,000 bytes; see options.output_bytes" in await running.fails()


async def test_an_output_as_long_as_it_may_be_is_read_whole(engine: Engines) -> None:
    async with engine(python("print('x' * 3_000_000 + 'end')")) as running:
        output = await running.ask()

    assert len(str(output)) == 3_000_003
    assert str(output).endswith("end")


async def test_what_it_leaves_behind_does_not_keep_the_attempt(engine: Engines) -> None:
    async with engine(program("sh", "-c", "sleep 1000 & echo done")) as running:
        assert await running.ask() == "done"


async def test_one_that_does_not_read_its_input_is_not_in_the_way(engine: Engines) -> None:
    async with engine(program("echo", "fine")) as running:
        assert await running.ask("x" * 2_000_000) == "fine"


async def test_it_works_in_the_folder_that_it_names(engine: Engines, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()

    async with engine(program("pwd", cwd="below"), host={"folder": tmp_path}) as running:
        assert await running.ask() == str(tmp_path / "below")


async def test_what_it_uses_is_shown_while_it_works(engine: Engines) -> None:
    async with engine(program("sleep", "1000")) as running:
        await running.submit()
        used = json.loads(await shown(running, "process"))

    assert set(used) == {"pid", "cpu_s", "rss_bytes", "active_ms"}
    assert used["rss_bytes"] > 0


async def test_nothing_of_an_engine_that_is_dropped_goes_on(engine: Engines) -> None:
    async with engine(program("sleep", "1000")) as running:
        await running.submit()
        pid = json.loads(await shown(running, "process"))["pid"]

    await gone(pid)


ENGINE = """
import asyncio, sys
from quarterdeck import AgentSpec, DynamicSupervisor
loops = ["sh", "-c", "trap '' INT TERM; echo $$; while :; do sleep 1000 & wait; done"]
agents = [AgentSpec(name=name, agent_type="process", options={"argv": loops}) for name in ("one", "two")]
async def main():
    team = DynamicSupervisor(name="desk", coordination_mode="parallel", agent_specs=agents, store=sys.argv[1])
    await team.arun("go")
asyncio.run(main())
"""


async def test_nothing_of_an_engine_that_was_killed_goes_on(
    started: Callable[..., "Popen[str]"], tmp_path: Path
) -> None:
    engine = started(ENGINE, tmp_path / "team.db")

    async def pids() -> list[int]:
        return [pid for pid in groups_below(engine.pid) if pid != engine.pid]

    async def both() -> list[int]:
        found = await pids()
        return found if len(found) >= 3 else []  # with the watcher

    groups = await soon(both)
    engine.kill()

    await gone(*groups)


async def cut_off(engine: Engines, path: Path, spec: AgentSpec) -> None:
    """Lose an engine while its program is at work."""
    async with engine(spec, path=path) as running:
        await running.submit()
        await shown(running, "output")


async def test_a_cut_off_program_runs_again_by_itself(engine: Engines, tmp_path: Path) -> None:
    log = tmp_path / "log"
    spec = program("sh", "-c", f"echo begun >> {log}; echo here; test $(wc -l < {log}) -gt 1 || sleep 1000")
    await cut_off(engine, tmp_path / "team.db", spec)

    async with engine(path=tmp_path / "team.db") as running:
        (run_id,) = running.state.runs
        _, output = await running.ended(run_id)

    assert (output, log.read_text()) == ("here", "begun\nbegun\n")


@pytest.mark.parametrize(("answer", "times", "output"), [("ran", 1, "by hand"), ("again", 2, "here")])
async def test_one_that_runs_once_is_in_doubt_when_it_is_cut_off(
    engine: Engines, tmp_path: Path, answer: Any, times: int, output: str
) -> None:
    log = tmp_path / "log"
    command = f"echo begun >> {log}; echo here; test $(wc -l < {log}) -gt 1 || sleep 1000"
    await cut_off(engine, tmp_path / "team.db", program("sh", "-c", command, once=True))

    async with engine(path=tmp_path / "team.db") as running:
        await running.until(lambda state: bool(state.escalations))
        (question,) = running.state.escalations
        await running.host.order(Answer(escalation=question, answer=answer, output="by hand"))
        (run_id,) = running.state.runs
        _, found = await running.ended(run_id)

    assert (found, log.read_text().count("begun")) == (output, times)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"argv": ["no-such-program"]}, "no program 'no-such-program' in PATH"),
        ({"argv": ["./missing"]}, "missing does not exist"),
        ({"argv": ["cat"], "env": ["NOT_SET_HERE"]}, "environment has no NOT_SET_HERE"),
        ({"argv": ["cat"], "cwd": "nowhere"}, "there is no folder"),
        ({"argv": []}, r"options\.argv"),
        ({"argv": "cat"}, r"options\.argv"),
        ({}, r"options\.argv"),
        ({"argv": ["cat"], "shell": True}, r"options\.shell"),
        ({"argv": ["cat"], "protocol": "jsonl", "input": "argument"}, "gets its task on stdin"),
        ({"argv": ["a\0b"]}, r"options\.argv"),
    ],
)
async def test_what_cannot_be_a_program_is_said_in_one_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises(Unusable, match=said):
        await DynamicSupervisor(
            name="desk", agent_specs=[AgentSpec(name="tool", agent_type="process", options=options)]
        ).arun("go")


async def test_a_task_that_is_too_long_for_an_argument_fails_with_one_line(engine: Engines) -> None:
    async with engine(program("echo", input="argument")) as running:
        assert "Argument list too long" in await running.fails("x" * 200_000)


async def test_many_programs_at_once_end_and_leave_nothing_open(engine: Engines) -> None:
    before = handles()
    agents = [program("tr", "a-z", "A-Z", name=f"t{number}") for number in range(20)]
    async with engine(*agents, mode="parallel") as running:
        with anyio.fail_after(PATIENCE_S):
            outputs = [await running.ask("x") for _ in range(5)]

    assert all(str(output).count("X") == 20 for output in outputs)

    async def nothing_is_left() -> bool:
        return handles() <= before

    await soon(nothing_is_left)  # the last pipes and threads close behind the engine
