"""Priorities, deadlines, other hands, moves and settings by keys: what would be done is said before it is."""

from pathlib import Path

import pytest

from dashboard.dialogs.dialog import Dialog
from dashboard.frame.frame import Frame
from dashboard.widgets.lines import Lines
from dashboard.widgets.pane import Pane
from dashboard.widgets.picks import Picks
from engine.core.commands import (
    ChangeCapabilities,
    ChangeSupervisor,
    Move,
    Pause,
    Reassign,
    Resume,
    SetDeadline,
    SetPriority,
)
from engine.core.specs.options import SupervisorOptions
from tests.pilot.hand import opened
from tests.pilot.trouble import trouble
from tests.story import submitted
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio


async def test_a_priority_says_what_it_would_change(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("7", "P", "2")
        assert "run r3 has priority 2, before 1: 0 waiting, 2 at work" in hand.told("would")
        await hand.press("enter")
        assert hand.ordered == SetPriority(target="r3", priority=2)


async def test_what_is_no_priority_stays_in_the_dialog(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("7", "P", "1", "2", "enter")
        assert hand.problem.endswith("priority must be a whole number from 0, the most urgent, to 9, not 12")
        await hand.press("backspace", "backspace", "x", "enter")
        assert hand.problem.startswith("'x' is not a priority")


async def test_a_deadline_beyond_that_of_its_run_would_be_refused_and_is_said_whole(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble(), size=(80, 24)) as hand:
        await hand.press("colon", *"deadline t5 2h", "enter")
        assert hand.problem.endswith("set an earlier deadline, or that of run r1 first")
        await hand.press("backspace", "backspace", *"90s", "enter")
        assert hand.ordered == SetDeadline(target="t5", deadline_s=90)


async def test_a_task_is_given_to_an_agent_that_is_chosen(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("colon", *"reassign t5 writer --now", "enter")
        assert "gave t5 to writer; it is stopped now" in hand.told("would")
        await hand.press("enter")
        assert hand.ordered == Reassign(task="t5", agent="@a6", now=True)


async def test_a_member_is_moved_under_a_supervisor_that_is_chosen(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        hand.table.select("s2")
        await hand.press("m")
        assert "1 agent and 0 supervisors under it go with it" in hand.told("details")
        assert "moved books under audit" in hand.told("would")
        await hand.press("enter")
        assert hand.ordered == Move(target="@s2", parent="@s3")


async def test_what_an_agent_can_do_is_changed_by_signs(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        hand.table.select("a1")
        await hand.press("c", *"+sum -file", "enter")
        assert hand.ordered == ChangeCapabilities(agent="@a1", add=["sum"], remove=["file"])


async def test_settings_are_typed_as_in_a_shell_or_as_pairs(tmp_path: Path) -> None:
    wanted = ChangeSupervisor(supervisor="@s1", max_parallel=3, options=SupervisorOptions(balance="weight"))
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("o", *"max_parallel=3 balance=weight", "enter")
        assert hand.ordered == wanted
        await hand.press("colon", *"set chief --max-parallel 3 --balance weight", "enter", "enter")
        assert hand.ordered == wanted
        await hand.press("o", *"colour=red", "enter")
        assert hand.problem.startswith("no setting 'colour'; there are max_parallel")


async def test_a_long_refusal_takes_as_many_lines_as_it_needs(tmp_path: Path) -> None:
    long = "refused: " + "this is why it cannot be done and what to do about it; " * 3 + "end"
    async with opened(tmp_path, size=(80, 24)) as hand:
        hand.app.messages.say(long, "error")
        await hand.press()
        status = hand.app.screen.query_one("#time")
        shown = "".join(segment.text for y in range(status.size.height) for segment in status.render_line(y))
        assert status.size.height == 3
        assert "end" in shown
        assert "…" not in shown


async def test_who_is_kept_from_work_is_let_go_on_by_the_key_that_pauses(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        for name in ("a2", "a3", "s7"):
            hand.table.select(name)
            await hand.press("z")
            assert hand.ordered == Resume(target=f"@{name}")
        hand.table.select("a1")
        await hand.press("z")
        assert hand.ordered == Pause(target="@a1")


async def test_a_key_is_for_the_row_under_the_cursor_also_where_another_agent_is_called_by_its_id(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, work=team_world(*(agent(f"a{number}") for number in range(6)))) as hand:
        hand.table.select("a3")
        await hand.press("z")
        assert hand.ordered == Pause(target="@a3")

        await hand.press("colon", *"pause a3", "enter")
        assert hand.said == "'a3' is not unique; say one of @a3 (chief/a2), chief/a3 (@a4)"
        await hand.press("colon", *"pause chief/a3", "enter")
        assert hand.ordered == Pause(target="@a4")


@pytest.mark.parametrize("keys", [("5",), ("0", "enter")])
async def test_what_could_not_be_read_is_read_again(tmp_path: Path, keys: tuple[str, ...]) -> None:
    async with opened(tmp_path) as hand:
        db, away = tmp_path / "team.db", tmp_path / "away.db"
        db.rename(away)
        await hand.press(*keys)
        assert "team.db" in hand.said
        away.rename(db)
        hand.clock[0] += 60_000
        hand.app.flush()
        await hand.press()
        assert hand.app.screen.reading.entries  # type: ignore[attr-defined]


async def test_who_only_looks_is_told_no_key_that_would_change_the_team(tmp_path: Path) -> None:
    async with opened(tmp_path, work=team_world(agent("ada")), readonly=True) as hand:
        pane = hand.app.screen.query_one("#pane", Picks)
        assert "SETTINGS" in pane.text
        assert "o changes" not in pane.text
        for key in ("5", "7"):
            await hand.press(key)
            empty = [text for y in range(4) if (text := hand.line(y).strip())]
            assert len(empty) == 1, empty


async def test_help_and_last_line_of_who_only_looks_leave_out_what_would_be_refused(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble(), readonly=True) as hand:
        await hand.press("8")
        frame = hand.app.screen
        assert isinstance(frame, Frame)
        named = frame.keys()
        assert [does for _, does in named if does in ("answer", "swap", "cancel", "retry")] == []
        assert "enter answers" not in frame.query_one("#below", Lines).text
        await hand.press("question_mark")
        told = "\n".join(pane.text for pane in hand.app.screen.query(Pane))
        assert "go back" in told
        assert [
            text for text in ("swap an agent", ": strategy", ": answer", "answer the question") if text in told
        ] == []


async def test_nothing_is_asked_for_that_reaches_no_work(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        idle = next(one for one in hand.work.state.agents.values() if not (one.running or one.parked))
        for key, reason in (
            ("s1", "is a supervisor; name one of its runs"),
            (idle.id, f"{idle.name} is working on no"),
        ):
            hand.table.select(key)
            for keys in (("s",), ("colon", *"abort", "enter")):
                await hand.press(*keys)
                assert reason in hand.app.says[-1]
                assert not isinstance(hand.app.screen, Dialog)


async def test_the_key_that_pauses_says_on_a_task_how_what_holds_it_goes_on(tmp_path: Path) -> None:
    work = team_world(agent("ada"), agent("bob"))
    work.order(Pause(target="ada"))
    submitted(work)
    async with opened(tmp_path, work=work) as hand:
        await hand.press("5")
        held = next(one for one in work.state.tasks.values() if one.title == "ada")
        hand.table.select(held.id)
        await hand.press("z")
        assert hand.app.says[-1] == "ada is paused; :resume ada lets task ada go on"
