"""What every dialog does: it fits its window at once, and says when nobody is there to do what it sends."""

from pathlib import Path

import pytest
from textual.widgets import Input

from dashboard.dialogs.dialog import Dialog
from dashboard.dialogs.edit import NewAgentDialog
from dashboard.dialogs.engine import LeadingDialog
from dashboard.dialogs.members import MoveDialog, ReassignDialog
from dashboard.widgets.bar import Bar
from engine.core.commands import Cancel, Command, RemoveMember
from tests.pilot.engines import until
from tests.pilot.hand import opened
from tests.pilot.trouble import trouble

pytestmark = pytest.mark.anyio


async def test_a_dialog_knows_the_size_of_its_window_before_its_first_frame(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 36)) as hand:
        root = next(iter(hand.work.state.supervisors))
        classes: list[bool] = []

        class Watched(NewAgentDialog):
            def begin(self) -> None:
                classes.append(self.has_class("-wide", "-tall"))
                super().begin()

        hand.app.push_screen(Watched(root))
        await hand.press()

        assert classes == [True]


async def test_a_move_or_a_task_given_away_that_would_be_refused_by_now_keeps_its_dialog(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        state = hand.work.state
        task = next(one for one in state.tasks.values() if one.kind == "agent" and one.attempt is not None)
        member = next(one for one in state.agents.values() if one.status == "idle")
        dialogs: list[Dialog] = [MoveDialog(member.id), ReassignDialog(task.id)]
        gone: list[Command] = [RemoveMember(target=f"@{member.id}", mode="abort"), Cancel(target=task.id)]
        for dialog, since in zip(dialogs, gone, strict=True):
            hand.app.push_screen(dialog)
            await hand.press()
            assert hand.problem == ""
            await hand.meanwhile(since)
            said = hand.problem
            assert said.startswith("would be refused: ")
            await hand.press("enter")
            assert (hand.dialog, hand.problem) == (dialog, said)
            await hand.press("escape")


async def test_a_dialog_says_that_no_engine_is_there_also_where_it_hides_the_header(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(80, 24)) as hand:
        await hand.press("j", "h")
        title = hand.dialog.query_one("#title", Bar)
        assert "no engine" not in title.text

        hand.app.feed.engine = None
        hand.app.flush()
        await hand.press()
        assert "no engine: it waits for the next one" in title.text

        await hand.press("escape", "x")
        assert "no engine" not in hand.dialog.query_one("#title", Bar).text


async def test_no_engine_is_offered_before_it_is_known_whether_one_is_at_work(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        engine, hand.app.feed.engine, hand.app.feed.has_polled = hand.app.feed.engine, None, False
        hand.app.flush()
        await hand.press("E")
        assert not hand.app.screen.is_modal
        assert hand.said == "the engine is still being looked for; press the key again in a moment"

        hand.app.feed.engine, hand.app.feed.has_polled = engine, True
        hand.app.flush()
        await hand.press("E")
        assert isinstance(hand.dialog, LeadingDialog)


async def test_an_import_without_a_path_says_where_archives_are_found(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("i", "enter")
        assert hand.problem.startswith("write the path of an archive; State (9) lists those")


LONG_NAME = "x" * 300
"""Longer than any name of a file may be."""
STRANGER = "~nobody-of-this-name/x"


@pytest.mark.parametrize("path", [LONG_NAME, STRANGER])
@pytest.mark.parametrize(("key", "said"), [("F", "not forked: "), ("x", "not exported: ")])
async def test_a_path_at_which_no_file_can_be_made_is_said_and_nothing_is_lost(
    tmp_path: Path, key: str, said: str, path: str
) -> None:
    async with opened(tmp_path) as hand:
        await hand.press(key, "ctrl+u")
        hand.dialog.query_one("#path", Input).value = path
        await hand.press("enter")
        await until(hand.pilot, lambda: hand.said.startswith(said) or not hand.app.is_running)
        assert hand.said.startswith(said)


@pytest.mark.parametrize("path", [LONG_NAME, STRANGER])
async def test_a_path_at_which_no_archive_can_be_is_said(tmp_path: Path, path: str) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("i")
        hand.dialog.query_one("#path", Input).value = path
        await hand.press("enter")
        await until(hand.pilot, lambda: not hand.app.is_running or hand.problem)
        assert path[:9] in hand.problem


async def test_a_path_at_which_no_spec_can_be_is_said(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("colon", *f"add {STRANGER}.yaml", "enter")
        assert STRANGER in hand.said
        await hand.press("colon", *f"swap scout --with {STRANGER}.yaml", "enter")
        assert hand.app.is_running


async def test_a_question_about_work_follows_the_team_while_it_is_asked(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("7", "ctrl+d")
        assert "3 of 3 tasks have not ended" in hand.told("details")
        assert "would do    cancelled run r2" in hand.told("would")
        await hand.meanwhile(Cancel(target="r2", reason="by somebody else"))
        await hand.press("enter")
        assert hand.problem == "would be refused: run r2 has ended already (cancelled); nothing to cancel"
        assert hand.told("would") == hand.told("details") == ""
        assert hand.app.orders == []


async def test_the_removal_of_an_agent_follows_the_team_while_it_is_asked(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        agent_id = next(one.id for one in hand.app.feed.state.agents.values() if one.name == "grapher")
        await hand.press(*":remove grapher", "enter")
        assert "would do    removing grapher (drain)" in hand.told("would")
        await hand.meanwhile(RemoveMember(target=f"@{agent_id}", mode="abort"))
        await hand.press("enter")
        assert hand.problem.startswith("would be refused: no agent '@a7'")
        assert hand.app.orders == []


async def test_a_supervisor_with_members_is_not_removed_in_vain(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press(*":remove chief", "enter", "enter")
        assert "remove them first" in hand.problem
        assert hand.app.orders == []


async def test_a_path_is_said_as_a_shell_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "home")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/my spec.yaml").write_text("name: other\nmodel: fake\n", encoding="utf-8")
    async with opened(tmp_path, size=(160, 40)) as hand:
        await hand.press(*":swap grapher --with '~/my spec.yaml'", "enter")
        assert "quarterdeck swap grapher --with 'home/my spec.yaml' --mode drain" in hand.told("shell")
        await hand.press("escape", *":fork ~/new.db", "enter")
        assert "quarterdeck fork home/new.db --at" in hand.told("would")


async def test_an_agent_at_work_is_stopped_or_removed_and_its_work_is_offered_first(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        busy = next(one for one in hand.work.state.agents.values() if one.running and one.removing is None)
        await hand.press("ctrl+p", *busy.name, "enter", "ctrl+d")
        assert hand.dialog.title_line() == f"Stop or remove agent {busy.name}"
        assert f"in a shell  quarterdeck cancel {busy.name}" in hand.told("would")
        await hand.press("enter")
        assert hand.app.orders == [Cancel(target=f"@{busy.id}")]
        await hand.press("ctrl+d", "down", "enter")
        assert hand.app.orders[1:] == [RemoveMember(target=f"@{busy.id}", mode="drain")]


async def test_a_supervisor_without_a_lead_says_which_of_its_agents_can_be_swapped(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("ctrl+p", *"chief", "enter", "h")
        assert hand.said.startswith("supervisor chief has no lead; name one of its agents: ")


async def test_cancel_means_the_work_of_an_agent_and_never_its_removal(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        agents = hand.work.state.agents.values()
        busy = next(one for one in agents if one.running and one.removing is None)
        idle = next(one for one in agents if one.status == "idle")
        await hand.press("colon", *f"cancel {busy.name}", "enter")
        assert hand.dialog.title_line() == f"Cancel the work of agent {busy.name}"
        await hand.press("enter")
        assert hand.app.orders == [Cancel(target=f"@{busy.id}")]
        await hand.press("colon", *f"cancel {idle.name}", "enter")
        why = f"{idle.name} is working on no task, and none waits for it alone"
        assert hand.said == f"{why}; :remove {idle.name} removes it from the team"
