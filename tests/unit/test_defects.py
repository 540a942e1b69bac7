"""What the core does about its own defects: nothing. A refusal is a `Refused`; everything else is raised as it is."""

from typing import Any

import pytest

from engine.core.commands import Ping
from engine.core.decide import ON_COMMAND, ON_MESSAGE
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Mint, ask
from engine.core.encoding.codec import encode_state
from engine.core.errors import ChangesNothing, CorruptJournal
from engine.core.events import AgentPaused, CommandApplied
from engine.core.fold import apply, fold
from engine.core.followups import Dispatch
from engine.core.state import State
from tests.story import submitted
from tests.world import World, agent, team_world


def test_an_error_that_is_no_refusal_is_not_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Any:
        raise ValueError("'x' is not in list")

    monkeypatch.setitem(ON_COMMAND, Ping, broken)

    with pytest.raises(ValueError, match="is not in list"):
        World().order(Ping())


def test_a_follow_up_that_changes_nothing_ends_instead_of_following_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    world = team_world(agent("ada"))
    monkeypatch.setitem(ON_MESSAGE, Dispatch, lambda *_: [])

    with pytest.raises(ChangesNothing, match="Dispatch"):
        submitted(world)


def test_a_follow_up_that_decides_the_same_again_ends_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    world = team_world(agent("ada"))

    def the_same(state: State, prompt: Dispatch, ctx: DecisionContext) -> list[Any]:
        return [CommandApplied(at_ms=ctx.now_ms, command_id="c9", command="ping", sender="", role="", summary="")]

    monkeypatch.setitem(ON_MESSAGE, Dispatch, the_same)

    with pytest.raises(ChangesNothing, match="Dispatch"):
        submitted(world)


def test_a_defect_in_folding_what_was_just_decided_is_no_damage_of_the_journal() -> None:
    event = AgentPaused(at_ms=1, agent_id="a9")

    with pytest.raises(KeyError):
        apply(State(), event)
    with pytest.raises(CorruptJournal, match=r"cannot be folded at seq 1: .*doctor --verify.* report this as a defect"):
        fold(State(), [event])


def test_two_questions_of_one_decision_have_two_ids() -> None:
    world = team_world(agent("ada"))
    before, mint = encode_state(world.state), Mint(world.state)

    asked = [
        ask(world.state, DecisionContext(now_ms=1, jitter=0.0), kind="failure", subject="a1", run_id=None, question="?",
            options=["yes"], mint=mint)
        for _ in range(2)
    ]  # fmt: skip

    assert [one.escalation_id for one in asked] == ["e1", "e2"]
    assert encode_state(world.state) == before
