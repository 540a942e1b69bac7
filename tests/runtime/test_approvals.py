"""Calls of tools that a person has to allow: once, for good, or not; what is for good ends with the generation."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from engine import AgentSpec
from engine.core.commands import Answer, RevokeGrant, SwapAgent
from engine.errors import CommandRefusedError, ToolRejected
from engine.platform.clock import VirtualClock
from store import Row
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines

pytestmark = pytest.mark.anyio

RULE: Any = "always"
HELD: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def afresh() -> None:
    HELD.clear()
    HELD.update(rule="always", due_s=None, arguments={"to": "main"})


async def sends(task: Any, ctx: Any) -> str:
    try:
        await ctx._work.questions.approve("send", HELD["arguments"], HELD["rule"], due_s=HELD["due_s"])
    except ToolRejected as rejected:
        return str(rejected)
    return "sent"


SENDER = AgentSpec(name="sender", run=sends)


async def question(running: Engine) -> str:
    await running.until(lambda state: bool(state.escalations))
    return next(iter(running.state.escalations))


async def answered(running: Engine, said: str) -> Any:
    """Submit a request, answer what it asks, and return its output."""
    run_id = await running.submit()
    await running.host.order(Answer(escalation=await question(running), answer=said))
    return (await running.ended(run_id))[1]


async def test_a_call_is_allowed_or_rejected_one_at_a_time(engine: Engines) -> None:
    async with engine(SENDER) as running:
        assert await answered(running, "allow_once") == "sent"
        assert await answered(running, "reject_once") == "a person rejected the call of send"
        assert not running.state.grants


async def test_the_question_shows_the_call_and_hides_secrets(engine: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_TOKEN", "hush-hush-hush")
    HELD["arguments"] = {"to": "main", "with": "hush-hush-hush"}
    async with engine(SENDER) as running:
        await running.submit()
        asked = running.state.escalations[await question(running)]

    assert asked.kind == "approval"
    assert "sender wants to call send" in asked.question
    assert "hush" not in f"{asked.question} {asked.detail}"
    assert asked.detail["arguments"] == {"to": "main", "with": "[MAIL_TOKEN]"}


async def test_a_guard_asks_only_about_the_calls_that_it_holds_for(engine: Engines) -> None:
    HELD["rule"] = {"json": "to", "equals": "other"}
    async with engine(SENDER) as running:
        assert await running.ask() == "sent"
        HELD["arguments"] = {"to": "other"}
        assert await answered(running, "reject_once") == "a person rejected the call of send"


@pytest.mark.parametrize(("said", "output"), [("allow_always", "sent"), ("reject_always", "a person rejected")])
async def test_an_answer_for_good_is_remembered_and_answers_what_is_open(
    engine: Engines, said: str, output: str
) -> None:
    async with engine(SENDER) as running:
        runs = [await running.submit() for _ in range(2)]
        await running.until(lambda state: bool(state.escalations))
        await running.host.order(Answer(escalation=await question(running), answer=said))

        for run_id in runs:
            assert str((await running.ended(run_id))[1]).startswith(output)
        assert str(await running.ask()).startswith(output)
        assert [one.allows for one in running.state.grants.values()] == [said == "allow_always"]


async def test_a_grant_ends_with_its_generation_and_where_it_is_revoked(engine: Engines) -> None:
    async with engine(SENDER) as running:
        await answered(running, "allow_always")
        (grant,) = running.state.grants
        await running.host.order(RevokeGrant(grant=grant))
        assert await answered(running, "allow_always") == "sent", "it was asked again"

        spec = next(iter(running.state.specs.values()))
        await running.host.order(
            SwapAgent(agent="sender", spec=AgentSpec(name="sender", run=spec.run, description="another"))
        )
        assert not running.state.grants
        with pytest.raises(CommandRefusedError, match="there is no grant 'g2'; there are: none"):
            await running.host.order(RevokeGrant(grant="g2"))


@pytest.mark.parametrize(("limits", "asks_again"), [({"scope": "task"}, True), ({"where": ["to"]}, False)])
async def test_a_grant_covers_what_it_says_and_ends_with_its_task(
    engine: Engines, limits: dict[str, Any], asks_again: bool
) -> None:
    async with engine(SENDER) as running:
        run_id = await running.submit()
        command = Answer(escalation=await question(running), answer="allow_always", **limits)
        await running.host.order(command)
        assert (await running.ended(run_id))[1] == "sent"
        assert bool(running.state.grants) is not asks_again

        HELD["arguments"] = {"to": "main" if asks_again else "other"}
        assert await answered(running, "reject_once") == "a person rejected the call of send", "it was asked again"
        if not asks_again:
            HELD["arguments"] = {"to": "main"}
            assert await running.ask() == "sent"


async def test_a_grant_for_a_time_ends_by_itself(engine: Engines) -> None:
    clock = VirtualClock(0)
    async with engine(SENDER, clock=clock) as running:
        await running.submit()
        await running.host.order(Answer(escalation=await question(running), answer="allow_always", minutes=10))
        assert await running.ask() == "sent"
        await running.until(lambda state: not state.grants)
        (revoked,) = await running.journal("grant_revoked")
        assert (json.loads(revoked.body)["why"], clock.now_ms() >= 600_000) == ("time", True)


async def test_an_answer_for_one_call_takes_no_scope_and_names_are_those_of_the_call(engine: Engines) -> None:
    async with engine(SENDER) as running:
        await running.submit()
        asked = await question(running)
        refusals: list[tuple[dict[str, Any], str]] = [
            ({"answer": "allow_once", "scope": "run"}, "is an answer for one call"),
            ({"answer": "allow_always", "where": ["at"]}, "no argument 'at'; it has to"),
            ({"answer": "allow_always", "amount": 1}, "an amount goes with"),
        ]
        for fields, wrong in refusals:
            with pytest.raises(CommandRefusedError, match=wrong):
                await running.host.order(Answer(escalation=asked, **fields))


async def test_a_deadline_without_an_answer_rejects(engine: Engines) -> None:
    HELD["due_s"] = 600.0
    async with engine(SENDER, clock=VirtualClock(0)) as running:
        assert await running.ask() == "a person rejected the call of send"


async def test_several_are_answered_at_once_or_none(engine: Engines) -> None:
    async with engine(AgentSpec(name="sender", run=sends, max_concurrency=5)) as running:
        runs = [await running.submit() for _ in range(5)]
        await running.until(lambda state: len(state.escalations) == 5)
        with pytest.raises(CommandRefusedError, match="no question 'e9'"):
            await running.host.order(Answer(escalation="e1", answer="allow_once", also=["e9"]))
        assert len(running.state.escalations) == 5
        outcome = await running.host.order(Answer(escalation="e1", answer="allow_once", alike=True))

        assert outcome.summary == "answered e1, e2, e3 and 2 more: allow_once"
        assert [(await running.ended(run_id))[1] for run_id in runs] == ["sent"] * 5


class Gate:
    """Holds back what an engine writes."""

    def __init__(self, running: Engine) -> None:
        self._append = running.store.journal.append
        self._passes = anyio.Semaphore(0)
        self.written = self.waiting = 0
        running.store.journal.append = self._written  # type: ignore[method-assign]  # it appends all the same

    async def _written(self, first_seq: int, rows: Sequence[Row]) -> None:
        self.waiting += 1
        await self._passes.acquire()
        self.waiting -= 1
        await self._append(first_seq, rows)
        self.written += 1

    def let_pass(self, writes: int = 1_000) -> None:
        for _ in range(writes):
            self._passes.release()


async def comes(holds: Callable[[], bool]) -> None:
    """Return once something holds in memory, whether it is written or not."""
    with anyio.fail_after(PATIENCE_S):
        while not holds():
            await checkpoint()


async def sends_when_told(task: Any, ctx: Any) -> str:
    if task.text == "later":
        HELD["begun"] = True
        await HELD["go"].wait()
    output = await sends(task, ctx)
    HELD["sent"].append(output)
    return output


async def sends_beside_a_step(task: Any, ctx: Any) -> str:
    async def step() -> None:
        HELD["begun"] = True
        await HELD["over"].wait()

    async with anyio.create_task_group() as group:
        group.start_soon(ctx.step, "beside", step)  # so it needs no slot to go on with an answer
        await HELD["go"].wait()
        HELD["sent"] += [await sends(task, ctx)]
        HELD["over"].set()
    return str(HELD["sent"][0])


async def begun_later(running: Engine) -> str:
    """Submit a request whose agent asks for nothing until it is told, and return the run once it has begun."""
    run_id = await running.submit("later")
    await comes(lambda: HELD["begun"])
    return run_id


@pytest.mark.parametrize(("said", "output"), [("allow_always", "sent"), ("reject_always", "a person rejected")])
async def test_an_answer_for_good_counts_for_other_calls_once_it_is_on_disk(
    engine: Engines, tmp_path: Path, said: str, output: str
) -> None:
    HELD.update(go=anyio.Event(), begun=False, sent=[])
    sender = AgentSpec(name="sender", run=sends_when_told, max_concurrency=2)
    async with engine(sender, path=tmp_path / "team.db") as running, anyio.create_task_group() as group:
        await running.submit()
        asked = await question(running)
        later = await begun_later(running)
        gate = Gate(running)
        group.start_soon(running.host.order, Answer(escalation=asked, answer=said))
        await comes(lambda: bool(running.state.grants and gate.waiting))

        HELD["go"].set()
        await anyio.wait_all_tasks_blocked()
        assert (HELD["sent"], gate.written) == ([], 0)

        gate.let_pass()
        assert str((await running.ended(later))[1]).startswith(output)


async def test_an_answer_that_overtakes_its_question_counts_once_it_is_on_disk(engine: Engines, tmp_path: Path) -> None:
    HELD.update(go=anyio.Event(), over=anyio.Event(), begun=False, sent=[])
    async with (
        engine(AgentSpec(name="sender", run=sends_beside_a_step), path=tmp_path / "team.db") as running,
        anyio.create_task_group() as group,
    ):
        later = await begun_later(running)
        gate = Gate(running)
        HELD["go"].set()
        await comes(lambda: bool(running.state.escalations and gate.waiting))
        group.start_soon(running.host.order, Answer(escalation="e1", answer="allow_once"))
        await comes(lambda: not running.state.escalations)

        gate.let_pass(1)
        await comes(lambda: gate.written == gate.waiting == 1)  # the question is on disk, its answer is not
        await anyio.wait_all_tasks_blocked()
        assert HELD["sent"] == []

        gate.let_pass()
        assert (await running.ended(later))[1] == "sent"
