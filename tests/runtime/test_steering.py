"""Messages to work under way: each conversation hears them at its next turn, once, also over a crash; and aborts."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import AgentSpec
from engine.core.commands import Abort, Cancel, Steer
from engine.errors import CommandRefusedError
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines

pytestmark = pytest.mark.anyio


class Crew:
    """Agents that listen at each of their turns, and wait in between until they may go on."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.waits, self.may_go_on = anyio.Event(), anyio.Event()

    async def listens(self, task: Any, ctx: Any) -> list[str]:
        self.heard = ctx.steers()
        self.waits.set()
        await self.may_go_on.wait()
        self.heard = self.heard + ctx.steers()
        return self.heard

    def listens_in_a_thread(self, task: Any, ctx: Any) -> list[str]:
        heard: list[str] = []
        while not heard:
            ctx.sleep(0.001)
            heard = ctx.steers()
        return heard

    async def lead(self, task: Any, ctx: Any) -> Any:
        return await ctx.delegate("listener", "listen")


LISTENING: list[Crew] = []


async def listens_by_turns(task: Any, ctx: Any) -> list[str]:
    """Listen as the next of a list, whose code every process finds."""
    return await LISTENING.pop(0).listens(task, ctx)


async def begun(crew: Crew) -> None:
    with anyio.fail_after(PATIENCE_S):
        await crew.waits.wait()


async def say(running: Engine, target: str, text: str, *, now: bool = False) -> Any:
    return (await running.host.order(Steer(target=target, text=text, now=now))).result


async def test_a_conversation_hears_messages_in_order_at_its_next_turn(engine: Engines) -> None:
    crew = Crew()
    async with engine(AgentSpec(name="listener", run=crew.listens)) as running:
        run_id = await running.submit()
        await begun(crew)
        for text in ("first", "second"):
            assert (await say(running, "listener", text))["at_work"] == 1
        crew.may_go_on.set()

        assert (await running.ended(run_id))[1] == ["first", "second"]
        (step,) = [one for one in await running.journal("step_recorded") if b"steered:2" in one.body]
        assert b'"steers":["n1","n2"]' in step.body


async def test_a_plain_function_hears_too(engine: Engines) -> None:
    crew = Crew()
    async with engine(AgentSpec(name="listener", run=crew.listens_in_a_thread)) as running:
        run_id = await running.submit()
        await running.until(lambda state: bool(state.agents["a1"].running))
        await say(running, run_id, "hello")

        assert (await running.ended(run_id))[1] == ["hello"]


async def test_a_message_for_a_run_reaches_everybody_below(engine: Engines) -> None:
    crew = Crew()
    async with engine(
        AgentSpec(name="lead", run=crew.lead), AgentSpec(name="listener", run=crew.listens), participants=("lead",)
    ) as running:
        run_id = await running.submit()
        await begun(crew)
        assert len((await say(running, run_id, "to all"))["tasks"]) == 2
        assert len((await say(running, "lead", "to the lead and below"))["tasks"]) == 2
        assert len((await say(running, "listener", "to one"))["tasks"]) == 1
        crew.may_go_on.set()

        assert (await running.ended(run_id))[1] == ["to all", "to the lead and below", "to one"]


async def test_a_message_outlives_the_engine_and_is_heard_once(engine: Engines, tmp_path: Path) -> None:
    path, crew, again = tmp_path / "team.db", Crew(), Crew()
    LISTENING[:] = [crew, again]
    async with engine(AgentSpec(name="listener", run=listens_by_turns), path=path) as running:
        run_id = await running.submit()
        await begun(crew)
        await say(running, run_id, "before the crash")
    async with engine(path=path) as running:
        await begun(again)
        await say(running, run_id, "after it")
        again.may_go_on.set()

        assert (await running.ended(run_id))[1] == ["before the crash", "after it"]


async def test_who_can_hear_nothing_is_named_in_the_refusal(engine: Engines) -> None:
    crew = Crew()
    async with engine(AgentSpec(name="listener", run=crew.listens), name="chief") as running:
        for target, said in (
            ("listener", "listener is working on no task"),
            ("chief", "chief is a supervisor; name one of its runs"),
            ("nobody", "nobody"),
        ):
            with pytest.raises(CommandRefusedError, match=said):
                await say(running, target, "hello")
        crew.may_go_on.set()
        run_id = await running.submit()
        await running.ended(run_id)
        with pytest.raises(CommandRefusedError, match=f"run {run_id} has ended already"):
            await say(running, run_id, "hello")
        with pytest.raises(CommandRefusedError, match="message is empty"):
            await say(running, run_id, " ")


async def test_an_abort_stops_in_the_middle_of_a_step_and_reaches_everybody_below(engine: Engines) -> None:
    crew, ended = Crew(), list[str]()

    async def hangs(task: Any, ctx: Any) -> None:
        async def step() -> None:
            crew.waits.set()
            try:
                await anyio.sleep_forever()
            finally:
                ended.append("step")

        await ctx.step("hang", step)

    async with engine(
        AgentSpec(name="lead", run=crew.lead), AgentSpec(name="listener", run=hangs), participants=("lead",)
    ) as running:
        run_id = await running.submit()
        await begun(crew)
        await running.host.order(Cancel(target=run_id))
        assert not ended, "a cancel waits for the step"
        result = (await running.host.order(Abort(target=run_id))).result
        summary, _ = await running.ended(run_id)

    assert ended == ["step"]
    assert result == {"cancelled": 0, "stopping": 1}
    assert summary.status == "cancelled"


async def test_what_an_agent_is_at_is_cancelled_or_aborted_by_its_name(engine: Engines) -> None:
    crew = Crew()
    async with engine(AgentSpec(name="listener", run=crew.listens)) as running:
        for command in (Cancel, Abort):
            crew.waits = anyio.Event()
            run_id = await running.submit()
            await begun(crew)
            await running.host.order(command(target="listener"))
            crew.may_go_on.set()
            assert (await running.ended(run_id))[0].status in ("cancelled", "skipped", "failed")
            crew.may_go_on = anyio.Event()
