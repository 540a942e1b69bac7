"""Calls of tools that a person has to allow: once, for good, or not; what is for good ends with the generation."""

from typing import Any

import pytest

from engine import AgentSpec
from engine.clock import VirtualClock
from engine.core.commands import Answer, RevokeGrant, SwapAgent
from engine.errors import CommandRefusedError, ToolRejected
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
        await ctx._work.approve("send", HELD["arguments"], HELD["rule"], due_s=HELD["due_s"])
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
