"""A supervisor in a program: requests, what they come to, and an engine that is there for as long as it is used."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from engine import (
    AgentSpec,
    CommandRefusedError,
    Context,
    DynamicSupervisor,
    HostStopped,
    NotRunning,
    Retry,
    RunCancelled,
    RunFailed,
    RunResult,
    Task,
    UnknownRun,
    Unusable,
)
from engine.core.commands import Pause, StopEngine
from engine.core.decide import ON_COMMAND
from engine.core.events import RunFinished, RunSubmitted
from engine.core.state import RunStatus
from engine.errors import Defect

pytestmark = pytest.mark.anyio


async def shout(text: str) -> str:
    return text.upper()


async def fail(text: str) -> str:
    raise LookupError("no such thing")


async def hang(task: Task, ctx: Context) -> str:
    await ctx.sleep(3600)
    return task.text


def team_of(*functions: Callable[..., Awaitable[Any]], **settings: Any) -> DynamicSupervisor:
    return DynamicSupervisor(
        "team", agent_specs=[AgentSpec(name=one.__name__, run=one) for one in functions], **settings
    )


async def test_a_request_works_without_any_set_up() -> None:
    result = await team_of(shout).arun("hello")

    assert str(result) == "HELLO"
    assert (result.run_id, result.status, result.tasks) == ("r1", RunStatus.DONE, 1)


async def test_a_team_in_memory_is_the_same_from_call_to_call() -> None:
    team = team_of(shout)
    first, second = await team.arun("one"), await team.arun("two")

    assert (first.run_id, second.run_id) == ("r1", "r2")
    assert second.seq > first.seq
    assert team.active_agents["shout"].tasks == 2
    assert (await team.status("r1")).output == "ONE"


async def test_long_outputs_of_earlier_calls_are_still_known() -> None:
    team = team_of(shout)
    await team.arun("x" * 500)

    assert (await team.status("r1")).output == "X" * 500
    await team.arun("y")
    assert (await team.status("r1")).output == "X" * 500


def test_one_team_works_in_one_loop_after_the_other() -> None:
    team = team_of(shout)

    assert [str(asyncio.run(_ask(team, text))) for text in ("a", "b")] == ["A", "B"]


async def _ask(team: DynamicSupervisor, text: str) -> RunResult:
    return await team.arun(text)


async def test_a_long_history_in_memory_goes_into_the_next_engine_whole() -> None:
    team = team_of(shout)
    async with team:
        for number in range(80):
            await team.arun(f"request {number}")

    result = await team.arun("last")

    assert result.run_id == "r81"
    assert result.seq > 500
    assert team.active_agents["shout"].tasks == 81


async def test_calls_at_the_same_time_share_one_engine() -> None:
    team = team_of(shout)
    results: list[str] = []

    async def ask(text: str) -> None:
        results.append(str(await team.arun(text)))

    async with anyio.create_task_group() as group:
        for text in "abcde":
            group.start_soon(ask, text)

    assert sorted(results) == list("ABCDE")
    assert not team._engine.is_running


async def test_the_first_of_several_callers_may_leave_while_others_go_on() -> None:
    go_on = anyio.Event()

    async def wait_for_it(text: str) -> str:
        if text == "slow":
            await go_on.wait()
        return text

    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="one", run=wait_for_it, max_concurrency=2)])
    results: list[str] = []

    async def slow() -> None:
        results.append(str(await team.arun("slow")))

    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            group.start_soon(slow)
            await team.arun("quick")
            scope.cancel()
        go_on.set()

    assert results == ["slow"]


async def test_an_output_that_is_no_text_is_json() -> None:
    async def count(text: str) -> dict[str, int]:
        return {"words": len(text.split())}

    result = await team_of(count).arun("one two")

    assert result.output == {"words": 2}
    assert str(result) == '{"words": 2}'


async def test_a_failed_run_raises_with_its_result() -> None:
    with pytest.raises(RunFailed, match="no such thing") as raised:
        await team_of(fail).arun("hello")

    assert raised.value.result.status is RunStatus.FAILED
    assert raised.value.result.run_id == "r1"


async def test_cancelling_the_caller_cancels_the_run() -> None:
    begun = anyio.Event()

    async def begin(task: Task, ctx: Context) -> str:
        begun.set()
        return await hang(task, ctx)

    async with team_of(begin) as team:
        async with anyio.create_task_group() as group:
            group.start_soon(team.arun, "hello")
            await begun.wait()
            group.cancel_scope.cancel()

        assert (await team.status("r1")).status is RunStatus.CANCELLED


async def test_a_run_that_somebody_else_cancels_raises() -> None:
    async with team_of(hang) as team, anyio.create_task_group() as group:

        async def cancel() -> None:
            while not (run := next(iter(team._state.runs), None)):
                await anyio.lowlevel.checkpoint()
            await team.cancel(run)

        group.start_soon(cancel)
        with pytest.raises(RunCancelled, match=r"^run r1 cancelled by the program$"):
            await team.arun("hello")


async def test_events_of_a_request_come_as_they_happen_and_end_with_it() -> None:
    events = [event async for event in team_of(shout).stream("hello")]

    assert isinstance(events[0].event, RunSubmitted)
    assert isinstance(events[-1].event, RunFinished)
    assert [event.kind for event in events] == ["started", "task_started", "task_ended", "completed"]


async def test_a_stream_ends_with_the_failure_of_its_run() -> None:
    seen: list[str] = []

    async def follow() -> None:
        async for event in team_of(fail).stream("hello"):
            seen.append(event.kind)

    with pytest.raises(RunFailed):
        await follow()

    assert seen[-1] == "completed"


async def test_leaving_a_stream_early_cancels_its_run() -> None:
    async with team_of(hang) as team:
        stream = team.stream("hello")
        async for event in stream:
            if event.kind == "task_started":
                break
        await stream.aclose()

        assert (await team.status("r1")).status is RunStatus.CANCELLED


async def test_work_is_submitted_asked_for_and_waited_for() -> None:
    go_on = anyio.Event()

    async def wait_for_it(text: str) -> str:
        await go_on.wait()
        return text

    async with team_of(wait_for_it) as team:
        run_id = await team.submit("hello")
        assert (await team.status(run_id)).status is RunStatus.RUNNING

        go_on.set()
        assert str(await team.wait(run_id)) == "hello"
        status = await team.status(run_id)

    assert (status.status, status.output, status.tasks, status.done) == (RunStatus.DONE, "hello", 1, 1)


async def test_a_request_brings_its_own_retries() -> None:
    async def third_time(task: Task, ctx: Context) -> int:
        if task.attempt < 3:
            raise ConnectionError("not yet")
        return task.attempt

    async with team_of(third_time) as team:
        run_id = await team.submit("hello", on_failure=[Retry(3, base_s=0.001)])

        assert (await team.wait(run_id)).output == 3


async def test_work_is_not_taken_where_nobody_would_go_on_with_it() -> None:
    with pytest.raises(NotRunning, match="async with"):
        await team_of(shout).submit("hello")


async def test_nobody_knows_a_run_that_never_was() -> None:
    with pytest.raises(UnknownRun):
        await team_of(shout).status("r9")


async def test_a_paused_agent_goes_on_when_it_is_resumed() -> None:
    async with team_of(shout) as team:
        await team.pause("shout")
        run_id = await team.submit("hello")
        assert team.active_agents["shout"].status == "paused"

        await team.resume("shout")
        assert str(await team.wait(run_id)) == "HELLO"


async def test_a_request_that_nobody_can_work_on_is_refused() -> None:
    team = DynamicSupervisor("team")

    with pytest.raises(CommandRefusedError, match="no agents"):
        await team.arun("hello")


async def test_an_empty_request_is_refused_with_what_to_do() -> None:
    with pytest.raises(CommandRefusedError, match="say what to do"):
        await team_of(shout).arun("  ")


async def test_an_agent_whose_code_is_not_there_is_said_before_anything_waits_for_it() -> None:
    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="gone", run="json:no_such_function")])

    with pytest.raises(Unusable, match="no_such_function"):
        await team.arun("hello")


async def test_an_agent_that_a_model_would_play_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUARTERDECK_MODEL", raising=False)
    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="writer", agent_type="ReactAgent")])

    with pytest.raises(RunFailed, match="QUARTERDECK_MODEL"):
        await team.arun("hello")


async def test_an_engine_that_somebody_else_stops_is_gone_for_those_who_use_it() -> None:
    async with team_of(shout) as team:
        await team._engine._running_host().order(StopEngine())

        with pytest.raises(HostStopped, match="stopped by command"):
            await team.arun("hello")

    assert str(await team.arun("again")) == "AGAIN"


async def test_a_function_agent_may_use_its_own_team() -> None:
    team = team_of(shout)

    async def ask_the_team(text: str) -> str:
        return f"{await helpers.arun(text)}!"

    helpers = team
    outer = team_of(ask_the_team)

    assert str(await outer.arun("hello")) == "HELLO!"


async def test_a_defect_between_two_calls_is_raised_logged_and_leaves_the_team_as_it_was(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Any:
        raise ValueError("'x' is not in list")

    team = team_of(shout)
    with monkeypatch.context() as planted:
        planted.setitem(ON_COMMAND, Pause, broken)
        with pytest.raises(Defect, match="a defect in the engine, please report it: ValueError: 'x' is not in list"):
            await team.pause("shout")

    assert str(await team.arun("on")) == "ON"
    (record,) = (one for one in caplog.records if "a defect in deciding pause" in one.message)
    assert record.exc_info is not None
