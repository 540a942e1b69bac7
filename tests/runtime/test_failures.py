"""Failures of real code: what its exceptions ask for, who takes over, and who is started anew."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import AgentCrashed, PermanentFailure, RetryLater
from engine.core.commands import Answer, Resume, Submit
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Circuit, Escalate, Failover, Restart, Retry
from engine.platform.clock import VirtualClock
from engine.runtimes.values import traits
from tests.runtime import crew_for_failures as crew
from tests.runtime.engines import Engine, Engines

pytestmark = pytest.mark.anyio


async def one(running: Engine, kind: str) -> Any:
    """Return the only record of a kind, as JSON."""
    (record,) = await running.journal(kind)
    return json.loads(record.body)


async def test_an_exception_that_says_later_is_tried_again_no_sooner(engine: Engines) -> None:
    calls = []

    async def busy(text: str) -> str:
        calls.append(clock.now_ms())
        if len(calls) == 1:
            raise RetryLater(7.5, "too many requests")
        return "done"

    clock = VirtualClock()
    async with engine(AgentSpec(name="busy", run=busy, on_failure=[Retry(1, 0.1, 0.1)]), clock=clock) as running:
        assert await running.ask() == "done"
        assert (await one(running, "retry_scheduled"))["retry_after_s"] == 7.5

    assert calls[1] - calls[0] >= 7500


async def test_an_exception_that_says_never_is_not_tried_again(engine: Engines) -> None:
    async def closed(text: str) -> str:
        raise PermanentFailure("the account is closed")

    async with engine(AgentSpec(name="closed", run=closed, on_failure=[Retry(5)])) as running:
        assert "the account is closed" in await running.fails()
        assert await running.journal("retry_scheduled") == []
        assert (await one(running, "attempt_failed"))["error_types"] == ["PermanentFailure", "EngineError", "Exception"]


async def test_names_of_exceptions_and_of_their_bases_decide_what_is_worth_a_retry(engine: Engines) -> None:
    calls: list[str] = []

    async def odd(text: str) -> str:
        calls.append(text)
        raise (ConnectionResetError if len(calls) == 1 else KeyError)("odd")

    policy = Retry(5, 0.001, 0.001, on=["OSError"])
    async with engine(AgentSpec(name="odd", run=odd, on_failure=[policy])) as running:
        assert "odd" in await running.fails()

    assert len(calls) == 2


async def test_another_agent_goes_on_with_the_steps_that_are_finished(engine: Engines) -> None:
    reads: list[str] = []

    def read() -> str:
        reads.append("page")
        return "page"

    async def first(task: Any, ctx: Any) -> str:
        await ctx.step("read", read)
        raise ValueError("no")

    async def second(task: Any, ctx: Any) -> str:
        return str(await ctx.step("read", read)) + " two"

    specs = [
        AgentSpec(name="first", run=first, specialties=["read"], on_failure=[Failover()]),
        AgentSpec(name="second", run=second, specialties=["read"]),
    ]
    async with engine(*specs, participants=["first"]) as running:
        assert await running.ask() == "page two"

    assert reads == ["page"]


async def test_a_person_gives_the_output(engine: Engines) -> None:
    async def stuck(text: str) -> str:
        raise ValueError("no")

    async with engine(AgentSpec(name="stuck", run=stuck, on_failure=[Escalate(3600.0)])) as running:
        run_id = await running.submit()
        await running.until(lambda state: bool(state.escalations))
        (question,) = running.state.escalations
        await running.host.order(Answer(escalation=question, answer="use", output={"by": "hand"}))

        summary, output = await running.ended(run_id)

    assert (summary.status, output) == ("done", {"by": "hand"})


async def test_an_agent_whose_process_was_killed_is_started_anew_and_its_task_tried_again(
    engine: Engines, tmp_path: Path
) -> None:
    spec = AgentSpec(name="once", run=crew.dies_once, run_in="process", on_failure=[Retry(1, 0.001, 0.001)])
    async with engine(spec) as running:
        assert await running.ask(str(tmp_path / "mark")) == "alive"

        restarted = await one(running, "agents_restarted")
        assert "once crashed: its process was killed by SIGKILL" in restarted["because"]
        assert (await one(running, "attempt_failed"))["crashed"] is True
        assert [agent.error for agent in running.state.agents.values()] == [None]


async def test_what_an_exception_says_in_another_process_is_heard_here(engine: Engines) -> None:
    spec = AgentSpec(name="busy", run=crew.later, run_in="process")
    async with engine(spec) as running:
        await running.fails()
        failed = await one(running, "attempt_failed")

    assert failed["error_types"] == ["Busy", "OSError", "Exception"]
    assert (failed["retryable"], failed["retry_after_s"], failed["crashed"]) == (True, 2.5, False)


async def test_one_for_all_stops_the_others_at_once_and_they_begin_again(engine: Engines) -> None:
    began: list[str] = []

    async def other(text: str) -> str:
        began.append("other")
        if len(began) == 1:
            await anyio.sleep_forever()
        return "other"

    async def breaks(text: str) -> str:
        while not began:
            await anyio.lowlevel.checkpoint()
        if len(began) == 1:
            raise AgentCrashed("lost its session")
        return "mended"

    options = SupervisorOptions(restart=Restart("one_for_all"), on_failure=[Retry(3, 0.001, 0.001)])
    specs = [AgentSpec(name="other", run=other), AgentSpec(name="breaks", run=breaks)]
    async with engine(*specs, mode="parallel", options=options) as running:
        assert "mended" in str(await running.ask())

    assert began == ["other", "other"]


async def test_a_team_that_crashes_too_often_is_in_error_until_an_operator_resumes_it(engine: Engines) -> None:
    broken = [True]

    async def breaks(text: str) -> str:
        if broken:
            raise AgentCrashed("no session")
        return "fine"

    options = SupervisorOptions(restart=Restart("one_for_one", 2, 60.0), on_failure=[Retry(9, 0.001, 0.001)])
    async with engine(AgentSpec(name="breaks", run=breaks), options=options) as running:
        assert await running.fails() == "supervisor team failed: 3 restarts in 60 s"
        broken.clear()
        with pytest.raises(Exception, match="resume team"):
            await running.host.order(Submit(request="x"))
        await running.host.order(Resume(target="team"))

        assert await running.ask() == "fine"


async def test_a_circuit_lets_one_attempt_through_when_it_has_cooled_down(engine: Engines) -> None:
    broken = [True]

    async def flaky(text: str) -> str:
        if broken:
            raise ValueError("no")
        return "fine"

    spec = AgentSpec(name="flaky", run=flaky, circuit=Circuit(2, 30.0))
    async with engine(spec, clock=VirtualClock()) as running:
        await running.fails()
        await running.fails()
        broken.clear()

        assert await running.ask() == "fine"
        kinds = [record.kind for record in await running.journal() if record.kind.startswith("circuit")]

    assert kinds == ["circuit_opened", "circuit_half_opened", "circuit_closed"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, True, "soon", 10**400, None])
def test_a_wait_that_is_no_number_of_seconds_is_not_heard(value: object) -> None:
    class Odd(Exception):
        retry_after = value

    assert traits(Odd()).retry_after_s is None


def test_an_exception_whose_attributes_raise_says_nothing() -> None:
    class Odd(Exception):
        @property
        def retryable(self) -> bool:
            raise RuntimeError

    assert (traits(Odd()).retryable, traits(Odd()).types) == (None, ["Odd", "Exception"])
