"""Streams of requests on real engines: who said what, in this process and from another one; leaving them early."""

import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import AgentSpec, DynamicSupervisor, RunFailed, StreamEvent, VirtualClock
from engine.runtimes.functions.context import Context
from engine.runtimes.functions.task import Task
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def search(query: str) -> str:
    return f"two pages on {query}"


async def scout(task: Task, ctx: Context) -> Any:
    ctx.emit("Looking ")
    ctx.emit("around. ")
    found = await ctx.tool("search", query="tides")
    ctx.emit(f"Found {found}.")
    return await ctx.delegate("writer", "Sum up")


async def writer(task: Task, ctx: Context) -> str:
    ctx.emit("Dear ")
    await ctx.step("think", str, "tides")
    ctx.emit("reader,")
    return "a letter"


def newsroom(**fields: Any) -> DynamicSupervisor:
    """A team in which one agent asks another."""
    specs = [AgentSpec(name="scout", run=scout, tools=[search]), AgentSpec(name="writer", run=writer)]
    return DynamicSupervisor("news", agent_specs=specs, coordination_mode="delegate", lead="scout", **fields)


TOLD = [
    ("started", "news", 0, ""),
    ("task_started", "scout", 1, ""),
    ("text", "scout", 1, "Looking around. "),
    ("tool_started", "scout", 1, ""),
    ("tool_ended", "scout", 1, ""),
    ("step", "scout", 1, ""),
    ("text", "scout", 1, "Found two pages on tides."),
    ("task_started", "writer", 2, ""),
    ("text", "writer", 2, "Dear "),
    ("step", "writer", 2, ""),
    ("text", "writer", 2, "reader,"),
    ("task_ended", "writer", 2, ""),
    ("task_ended", "scout", 1, ""),
    ("completed", "news", 0, ""),
]
"""Of each event its kind, agent, depth and text, with text that came in pieces put together."""


def put_together(events: list[StreamEvent]) -> list[tuple[str, str, int, str]]:
    """Return what was told, with neighbouring text of one agent as one."""
    found: list[tuple[str, str, int, str]] = []
    for event in events:
        one = (event.kind, event.agent, event.depth, event.text)
        if found and event.kind == "text" and found[-1][:3] == one[:3]:
            one = (*one[:3], found.pop()[3] + one[3])
        found.append(one)
    return found


async def all_of(stream: AsyncIterator[StreamEvent]) -> list[StreamEvent]:
    """Return a whole stream."""
    with anyio.fail_after(PATIENCE_S):
        return [event async for event in stream]


@pytest.mark.parametrize("where", ["memory", "file", "attached"])
async def test_what_every_descendant_says_and_does_reaches_the_stream_of_the_root_in_order(
    tmp_path: Path, where: str
) -> None:
    path = tmp_path / "team.db"
    async with newsroom(**({} if where == "memory" else {"store": path})) as team:
        chief: Any = DynamicSupervisor.attach(path) if where == "attached" else team
        events = await all_of(chief.stream("What are tides?"))

    assert put_together(events) == TOLD
    by_kind = {event.kind: event for event in events}
    assert by_kind["started"].arguments == "What are tides?"
    assert (by_kind["tool_started"].name, by_kind["tool_started"].arguments) == ("search", {"query": "tides"})
    assert by_kind["tool_ended"].result == "two pages on tides"
    assert (by_kind["completed"].result, by_kind["completed"].status) == ("a letter", "done")
    assert {event.run_id for event in events} == {"r1"}
    assert all((event.seq is None) == (event.event is None) for event in events)
    tasks = {event.task_id: event.parent_id for event in events}
    assert sum(parent is None for parent in tasks.values()) == 1
    assert all(parent in tasks for parent in tasks.values() if parent is not None)


async def test_two_streams_at_once_do_not_mix() -> None:
    found: dict[str, list[StreamEvent]] = {}

    async def follow(request: str) -> None:
        found[request] = await all_of(team.stream(request))

    async with newsroom() as team, anyio.create_task_group() as group:
        group.start_soon(follow, "one")
        group.start_soon(follow, "two")

    assert [put_together(events) for events in found.values()] == [TOLD, TOLD]
    assert {event.run_id for event in found["one"]} != {event.run_id for event in found["two"]}


async def test_a_run_that_fails_is_completed_as_failed_and_then_raises() -> None:
    def fail(text: str) -> None:
        raise ValueError("no such tide")

    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=fail)])
    seen: list[StreamEvent] = []

    async def follow() -> None:
        async for event in team.stream("hello"):
            seen.append(event)

    with pytest.raises(RunFailed, match="no such tide"):
        await follow()

    assert [(event.kind, event.status) for event in seen[-2:]] == [("task_ended", "failed"), ("completed", "failed")]
    assert "no such tide" in seen[-1].text


async def test_a_reader_that_stops_reading_slows_nobody_and_later_hears_everything() -> None:
    async def talk(task: Task, ctx: Context) -> str:
        for number in range(2_000):
            ctx.emit(f"{number} ")
            if number % 100 == 0:
                await ctx.step(f"s{number}", str, number)
        return "said"

    async with DynamicSupervisor("team", agent_specs=[AgentSpec(name="talker", run=talk)]) as team:
        stream = team.stream("go")
        first = await anext(stream)
        with anyio.fail_after(PATIENCE_S):
            await team.wait(first.run_id)
        events = await all_of(stream)

    assert "".join(event.text for event in events if event.kind == "text") == "".join(f"{n} " for n in range(2_000))
    assert [event.kind for event in events].count("step") == 20
    assert len(events) < 60, "text that waited was not merged"


async def lead(task: Task, ctx: Context) -> Any:
    return await ctx.map("worker", ["a", "b", "c"])


def crew(worker: Any, **fields: Any) -> DynamicSupervisor:
    """A lead that gives three items to a worker."""
    specs = [AgentSpec(name="lead", run=lead), AgentSpec(name="worker", run=worker, max_concurrency=3)]
    return DynamicSupervisor("team", agent_specs=specs, coordination_mode="delegate", lead="lead", **fields)


async def left_at_third_text(team: DynamicSupervisor) -> str:
    """Follow a request until three workers are at it, break out, and return the run once it has ended."""
    texts = 0
    async for event in team.stream("go"):
        texts += event.kind == "text"
        if texts == 3:
            break
    with anyio.fail_after(PATIENCE_S), pytest.raises(RunFailed):
        await team.wait(event.run_id)
    return event.run_id


async def test_breaking_out_cancels_everything_below_within_half_a_second() -> None:
    clock = VirtualClock()
    times_ms: list[int] = []

    async def never(task: Task, ctx: Context) -> None:
        ctx.emit("here")
        times_ms.append(clock.now_ms())
        clock.release()  # it waits for something that is not the engine's, which takes no notice of a cancel
        try:
            await anyio.sleep_forever()
        finally:
            clock.hold()

    async with crew(never, clock=clock) as team:
        run_id = await left_at_third_text(team)

        assert (await team.status(run_id)).status == "cancelled"
        assert clock.now_ms() - times_ms[-1] <= 500


async def test_breaking_out_leaves_threads_behind_that_do_not_return() -> None:
    released = threading.Event()

    def blocked(task: Task, ctx: Any) -> None:
        ctx.emit("here")
        released.wait(PATIENCE_S)

    async with crew(blocked) as team:
        run_id = await left_at_third_text(team)

        assert (await team.status(run_id)).status == "cancelled"
        assert not released.is_set()
        released.set()


async def test_what_is_said_to_work_under_way_is_told() -> None:
    async def listen(task: Task, ctx: Context) -> Any:
        ctx.emit("ready")
        while not (said := ctx.steers()):
            await ctx.sleep(0.01)
        return said

    seen: list[StreamEvent] = []
    async with DynamicSupervisor("team", agent_specs=[AgentSpec(name="ada", run=listen)]) as team:
        with anyio.fail_after(PATIENCE_S):
            async for event in team.stream("go"):
                seen.append(event)
                if event.kind == "text":
                    await team.steer(event.task_id, "hurry up")

    (steered,) = [event for event in seen if event.kind == "steered"]
    assert (steered.text, steered.agent, steered.depth) == ("hurry up", "ada", 1)
