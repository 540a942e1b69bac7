"""Specs written as YAML in the dashboard: checked as they are typed, shown before they are sent, never lost."""

from pathlib import Path

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from dashboard.dialogs.edit import EditDialog
from dashboard.views.changes.swaps import mode_lines
from dashboard.widgets.yaml_area import YamlArea
from engine.core.commands import AddAgent, RemoveMember, SwapAgent
from tests.pilot.hand import Hand, opened
from tests.world import agent

pytestmark = pytest.mark.anyio
SCOUT = ("j", "j", "j", "e")


def text(hand: Hand) -> str:
    return hand.app.screen.query_one(YamlArea).text


async def test_a_changed_spec_is_a_swap_that_is_shown_first(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press(*SCOUT)
        assert "nothing is changed yet" in hand.told("would")
        await hand.press("ctrl+s")
        assert hand.problem == "nothing is changed yet"
        await hand.press("ctrl+end", *"timeout_s: 9", "enter", *"weight: 2")
        assert "would do    swapped scout to g2" in hand.told("would")
        assert "+ timeout" in hand.told("preview")
        scout = next(one for one in hand.work.state.agents.values() if one.name == "scout")
        meaning = dict(mode_lines(hand.work.state, [scout.id]))["drain"]
        assert len(meaning) > 40
        assert f"drain {meaning}" in " ".join(hand.told("preview").split()), "whole, in as many lines as it needs"
        await hand.press("ctrl+s")
        assert isinstance(hand.ordered, SwapAgent)
        assert hand.ordered.spec is not None
        assert (hand.ordered.spec.name, hand.ordered.spec.timeout_s, hand.ordered.mode) == ("scout", 9.0, "drain")


async def test_a_fault_is_named_with_its_line_as_it_is_typed(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press(*SCOUT, "ctrl+end", *"timeout: 9")
        assert "line 6" in hand.told("faults")
        assert "timeout_s" in hand.told("faults")
        await hand.press("ctrl+home", "ctrl+s")
        assert not hand.app.orders
        assert hand.app.screen.query_one(YamlArea).cursor_location[0] == 5
        await hand.press("backspace", "backspace", "backspace", *"_s: 9")
        assert "line" not in hand.told("faults")


async def test_code_that_is_not_trusted_is_named_and_not_run_because_it_was_typed(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press(*SCOUT, "down", "down", "down", "end", *"2")
        assert "runs        crew:scout2" in hand.told("preview")
        await hand.press("ctrl+s")
        assert hand.problem == "not trusted yet: crew:scout2; look at that code, then ctrl+s trusts it"
        hand.app.access.in_browser = True
        await hand.press("ctrl+s")
        assert hand.problem == "not in a browser: crew:scout2 is not trusted; trust it in a shell first"
        assert not hand.app.orders


async def test_an_agent_that_left_while_its_spec_was_edited_is_told_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        idle = next(one for one in hand.work.state.agents.values() if one.status == "idle")
        hand.app.push_screen(EditDialog(idle.id, idle.supervisor_id))
        await hand.press("ctrl+end", *"weight: 2")
        await hand.meanwhile(RemoveMember(target=f"@{idle.id}", mode="abort"))
        assert hand.problem == "this agent has left the team; copy the text, and N begins a new agent"
        await hand.press("ctrl+s")
        assert hand.problem == "this agent has left the team; copy the text, and N begins a new agent"
        assert not hand.app.orders
        assert text(hand).endswith("weight: 2")


async def test_a_spec_that_somebody_else_changes_while_it_is_edited_is_not_replaced_unseen(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        idle = next(one for one in hand.work.state.agents.values() if one.status == "idle")
        hand.app.push_screen(EditDialog(idle.id, idle.supervisor_id))
        await hand.press("ctrl+end", *"weight: 2")
        await hand.meanwhile(SwapAgent(agent=idle.id, spec=agent(idle.name, timeout_s=9)))
        assert hand.problem == f"would be refused: {idle.name} is g2 by now, not g1; look at it first"
        assert "meanwhile, g2; ctrl+r starts over with it" in " ".join(hand.told("preview").split())

        await hand.press("ctrl+r")
        assert "timeout_s: 9" in text(hand)
        await hand.press("ctrl+end", *"weight: 3")
        assert hand.problem == ""
        command = hand.dialog.answer()
        assert isinstance(command, SwapAgent)
        assert command.generation == 2


async def test_a_kept_text_asks_again_before_it_overwrites_a_later_change_of_somebody_else(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as hand:
        idle = next(one for one in hand.work.state.agents.values() if one.status == "idle")
        hand.app.push_screen(EditDialog(idle.id, idle.supervisor_id))
        await hand.press("ctrl+end", *"weight: 2", "escape")
        await hand.meanwhile(SwapAgent(agent=idle.id, spec=agent(idle.name, timeout_s=9)))
        for _ in range(2):
            hand.app.push_screen(EditDialog(idle.id, idle.supervisor_id))
            await hand.press("ctrl+s")
            assert hand.problem == f"would be refused: {idle.name} is g2 by now, not g1; look at it first"
            assert text(hand).endswith("weight: 2")
            await hand.press("escape")
        assert not hand.app.orders

        hand.app.push_screen(EditDialog(idle.id, idle.supervisor_id))
        await hand.press("ctrl+r", "ctrl+end", *"weight: 3", "escape")
        hand.app.push_screen(EditDialog(idle.id, idle.supervisor_id))
        await hand.press()
        assert hand.problem == ""
        assert text(hand).endswith("weight: 3")


async def test_a_text_that_was_left_is_there_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press(*SCOUT, "ctrl+end", *"weight: 2", "escape")
        assert hand.said == "nothing was sent; the text is kept until the dashboard is left"
        await hand.press("e")
        assert text(hand).endswith("weight: 2")
        assert "ctrl+r starts over" in hand.told("note")
        await hand.press("ctrl+r")
        assert "weight" not in text(hand)
        assert not hand.app.drafts


async def test_a_terminal_that_cannot_be_given_away_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.delenv("VISUAL", raising=False)
    async with opened(tmp_path) as hand:
        await hand.press(*SCOUT, "ctrl+o")
        assert hand.problem == "this terminal cannot be given to true; write here"
        monkeypatch.delenv("EDITOR")
        await hand.press("ctrl+o")
        assert hand.problem.startswith("no $EDITOR is set")
        hand.app.access.in_browser = True
        await hand.press("ctrl+o")
        assert hand.problem == "not in a browser: $EDITOR is a program of this machine; write here"


async def test_the_terminal_comes_back_from_an_editor_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "can_suspend", True)
    monkeypatch.setattr(HeadlessDriver, "suspend_application_mode", lambda driver: given.append("given"))
    monkeypatch.setattr(HeadlessDriver, "resume_application_mode", lambda driver: given.append("back"))
    monkeypatch.delenv("VISUAL", raising=False)
    async with opened(tmp_path) as hand:
        await hand.press(*SCOUT)
        for editor, says in (("false", "ended with status 1"), (str(tmp_path / "none"), "does not run")):
            monkeypatch.setenv("EDITOR", editor)
            given.clear()
            await hand.press("ctrl+o")
            assert given == ["given", "back"]
            hand.clock[0] += 1_000
            hand.app.flush()
            assert says in hand.problem
        monkeypatch.setenv("EDITOR", "sed -i s/crew:scout/crew:other/")
        await hand.press("ctrl+o")
        assert "run: crew:other" in text(hand)
        assert "does not run" not in hand.problem


async def test_a_new_agent_begins_like_the_one_before_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("N")
        assert "run: crew:writer" in text(hand)
        await hand.press("ctrl+home", "end", *"2", "ctrl+s")
        assert isinstance(hand.ordered, AddAgent)
        assert (hand.ordered.spec and hand.ordered.spec.name, hand.ordered.supervisor) == ("newcomer2", "@s1")
