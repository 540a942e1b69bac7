"""One action on several rows that are marked: listed first, sent at once, told in one line."""

from pathlib import Path

import pytest

from dashboard.frame.frame import Frame
from dashboard.views.changes.bulk import Bulk
from engine.core.commands import Cancel, Command, Pause, RemoveMember, RetryWork, SetDeadline, SetPriority, Undo
from engine.core.state import MAX_UNDOABLE
from engine.supervisor.client import CommandReply
from tests.pilot.hand import Hand, opened
from tests.pilot.trouble import trouble

pytestmark = pytest.mark.anyio


async def mark(hand: Hand, *keys: str) -> None:
    for key in keys:
        assert hand.table.select(key)
        await hand.press("space")


async def test_marked_tasks_are_cancelled_with_one_question(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("5")
        await mark(hand, "t5", "t6")
        assert hand.said == "2 marked · ctrl+d cancels, r retries, P and D set them · esc unmarks"
        await hand.press("ctrl+d")
        assert hand.dialog.title_line() == "Cancel 2 marked rows"
        assert "cancelled task t5: " in " ".join(hand.told("details").split())
        await hand.press(*"late", "enter")
        assert hand.app.orders == [Cancel(target="@t5", reason="late"), Cancel(target="@t6", reason="late")]
        assert hand.said == "2 queued; no engine has taken them yet"
        assert not hand.table.marked


async def test_one_key_marks_all_rows_that_the_filter_leaves_and_takes_the_marks_off_again(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("5", "slash", *"status:waiting", "enter", "asterisk")
        shown = [*hand.table.rows.keys]

        assert len(shown) > 1
        assert [*hand.table.marked] == shown
        assert hand.said.startswith(f"{len(shown)} marked · ctrl+d cancels, ")
        await hand.press("asterisk")
        assert not hand.table.marked


async def test_what_would_be_refused_is_told_and_left_out(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        failed = next(one.id for one in hand.work.state.tasks.values() if one.status == "failed")
        await hand.press("5")
        await mark(hand, "t5", failed)
        await hand.press("r")
        assert "would be refused: task t5 is " in " ".join(hand.told("details").split())
        assert "1 of 2 would be refused, and are left out" in hand.told("details")
        await hand.press("enter")
        assert hand.app.orders == [RetryWork(target=failed)]


async def test_marked_work_below_other_marked_work_is_told_and_sent_once(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        parent = next(one for one in hand.work.state.tasks.values() if one.kind == "agent" and one.children)
        await hand.press("5")
        await mark(hand, parent.children[0], parent.id)
        await hand.press("ctrl+d")
        assert hand.dialog.title_line() == "Cancel 2 marked rows"
        assert "1 marked task below these is reached too" in hand.told("details")
        await hand.press("enter")
        assert hand.app.orders == [Cancel(target=f"@{parent.id}")]


async def test_marked_runs_are_paused(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("7")
        await mark(hand, "r1", "r3")
        await hand.press("z", "enter")
        expected: list[Command] = [Pause(target="@r1"), Pause(target="@r3")]
        assert hand.app.orders == expected


async def test_agents_and_supervisors_of_the_network_are_paused_together(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await mark(hand, "s2", "a2")
        await hand.press("z", "enter")
        assert hand.app.orders == [Pause(target="@s2"), Pause(target="@a2")]


async def test_all_refused_keeps_the_dialog_open(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("5")
        await mark(hand, "t5")
        await hand.press("r", "enter")
        assert hand.problem == "all of them would be refused"
        assert not hand.app.orders


async def test_priority_and_deadline_are_for_all_that_are_marked(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        ended = next(one.id for one in hand.work.state.tasks.values() if one.ended)
        await hand.press("5")
        await mark(hand, "t5", "t6", ended)
        await hand.press("P")
        assert hand.dialog.title_line() == "Priority of 3 marked rows"
        await hand.press("x")
        assert "'x' is not a priority" in hand.problem
        await hand.press("backspace", "2")
        assert "1 of 3 would be refused, and are left out" in hand.told("details")
        await hand.press("enter")
        assert hand.app.orders == [SetPriority(target="t5", priority=2), SetPriority(target="t6", priority=2)]
        assert not hand.table.marked

        await mark(hand, "t5", "t6")
        await hand.press("D", "enter")
        assert hand.problem.startswith("write 90s")
        await hand.press(*"90s", "enter")
        assert hand.app.orders[2:] == [SetDeadline(target=one, deadline_s=90.0) for one in ("t5", "t6")]


async def test_the_key_that_removes_a_member_removes_all_that_are_marked(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("0")
        await mark(hand, "a2", "a3")
        await hand.press("R", "enter")
        assert [one.target for one in hand.app.orders if isinstance(one, RemoveMember)] == ["@a2", "@a3"]


@pytest.mark.parametrize(("screen", "key", "what"), [("5", "a", "reassign"), ("5", "h", "swap"), ("0", "m", "move")])
async def test_what_is_for_one_row_does_not_take_another_than_those_that_are_marked(
    tmp_path: Path, screen: str, key: str, what: str
) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press(screen)
        await mark(hand, *(("t5", "t6") if screen == "5" else ("a1", "a2")))
        await hand.press(key)
        assert isinstance(hand.app.screen, Frame)
        assert hand.said == f"{what} cannot be done to 2 marked rows at once; esc clears the marks"


async def test_what_cannot_be_done_to_any_marked_row_is_said(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("8")
        await mark(hand, next(iter(hand.work.state.escalations)))
        await hand.press("r")
        assert hand.said == "none of the marked rows can be retried"


async def test_of_more_changes_than_the_engine_remembers_the_newest_are_undone(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        commands = [Pause(target="@a2")] * (MAX_UNDOABLE + 200)
        replies = [CommandReply(command_id=f"c{seq}", status="applied", seq=seq) for seq in range(1, 1_201)]
        hand.app.commands._report_outcomes(Bulk("Pause", "paused", ()), commands, replies)
        assert hand.said == "✓ 1,200 paused at seq 1–1,200, the newest 1,000 can be undone · u undo"
        await hand.press("u", "u")
        assert hand.app.orders == [Undo(command_id=f"c{seq}") for seq in range(1_200, 200, -1)]
