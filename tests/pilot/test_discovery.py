"""Agents that were found for a request: who is offered, what their code needs, and what came of it."""

from pathlib import Path

import pytest

from dashboard.dialogs.answer import AnswerDialog
from engine.core.commands import Answer, ChangeSupervisor, Submit
from engine.core.signals import AgentsFound, FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryChange, DiscoveryConfig
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, spec_hash
from tests.pilot.hand import Hand, opened
from tests.pilot.scene import NOW_MS
from tests.world import World, agent, team_world

pytestmark = pytest.mark.anyio
ADD = Answer(escalation="e1", answer="add")
REQUEST = "count, then paint pictures"


def searching() -> World:
    """Return a team whose request needs an agent that it looks for in documents."""
    discovery = DiscoveryConfig(modes=(AgentDiscoveryMode.RAG,), documents=("agents/*.md",))
    work = team_world(agent("ada", "count"), auto_discover=True, options=SupervisorOptions(discovery=discovery))
    work.now_ms = NOW_MS - 61_000
    work.order(Submit(request=REQUEST))
    return work


def offering(run: str = "textwrap:shorten") -> World:
    """Return the same team once it has found one, and asks a person about it."""
    work = searching()
    painter = AgentSpec(name="painter", run=run, specialties=("paint", "pictures"), description="Paints")
    found = FoundSpec(source=AgentDiscoveryMode.RAG, id="agents/painter.md", hash=spec_hash(painter), spec=painter)
    work.say(AgentsFound(task_id="t1", text=REQUEST, found=[found]))
    return work


async def ask(hand: Hand, *, digit: str = "") -> str:
    """Open the dialog, and return what it shows; with a digit give that answer then."""
    await hand.press("8", "enter")
    assert isinstance(hand.dialog, AnswerDialog)
    text = " ".join(hand.told("details").split())
    if digit:
        await hand.press(digit)
    return text


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_who_is_offered_is_shown_with_its_score_and_every_reference(
    size: tuple[int, int], tmp_path: Path
) -> None:
    async with opened(tmp_path, work=offering(), size=size) as hand:
        text = await ask(hand)

    assert "painter, from the documents: agents/painter.md" in text
    assert "matches paint, pictures" in text
    assert "uses textwrap:shorten" in text
    assert '│ specialties: ["paint", "pictures"]' in text


async def test_code_is_named_first_and_trusted_by_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.dialogs.answer.CALM_S", 0)
    async with opened(tmp_path, work=offering()) as hand:
        await ask(hand, digit="1")
        assert "not trusted yet: textwrap:shorten" in hand.problem
        assert hand.app.orders == []

        await hand.press("1")
        assert hand.ordered == ADD
        assert hand.app.trust.untrusted_references(["textwrap:shorten"]) == []


async def test_the_same_key_in_haste_trusts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.dialogs.answer.CALM_S", 60)
    async with opened(tmp_path, work=offering("textwrap:fill")) as hand:
        await ask(hand, digit="1")
        await hand.press("1", "enter", "1")

        assert hand.app.orders == []
        assert hand.app.trust.untrusted_references(["textwrap:fill"]) == ["textwrap:fill"]


async def test_to_skip_them_takes_no_trust(tmp_path: Path) -> None:
    async with opened(tmp_path, work=offering("textwrap:dedent")) as hand:
        await ask(hand, digit="2")

        assert hand.ordered == Answer(escalation="e1", answer="skip")


async def test_the_line_asks_for_trust_in_the_dialog(tmp_path: Path) -> None:
    async with opened(tmp_path, work=offering("textwrap:indent")) as hand:
        await hand.press("colon", *"answer e1 add", "enter")

        assert isinstance(hand.dialog, AnswerDialog)
        assert hand.app.orders == []


async def test_a_browser_trusts_nothing_and_says_what_to_run(tmp_path: Path) -> None:
    async with opened(tmp_path, work=offering("textwrap:wrap")) as hand:
        hand.app.access.in_browser = True
        await ask(hand, digit="1")

        assert hand.problem == "textwrap:wrap is not trusted; in a shell: quarterdeck answer e1 add --trust"
        assert hand.app.orders == []


async def test_the_settings_of_a_supervisor_say_how_it_finds_agents_and_change_it(tmp_path: Path) -> None:
    async with opened(tmp_path, work=searching()) as hand:
        await hand.press("o")
        assert "the documents; asks first; at most 3 a run" in hand.told("details")
        await hand.press(*"discover=catalogue,mcp max_new=1 auto_discover=no", "enter")

        modes = [AgentDiscoveryMode.CATALOGUE, AgentDiscoveryMode.MCP]
        assert hand.ordered == ChangeSupervisor(
            supervisor="@s1", auto_discover=False, discovery=DiscoveryChange(modes=modes, max_new=1)
        )
