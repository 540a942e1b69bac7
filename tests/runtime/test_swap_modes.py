"""Swaps of agents that are really at work: nothing is lost, no step runs twice, usage is counted once."""

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import JsonValue

from engine.core.commands import Answer, ChangeCapabilities, Reassign, Rollback, SwapAgent
from engine.core.encoding.codec import decode_events
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.platform.clock import VirtualClock
from engine.supervisor.callables import Callables
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines, Hurried, soon
from tests.runtime.noting import REQUESTS

pytestmark = pytest.mark.anyio


async def swap(running: Engine, spec: AgentSpec, **fields: Any) -> None:
    """Swap the agent of that name to `spec`, whose code may be of this process."""
    callables = Callables()
    referred = callables.with_references(spec)
    running.host.bind(callables.by_reference)
    await running.host.order(SwapAgent(agent=spec.name, spec=referred, **fields))


async def events(running: Engine, kind: str) -> list[Any]:
    """Return what happened of one kind."""
    return decode_events([(one.seq, one.kind, one.body) for one in await running.journal(kind)])


class Bench:
    """Code of two generations that counts what each of its steps does, and waits between them until it may go on."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.begun = anyio.Event()
        self.go_on = anyio.Event()

    async def piece(self, name: str) -> str:
        self.ran[name] += 1
        return f"{name} done"

    async def old(self, task: Any, ctx: Any) -> str:
        await ctx.step("one", self.piece, "one")
        self.begun.set()
        await self.go_on.wait()
        await ctx.step("two", self.piece, "two by old")
        return "old"

    async def new(self, task: Any, ctx: Any) -> str:
        said = await ctx.step("one", self.piece, "one")
        await ctx.step("two", self.piece, "two by new")
        return f"new after {said}"


async def test_a_migrated_attempt_goes_on_with_the_new_code_from_its_next_step(engine: Engines) -> None:
    bench = Bench()
    async with engine(AgentSpec(name="ada", run=bench.old)) as running:
        run_id = await running.submit()
        await bench.begun.wait()
        await swap(running, AgentSpec(name="ada", run=bench.new), mode="migrate")
        bench.go_on.set()
        _, output = await running.ended(run_id)

        assert output == "new after one done"
        assert bench.ran == {"one": 1, "two by new": 1}
        assert [one.attempt for one in await events(running, "attempt_started")] == [1]
        (moved,) = await events(running, "attempt_migrated")
        assert (moved.before, moved.generation, moved.attempt) == (1, 2, 1)
        assert running.state.agents["a1"].drained == 2


async def test_usage_of_both_parts_of_a_migrated_attempt_is_counted_once(engine: Engines) -> None:
    async def old(task: Any, ctx: Any) -> str:
        await ctx.step("one", len, "x")
        begun.set()
        await ctx.sleep(3600)
        return "never"

    async def new(task: Any, ctx: Any) -> str:
        await ctx.step("one", len, "x")
        await ctx.sleep(7)
        return "new"

    begun, clock = anyio.Event(), VirtualClock()
    async with engine(AgentSpec(name="ada", run=old), clock=clock) as running:
        clock.hold()
        run_id = await running.submit()
        await begun.wait()
        await swap(running, AgentSpec(name="ada", run=new), mode="migrate")
        clock.release()
        summary, output = await running.ended(run_id)

        (moved,), (done,) = await events(running, "attempt_migrated"), await events(running, "attempt_done")
        assert output == "new"
        assert done.usage.time_ms == 7_000
        assert summary.usage.time_ms == moved.usage.time_ms + done.usage.time_ms


async def test_code_without_steps_ends_on_the_generation_that_it_began_with(engine: Engines) -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def old(text: str) -> str:
        begun.set()
        await go_on.wait()
        return "old"

    async def new(text: str) -> str:
        return "new"

    async with engine(AgentSpec(name="ada", run=old), host={"grace_s": 0}) as running:
        run_id = await running.submit()
        await begun.wait()
        await swap(running, AgentSpec(name="ada", run=new), mode="migrate")
        await running.journal()  # far longer than a stop that is not patient would wait
        go_on.set()

        assert (await running.ended(run_id))[1] == "old"
        assert await running.ask() == "new"
        assert await running.journal("attempt_migrated") == []


async def test_a_failure_before_its_next_step_is_a_failure_and_not_a_stop(engine: Engines) -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def old(text: str) -> str:
        begun.set()
        await go_on.wait()
        raise ValueError("broken")

    async def new(text: str) -> str:
        return "new"

    async with engine(AgentSpec(name="ada", run=old)) as running:
        run_id = await running.submit()
        await begun.wait()
        await swap(running, AgentSpec(name="ada", run=new), mode="migrate")
        go_on.set()
        summary, _ = await running.ended(run_id)

        assert (summary.status, summary.error) == ("failed", "ada: broken")


async def test_a_thread_migrates_at_its_next_step(engine: Engines) -> None:
    begun, go_on = threading.Event(), threading.Event()
    ran: Counter[str] = Counter()

    def piece(name: str) -> str:
        ran[name] += 1
        return name

    def old(task: Any, ctx: Any) -> str:
        ctx.step("one", piece, "one")
        begun.set()
        go_on.wait(PATIENCE_S)
        ctx.step("two", piece, "two")
        return "old"

    def new(task: Any, ctx: Any) -> str:
        return f"new after {ctx.step('one', piece, 'one')}"

    async with engine(AgentSpec(name="ada", run=old)) as running:
        run_id = await running.submit()
        assert await anyio.to_thread.run_sync(begun.wait, PATIENCE_S)
        await swap(running, AgentSpec(name="ada", run=new), mode="migrate")
        go_on.set()

        assert (await running.ended(run_id))[1] == "new after one"
        assert ran == {"one": 1}
        assert running.state.agents["a1"].stuck == 0


async def test_one_that_waits_for_others_migrates_and_joins_what_it_asked_for(engine: Engines) -> None:
    asked, go_on = anyio.Event(), anyio.Event()
    helped: list[str] = []

    async def old(task: Any, ctx: Any) -> str:
        return f"old with {await ctx.delegate('bob', 'x')}"

    async def new(task: Any, ctx: Any) -> str:
        return f"new with {await ctx.delegate('bob', 'x')}"

    async def bob(text: str) -> str:
        helped.append(text)
        asked.set()
        await go_on.wait()
        return "help"

    specs = AgentSpec(name="ada", run=old), AgentSpec(name="bob", run=bob)
    async with engine(*specs, participants=["ada"]) as running:
        run_id = await running.submit()
        await asked.wait()
        await swap(running, AgentSpec(name="ada", run=new), mode="migrate")
        await running.until(lambda state: state.agents["a1"].drained == 2)
        go_on.set()

        assert (await running.ended(run_id))[1] == "new with help"
        assert helped == ["x"]
        assert len(await running.journal("call_rejoined")) == 1


async def test_aborted_its_finished_steps_are_thrown_away_and_it_begins_again_on_the_new_code(engine: Engines) -> None:
    bench = Bench()
    async with engine(AgentSpec(name="ada", run=bench.old)) as running:
        run_id = await running.submit()
        await bench.begun.wait()
        await swap(running, AgentSpec(name="ada", run=bench.new), mode="abort")
        summary, output = await running.ended(run_id)

        assert output == "new after one done"
        assert bench.ran == {"one": 2, "two by new": 1}
        starts = await events(running, "attempt_started")
        assert [(one.attempt, one.generation) for one in starts] == [(1, 1), (2, 2)]
        (stopped,), (done,) = await events(running, "attempt_cancelled"), await events(running, "attempt_done")
        assert summary.usage.time_ms == stopped.usage.time_ms + done.usage.time_ms


async def test_an_aborted_thread_that_goes_on_counts_until_it_returns_and_says_nothing_more(engine: Engines) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def old(task: Any, ctx: Any) -> str:
        begun.set()
        go_on.wait(PATIENCE_S)
        ctx.step("late", len, "xxx")
        return "old"

    async def new(text: str) -> str:
        return "new"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.runtimes.attempts.attempt.GIVE_UP_MS", 20)
        async with engine(AgentSpec(name="ada", run=old, max_concurrency=2)) as running:
            run_id = await running.submit()
            assert await anyio.to_thread.run_sync(begun.wait, PATIENCE_S)
            await swap(running, AgentSpec(name="ada", run=new, max_concurrency=2), mode="abort")

            assert (await running.ended(run_id))[1] == "new"
            assert running.state.agents["a1"].stuck == 1
            go_on.set()
            await running.until(lambda state: state.agents["a1"].stuck == 0)
            assert await running.journal("step_recorded") == []


async def test_a_new_generation_whose_code_is_not_there_is_rolled_back_and_no_work_is_lost(engine: Engines) -> None:
    bench = Bench()
    async with engine(AgentSpec(name="ada", run=bench.new)) as running:
        bad = AgentSpec(name="ada", run="nobody_has_this:code")
        await swap(running, bad)
        run_id = await running.submit()

        assert (await running.ended(run_id))[1] == "new after one done"
        (back,) = await events(running, "swap_rolled_back")
        assert (back.generation, back.by_itself) == (3, True)
        assert "nobody_has_this" in back.why
        assert running.state.agents["a1"].error is None


async def test_a_generation_that_fails_too_often_is_rolled_back_by_itself(engine: Engines) -> None:
    async def old(text: str) -> str:
        return "old"

    async def new(text: str) -> str:
        raise ValueError("no")

    async with engine(AgentSpec(name="ada", run=old)) as running:
        await swap(running, AgentSpec(name="ada", run=new), rollback_failures=2, rollback_tasks=4)
        await running.fails()
        await running.fails()

        assert await running.ask() == "old"
        (back,) = await events(running, "swap_rolled_back")
        assert back.why == "2 of its first 2 attempts failed"


async def test_a_roll_back_and_a_roll_back_of_it(engine: Engines) -> None:
    async def old(text: str) -> str:
        return "old"

    async def new(text: str) -> str:
        return "new"

    async with engine(AgentSpec(name="ada", run=old)) as running:
        await swap(running, AgentSpec(name="ada", run=new))
        said = [await running.ask()]
        for _ in range(2):
            await running.host.order(Rollback(agent="ada"))
            said.append(await running.ask())

        assert said == ["new", "old", "new"]
        assert running.state.agents["a1"].generation == 4


async def test_a_task_at_work_goes_to_another_agent_with_its_finished_steps(engine: Engines) -> None:
    bench = Bench()
    specs = AgentSpec(name="ada", run=bench.old), AgentSpec(name="bob", run=bench.new)
    async with engine(*specs, participants=["ada"]) as running:
        run_id = await running.submit()
        await bench.begun.wait()
        await running.host.order(Reassign(task="t2", agent="bob"))
        bench.go_on.set()

        assert (await running.ended(run_id))[1] == "new after one done"
        assert bench.ran == {"one": 1, "two by new": 1}


async def test_specialties_change_while_the_agent_is_at_work_and_nothing_is_begun_anew(engine: Engines) -> None:
    bench = Bench()
    async with engine(AgentSpec(name="ada", run=bench.old, specialties=["sum"])) as running:
        run_id = await running.submit()
        await running.host.order(ChangeCapabilities(agent="ada", add=["sing"], remove=["sum"]))
        await bench.begun.wait()
        bench.go_on.set()

        assert (await running.ended(run_id))[1] == "old"
        agent = running.state.agents["a1"]
        assert (running.state.spec_of(agent).specialties, agent.generation) == (("sing",), 1)
        assert len(await running.journal("attempt_started")) == 1


async def test_a_swap_that_does_not_drain_in_time_asks_a_person(engine: Engines) -> None:
    begun = anyio.Event()

    async def old(task: Any, ctx: Any) -> str:
        begun.set()
        await ctx.sleep(86_000)
        return "old"

    async def new(text: str) -> str:
        return "new"

    clock = VirtualClock()
    async with engine(AgentSpec(name="ada", run=old), clock=clock) as running:
        clock.hold()
        run_id = await running.submit()
        await begun.wait()
        await swap(running, AgentSpec(name="ada", run=new), deadline_s=60)
        clock.release()
        await running.until(lambda state: bool(state.escalations))
        (question,) = running.state.escalations.values()
        await running.host.order(Answer(escalation=question.id, answer="abort"))

        assert (await running.ended(run_id))[1] == "new"
        assert not running.state.escalations


async def test_code_in_a_process_ends_on_the_old_generation_or_is_aborted(engine: Engines, tmp_path: Path) -> None:
    (tmp_path / "crew_of_two.py").write_text(
        "import pathlib, time\n"
        "def old(text):\n"
        "    pathlib.Path(text).write_text('begun')\n"
        "    while not pathlib.Path(text + '.go').exists():\n"
        "        time.sleep(0.005)\n"
        "    return 'old'\n"
        "def new(text):\n"
        "    return 'new'\n"
    )
    host = {"folder": tmp_path}
    old = AgentSpec(name="ada", run="crew_of_two:old", run_in="process")
    new = AgentSpec(name="ada", run="crew_of_two:new", run_in="process")
    async with engine(old, host=host) as running:
        mark = tmp_path / "first"
        run_id = await running.submit(str(mark))
        await there(mark)
        await swap(running, new, mode="migrate")
        (tmp_path / "first.go").touch()
        assert (await running.ended(run_id))[1] == "old"

        await running.host.order(Rollback(agent="ada"))
        mark = tmp_path / "second"
        run_id = await running.submit(str(mark))
        await there(mark)
        await running.host.order(Rollback(agent="ada", mode="abort"))
        assert (await running.ended(run_id))[1] == "new"


async def there(path: Path) -> None:
    """Return once another process has made a file."""
    with anyio.fail_after(PATIENCE_S):
        while not await anyio.Path(path).exists():  # noqa: ASYNC110 - nothing tells when a file has come
            await anyio.sleep(0.002)


async def test_a_script_migrates_between_its_steps(engine: Engines) -> None:
    def script(last: str) -> AgentSpec:
        steps: list[JsonValue] = [{"name": "one", "output": "1"}, {"name": last, "delay_s": 60, "output": "2"}]
        return AgentSpec(name="ada", agent_type="scripted", options={"script": [{"steps": steps, "output": last}]})

    clock = VirtualClock()
    async with engine(script("old"), clock=clock) as running:
        clock.hold()
        run_id = await running.submit()
        await running.until(lambda state: any(task.steps for task in state.tasks.values()))
        await swap(running, script("new"), mode="migrate")
        clock.release()

        assert (await running.ended(run_id))[1] == "new"
        assert [one.name for one in await events(running, "step_recorded")] == ["one", "new"]


async def test_work_that_had_begun_on_code_that_is_not_there_goes_on_with_the_generation_before(
    engine: Engines,
) -> None:
    begun = anyio.Event()

    async def old(task: Any, ctx: Any) -> str:
        if not begun.is_set():
            begun.set()
            await anyio.sleep_forever()
        return "old"

    async with engine(AgentSpec(name="ada", run=old)) as running:
        runs = [await running.submit() for _ in range(3)]
        await begun.wait()
        await swap(running, AgentSpec(name="ada", run="nobody_has_this:code"), mode="abort")

        assert [(await running.ended(run_id))[1] for run_id in runs] == ["old"] * 3
        assert len(await running.journal("swap_rolled_back")) == 1
        assert await running.journal("attempt_failed") == []


async def test_swaps_in_a_storm_lose_nothing_and_run_no_step_twice(engine: Engines) -> None:
    ran: Counter[tuple[str, int]] = Counter()

    def generation(number: int) -> AgentSpec:
        async def work(task: Any, ctx: Any) -> list[Any]:
            done = [await ctx.step(f"s{place}", piece, task.id, place) for place in range(4)]
            return [*done, await ctx.delegate("helper", "x"), await ctx.step("s4", piece, task.id, 4)]

        return AgentSpec(name="ada", run=work, max_concurrency=1 + number % 3, timeout_s=100 + number)

    async def piece(task_id: str, place: int) -> int:
        ran[task_id, place] += 1
        await anyio.sleep(0.001)
        return place

    async def helper(text: str) -> str:
        return "help"

    specs = generation(0), AgentSpec(name="helper", run=helper)
    async with engine(*specs, participants=["ada"]) as running:
        runs = [await running.submit() for _ in range(8)]
        for number in range(1, 8):
            await swap(running, generation(number), mode="migrate")
            await running.until(lambda state: state.agents["a1"].drained == state.agents["a1"].generation)
        for run_id in runs:
            assert (await running.ended(run_id))[1] == [0, 1, 2, 3, "help", 4]

        assert set(ran.values()) == {1}
        assert len(ran) == 8 * 5
        assert running.state.agents["a1"].generation == 8
        assert len(await running.journal("attempt_started")) == 16
        assert len(await running.journal("attempt_migrated")) > 0


@pytest.mark.usefixtures("noted_requests")
async def test_an_attempt_migrates_from_a_model_that_has_gone_silent_in_the_middle_of_its_answer(
    engine: Engines,
) -> None:
    clock = Hurried()
    models = {
        "slow": ModelSpec(replies=[{"text": "A long answer that never ends", "every_s": 3_600}]),
        "other": ModelSpec(replies=[{"text": "The end."}]),
    }
    ada = AgentSpec(name="ada", agent_type="ReactAgent", model="slow")
    async with engine(ada, clock=clock, options=SupervisorOptions(models=models)) as running:
        run = await running.submit()

        async def asked() -> bool:
            return bool(REQUESTS)

        await soon(asked)
        await running.host.order(SwapAgent(agent="ada", model="other", mode="migrate"))
        assert await events(running, "attempt_migrated") == []
        clock.let_pass(400)

        assert (await running.ended(run))[1] == "The end."
        assert len(await events(running, "attempt_migrated")) == 1
