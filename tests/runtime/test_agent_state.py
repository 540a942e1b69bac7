"""`ctx.state`: what an agent keeps for itself, in and out of threads and processes, over crashes and swaps."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.core.commands import Resume, SwapAgent
from engine.core.records.records import copy_with
from engine.core.specs.spec import AgentSpec, Retry
from engine.errors import NotJson, StateConflict
from engine.history.forking import fork
from engine.platform.clock import VirtualClock
from tests.depth import examples
from tests.runtime import crew_for_processes
from tests.runtime.engines import Engine, Engines, running

anyio_backend = pytest.mark.anyio
LONG = "long " * 1_000


def agent(run: Any, **fields: Any) -> AgentSpec:
    return AgentSpec(name="keeper", run=run, **fields)


async def nothing() -> None:
    pass


def kept(state: Any) -> dict[str, Any]:
    (keeper,) = state.agents.values()
    return {key: value.value for key, value in keeper.kept.items()}


@anyio_backend
async def test_the_next_task_finds_what_the_last_one_has_kept(engine: Engines) -> None:
    async def count(task: Any, ctx: Any) -> Any:
        ctx.state["seen"] = [*ctx.state.get("seen", []), task.text]
        ctx.state["long"] = LONG
        return [ctx.state["seen"], ctx.state["long"] == LONG, sorted(ctx.state)]

    async with engine(agent(count)) as running_engine:
        assert await running_engine.ask("a") == [["a"], True, ["long", "seen"]]
        assert await running_engine.ask("b.%2E") == [["a", "b.%2E"], True, ["long", "seen"]]


@anyio_backend
async def test_a_plain_function_in_a_thread_and_one_in_a_process_have_it_too(engine: Engines) -> None:
    def count(task: Any, ctx: Any) -> Any:
        ctx.state["n"] = ctx.state.get("n", 0) + 1
        return ctx.step("see", lambda: 1) + ctx.state["n"]

    async with engine(agent(count)) as running_engine:
        assert [await running_engine.ask(), await running_engine.ask()] == [2, 3]
    async with engine(agent(crew_for_processes.counts, run_in="process")) as running_engine:
        assert [await running_engine.ask("a.b"), await running_engine.ask("a.b"), await running_engine.ask("drop")] == [
            {"a.b": {"n": 1}},
            {"a.b": {"n": 2}},
            {},
        ]
        assert "ctx has no 'step', only state" in await running_engine.fails("step")


@anyio_backend
async def test_values_are_copied_so_that_only_an_assignment_changes_them(engine: Engines) -> None:
    async def change(task: Any, ctx: Any) -> Any:
        mine = ["a"]
        ctx.state["list"] = mine
        mine.append("b")
        ctx.state["list"].append("c")
        return ctx.state["list"]

    async with engine(agent(change)) as running_engine:
        assert await running_engine.ask() == ["a"]


DEEP: list[Any] = []
DEEP.append(DEEP)


@anyio_backend
@pytest.mark.parametrize(
    ("key", "value", "error", "says"),
    [
        ("", 1, ValueError, "a key must be a text of 1 to 64 characters"),
        ("k" * 65, 1, ValueError, "a key must be a text of 1 to 64 characters"),
        (1, 1, ValueError, "a key must be a text"),
        ("set", {1}, NotJson, "is of type set"),
        ("deep", DEEP, NotJson, "is nested deeper than 100 levels"),
        ("long", "x" * 70_000, ValueError, "and 65,536 is the limit"),
        ("\ud800", 1, ValueError, "surrogates not allowed"),
    ],
)
async def test_what_cannot_be_kept_is_refused_where_it_is_assigned_and_changes_nothing(
    engine: Engines, key: Any, value: Any, error: type[Exception], says: str
) -> None:
    async def work(task: Any, ctx: Any) -> Any:
        with pytest.raises(error, match=says):
            ctx.state[key] = value
        return dict(ctx.state)

    async with engine(agent(work)) as running_engine:
        assert await running_engine.ask() == {}


@anyio_backend
async def test_the_65th_key_is_refused_also_if_others_have_set_the_64_meanwhile(engine: Engines) -> None:
    inside, go_on = anyio.Event(), anyio.Event()

    async def work(task: Any, ctx: Any) -> Any:
        if task.text == "one":
            ctx.state["one"] = 1
            inside.set()
            await go_on.wait()
            return "one"
        ctx.state.update({f"k{number}": number for number in range(64)})
        with pytest.raises(ValueError, match="would be key number 65, and 64 is the limit"):
            ctx.state["more"] = 1
        return len(ctx.state)

    async with engine(agent(work, max_concurrency=2, on_failure=[])) as running_engine:
        run_id = await running_engine.submit("one")
        await inside.wait()
        assert await running_engine.ask("many") == 64
        go_on.set()
        summary, _ = await running_engine.ended(run_id)
        says = "its changes of 'one' in ctx.state were refused: another attempt of the agent has changed them since"
        assert summary.error == f"keeper: {says}"
        assert len(kept(running_engine.state)) == 64


@anyio_backend
async def test_what_a_failed_attempt_has_not_journaled_with_a_step_is_lost(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> Any:
        if task.text == "look":
            return dict(ctx.state)
        ctx.state["journaled"] = 1
        await ctx.step("nothing", nothing)
        ctx.state["lost"] = 1
        raise ValueError("no")

    async with engine(agent(work, on_failure=[])) as running_engine:
        await running_engine.fails("go")
        assert await running_engine.ask("look") == {"journaled": 1}


@anyio_backend
async def test_state_outlives_a_kill_and_a_swap_and_each_change_is_applied_once(tmp_path: Path) -> None:
    """The input of the steps depends on the state; the values are long, so that they are read from the journal."""
    reached, calls = anyio.Event(), []

    async def note(number: int) -> int:
        calls.append(number)
        return number

    async def work(task: Any, ctx: Any) -> Any:
        for _ in range(2):
            ctx.state["n"] = {"n": ctx.state.get("n", {"n": 0})["n"] + 1, "pad": LONG}
            await ctx.step("note", note, ctx.state["n"]["n"])
        reached.set()
        if len(calls) <= 2 and task.attempt == 1:
            await anyio.sleep_forever()
        ctx.state["n"] = {"n": ctx.state["n"]["n"] + 1}
        return ctx.state["n"]["n"]

    path = tmp_path / "team.db"
    async with running(agent(work), path=path) as before:
        await before.submit()
        await reached.wait()
    async with running(path=path) as after:
        after.host.bind({str(spec.run): work for spec in after.state.specs.values()})
        assert (await after.ended("r1"))[1] == 3
        spec = agent(work, specialties=["more"])
        (bound,) = [spec.run for spec in after.state.specs.values()]
        await after.host.order(SwapAgent(agent="keeper", spec=AgentSpec(name="keeper", run=bound, specialties=["x"])))
        assert await after.ask() == 6
        assert spec.name == "keeper"

    assert calls == [1, 2, 4, 5]


@anyio_backend
async def test_a_task_that_begins_anew_and_is_then_repeated_has_changed_a_value_once(engine: Engines) -> None:
    seen: list[int] = []
    inside = anyio.Event()

    async def work(task: Any, ctx: Any) -> None:
        n = ctx.state.get("n", 0)
        ctx.state["n"] = n + 1
        await ctx.step(f"save {n}", nothing)
        seen.append(n)
        if len(seen) == 1:
            inside.set()
            await ctx.sleep(3600)
        if len(seen) == 2:
            raise ConnectionError

    retries = [Retry(2, base_s=0.01)]
    async with engine(agent(work, on_failure=retries)) as running_engine:
        run_id = await running_engine.submit("go")
        await inside.wait()
        (keeper,) = running_engine.state.agents.values()
        spec = copy_with(running_engine.state.spec_of(keeper), timeout_s=99)
        await running_engine.host.order(SwapAgent(agent="keeper", spec=spec, mode="abort"))
        await running_engine.ended(run_id)
        assert kept(running_engine.state) == {"n": 1}
    assert seen == [0, 0, 0]


@anyio_backend
async def test_a_conflict_that_the_code_catches_is_caught_again_by_a_repeated_attempt(engine: Engines) -> None:
    inside, go_on = anyio.Event(), anyio.Event()
    caught: list[Any] = []

    async def work(task: Any, ctx: Any) -> Any:
        if task.text == "other":
            ctx.state["n"] = ctx.state.get("n", 0) + 1
            return ctx.state["n"]
        while True:
            ctx.state["n"] = ctx.state.get("n", 0) + 1
            inside.set()
            await go_on.wait()
            try:
                await ctx.step("save", nothing)
            except StateConflict as conflict:
                caught.append((conflict.keys, ctx.state["n"]))
                continue
            break
        if task.attempt == 1:
            raise ConnectionError
        return ctx.state["n"]

    async with engine(agent(work, max_concurrency=2, on_failure=[Retry(2, base_s=0.01)])) as running_engine:
        run_id = await running_engine.submit("go")
        await inside.wait()
        assert await running_engine.ask("other") == 1
        go_on.set()
        assert (await running_engine.ended(run_id))[1] == 2
        assert kept(running_engine.state) == {"n": 2}
    assert caught == [(["n"], 1), (["n"], 1)]


@anyio_backend
async def test_a_value_read_before_a_repeated_step_does_not_overwrite_what_others_wrote_since(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> None:
        first = ctx.state.get("n", 0)
        ctx.state["n"] = first + 1
        if task.text == "other":
            return
        await ctx.step("save", nothing)
        if task.attempt == 1:
            raise ConnectionError
        ctx.state["n"] = first + 2

    retries = [Retry(2, base_s=30)]
    async with engine(agent(work, on_failure=retries), clock=VirtualClock()) as running_engine:
        run_id = await running_engine.submit("go")
        await running_engine.until(lambda state: any(task.retry_at_ms for task in state.tasks.values()))
        assert kept(running_engine.state) == {"n": 1}
        await running_engine.ask("other")
        summary, _ = await running_engine.ended(run_id)
        assert "its changes of 'n' in ctx.state were refused" in (summary.error or "")
        assert kept(running_engine.state) == {"n": 2}


@anyio_backend
async def test_a_fork_and_an_import_go_on_with_the_state_and_apply_no_change_twice(tmp_path: Path) -> None:
    reached = anyio.Event()

    async def work(task: Any, ctx: Any) -> Any:
        ctx.state["n"] = {"n": ctx.state.get("n", {"n": 0})["n"] + 1, "pad": LONG}
        await ctx.step("note", nothing)
        reached.set()
        if (tmp_path / "go").exists():
            return ctx.state["n"]["n"]
        return await anyio.sleep_forever()

    path = tmp_path / "team.db"
    async with running(agent(work), path=path) as before:
        await before.submit()
        await reached.wait()
    (tmp_path / "go").touch()
    fork(path, tmp_path / "fork.db")
    async with running(path=tmp_path / "fork.db") as after:
        after.host.bind({str(spec.run): work for spec in after.state.specs.values()})
        await after.host.order(Resume(target="r1"))
        assert (await after.ended("r1"))[1] == 1
        assert await after.ask() == 2


Op = tuple[str, Any]
OPS: list[Op] = [
    *[("add", "a")] * 4, ("add", "b"), ("drop", "a"), ("step", True), ("step", True), ("step", False), ("sleep", 1),
    ("sleep", 2), ("crash", 1), ("crash", 2), ("kill", 1), ("kill", 2),
]  # fmt: skip
scripts = st.lists(st.lists(st.sampled_from(OPS), min_size=2, max_size=8), min_size=2, max_size=3)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scripts, st.booleans())
def test_no_update_is_lost_unnoticed_and_each_is_applied_once(tasks: list[list[Op]], catches: bool) -> None:
    """Tasks of one agent add to counters at the same time, fail, meet conflicts, and their engine is killed: the sum
    comes out all the same.

    `drop` moves a counter to another key, so that removals are among the changes.
    """

    killed = anyio.Event()

    async def work(task: Any, ctx: Any) -> None:
        state = ctx.state
        mine: dict[str, None] = {}
        uncarried: list[tuple[str, str]] = []

        def change(what: str, key: str) -> None:
            moved = state.pop(key, 0) if what == "drop" else 1
            to = "moved" if what == "drop" else key
            mine.update({key: None, to: None})
            state[to] = state.get(to, 0) + moved

        for place, (what, how) in enumerate(tasks[int(task.text)]):
            if what in ("add", "drop"):
                change(what, how)
                uncarried.append((what, how))
            elif what == "sleep":
                await ctx.sleep(how)
            elif what == "crash" and task.attempt == how:
                raise ConnectionError(f"at {place}")
            elif what == "kill" and task.attempt == how:
                killed.set()
                await anyio.sleep_forever()
            while what == "step":
                try:
                    # The input of the step, and thus its key, depends on what the task has changed, or not.
                    await ctx.step("step", lambda seen: seen, {key: state.get(key) for key in mine} if how else place)
                except StateConflict:
                    if not catches:
                        raise
                    for again in uncarried:
                        change(*again)
                    continue
                uncarried.clear()
                break

    async def play(path: Path) -> None:
        nonlocal killed
        keeper = agent(work, max_concurrency=3, on_failure=[Retry(100, base_s=0.001, cap_s=1)])
        async with running(keeper, path=path, clock=VirtualClock()) as engine:
            run_ids = [await engine.submit(str(number)) for number in range(len(tasks))]
            errors = await outcomes(engine, run_ids)
        while errors is None:
            killed = anyio.Event()
            async with running(path=path, clock=VirtualClock()) as engine:
                engine.host.bind({str(spec.run): work for spec in engine.state.specs.values()})
                errors = await outcomes(engine, run_ids)
        assert errors == [None] * len(tasks)
        added = Counter(what for script in tasks for what, _ in script)["add"]
        assert sum(kept(engine.state).values()) == added

    async def outcomes(engine: Engine, run_ids: list[str]) -> list[str | None] | None:
        """The errors of all runs, or None if the engine is killed before."""
        errors: list[str | None] = []

        async def wait(stop: anyio.CancelScope) -> None:
            for run_id in run_ids:
                errors.append((await engine.ended(run_id))[0].error)
            stop.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(wait, group.cancel_scope)
            await killed.wait()
            group.cancel_scope.cancel()
        return errors if len(errors) == len(run_ids) else None

    with TemporaryDirectory() as folder:
        anyio.run(play, Path(folder) / "team.db")
