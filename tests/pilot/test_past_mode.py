"""Every screen at a moment of the past: what is shown, what cannot be done, how one comes back."""

import queue
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.actions import ACTIONS
from dashboard.app.app import QuarterdeckApp
from dashboard.deck.playback import STEP_MS, Playback
from dashboard.deck.time_travel import MINUTE_MS
from dashboard.dialogs.fork import ForkDialog
from dashboard.frame.frame import Frame
from dashboard.screens.audit import AuditScreen
from dashboard.views.past import ALREADY_LIVE, PAST_REFUSAL
from dashboard.views.words.keyed import fill_keys
from dashboard.widgets.picks import Picks
from dashboard.widgets.scrubber import Scrubber
from dashboard.widgets.table import FRESH_MS
from engine.core.commands import SwitchStrategy
from engine.core.fold import fold
from engine.core.signals import EngineBegan, EngineEnds
from engine.core.state import State
from engine.reading.folding import fold_file
from store import Reader
from tests.patience import PATIENCE_S
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened
from tests.pilot.scene import audit, written
from tests.story import applied, done, submitted
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio
AT = 60
"""Somewhere in the middle of the scene."""
BEGUN = 15
"""The events that make the team; long before all others."""


def arrived(app: QuarterdeckApp, seq: int) -> Callable[[], bool]:
    return lambda: app.past.is_shown and app.view.past is not None and app.view.state.seq == seq


async def went_back(hand: Hand, seq: int = AT) -> None:
    hand.app.past.goto_seq(seq)
    await until(hand.pilot, arrived(hand.app, seq))


async def test_a_moment_of_the_past_is_the_state_after_its_event_and_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        then = State()
        fold(then, hand.work.journal[:AT])
        await went_back(hand)

        view = hand.app.view
        assert {task.id: task.status for task in view.state.tasks.values()} == {
            task.id: task.status for task in then.tasks.values()
        }
        assert view.now_ms == then.at_ms
        assert not view.live
        assert view.situation.engine is None
        assert view.banner is None
        assert view.recent[-1].seq == AT
        assert hand.app.screen.has_class("-past")
        text = hand.app.screen.query_one(Scrubber).text
        assert "PAST" in text
        assert f"seq {AT}, live +{hand.work.state.seq - AT:,}" in text


async def test_b_goes_back_to_the_event_under_the_cursor_from_a_list_and_from_its_page(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("6")
        await until(hand.pilot, lambda: hand.table.selected == str(hand.work.state.seq))
        await hand.press("k", "b")
        await until(hand.pilot, arrived(hand.app, hand.work.state.seq - 1))
        await hand.press("L", "1", "b")
        assert "choose an event" in hand.said
        hand.app.open("event", str(AT))
        await hand.press("b")
        await until(hand.pilot, arrived(hand.app, AT))


async def test_keys_go_by_marks_events_and_minutes_and_back_to_live(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        last = hand.work.state.seq
        await hand.press("right_square_bracket")
        assert hand.said == fill_keys(ALREADY_LIVE)
        await hand.press("left_square_bracket")
        await until(hand.pilot, lambda: hand.app.past.is_shown)
        mark = hand.app.view.state.seq
        assert mark < last
        await hand.press("comma")
        await until(hand.pilot, arrived(hand.app, mark - 1))
        await hand.press("full_stop", "full_stop")
        await until(hand.pilot, arrived(hand.app, mark + 1))
        before_ms = hand.app.view.now_ms
        await hand.press("left_curly_bracket")
        await until(hand.pilot, lambda: hand.app.view.now_ms == before_ms - 60_000)
        await hand.press("L")
        assert not hand.app.past.is_shown
        assert hand.app.view.state.seq == last


async def test_where_no_mark_is_left_that_is_said(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await went_back(hand, 1)
        await hand.press("left_square_bracket")
        await until(hand.pilot, lambda: hand.said.startswith("no mark before this moment"))
        assert hand.app.view.state.seq == 1


async def test_nothing_can_be_changed_in_the_past_and_it_says_what_to_do(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await went_back(hand)
        changing = [action for action in ACTIONS if action.writes]
        assert changing
        for action in changing:
            hand.app.messages.current = None
            assert isinstance(hand.app.screen, Frame)
            hand.app.screen.action_act(action.name)
            await hand.pilot.pause()
            assert isinstance(hand.app.screen, Frame), action.name
            assert hand.said == fill_keys(PAST_REFUSAL), action.name
        await hand.press("E")
        assert isinstance(hand.app.screen, Frame)
        await hand.press("x")
        assert isinstance(hand.app.screen, Frame)
        assert not hand.app.orders


async def test_of_marks_in_the_past_it_says_nothing_that_could_be_done_with_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await went_back(hand)
        await hand.press("j", "space")
        assert hand.said == "1 marked · esc unmarks"


async def test_the_log_ends_at_the_moment_also_what_a_filter_finds(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("6")
        await hand.press("slash", *"scout", "enter")
        await until(hand.pilot, lambda: len(hand.table.rows.keys) > 0)
        await went_back(hand)
        await until(hand.pilot, lambda: len(hand.table.rows.keys) > 0 and int(hand.table.rows.keys[-1]) <= AT)
        await hand.press("escape")
        await until(hand.pilot, lambda: list(hand.table.rows.keys)[-1:] == [str(AT)])


async def test_a_page_that_is_open_tells_only_what_had_happened_by_then(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("5", "down", "enter")
        page = hand.app.screen
        await until(hand.pilot, lambda: bool(page.reading.events))  # type: ignore[attr-defined]
        await went_back(hand, 40)
        await hand.press()
        assert all(event.at_ms <= hand.app.view.now_ms for event in page.reading.events)  # type: ignore[attr-defined]


async def test_a_click_on_the_bar_goes_there_and_dragging_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await until(hand.pilot, lambda: bool(hand.app.history.spans))
        await hand.pilot.mouse_down(Scrubber, offset=(12, 1))  # on the folded time
        await until(hand.pilot, arrived(hand.app, BEGUN))
        await hand.pilot.hover(Scrubber, offset=(119, 1))
        await until(hand.pilot, arrived(hand.app, hand.work.state.seq))
        await hand.pilot.mouse_up(Scrubber, offset=(119, 1))
        await hand.pilot.hover(Scrubber, offset=(7, 1))
        await hand.press()
        assert hand.app.view.state.seq == hand.work.state.seq


async def test_the_rate_of_the_past_is_that_of_its_moment(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await went_back(hand)
        at_ms = hand.app.view.now_ms
        then = [event for event in hand.work.journal[:AT] if event.at_ms > at_ms - 5_000]
        assert hand.app.view.situation.events_per_s == len(then) / 5 > 0


async def test_it_stands_still_until_it_plays_and_ends_live(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await went_back(hand)
        hand.clock[0] += 3_000
        await hand.press()
        assert hand.app.view.state.seq == AT
        await hand.press("right_parenthesis", "right_parenthesis", "p")
        assert hand.app.view.past is not None
        assert hand.app.view.past.speed == 4

        def plays() -> bool:
            hand.clock[0] += 500
            return not hand.app.past.is_shown

        await until(hand.pilot, plays)
        assert hand.app.view.state.seq == hand.work.state.seq
        assert hand.said == "played up to the newest event; live again"


async def test_while_it_plays_time_goes_on_between_events_and_stands_still_when_stopped(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await went_back(hand)
        begun_ms = hand.app.view.now_ms
        await hand.press("p")

        def plays() -> bool:
            hand.clock[0] += 50
            return hand.app.view.now_ms > begun_ms

        await until(hand.pilot, plays)
        await hand.press("p")
        stopped_ms = hand.app.view.now_ms
        hand.clock[0] += 5_000
        await hand.press()
        assert hand.app.view.past is not None
        assert hand.app.view.now_ms == stopped_ms


async def test_it_plays_on_after_the_clock_of_the_computer_was_set_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await went_back(hand)
        last_ms = [hand.app.view.now_ms]

        def plays() -> bool:
            hand.clock[0] += 50
            return hand.app.view.now_ms > last_ms[0]

        await hand.press("p")
        await until(hand.pilot, plays)
        hand.clock[0] -= 3_600_000
        last_ms[0] = hand.app.view.now_ms
        await hand.press()
        assert hand.app.view.now_ms >= last_ms[0]
        await until(hand.pilot, plays)


async def test_queues_are_looked_at_also_while_a_past_moment_is_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        queued = hand.app.feed.activity.queued
        await hand.press("left_square_bracket")
        seen = len(queued)
        for _ in range(5):
            hand.clock[0] += 2_000
            hand.app.flush()
        assert hand.app.past.is_shown
        assert len(queued) == seen + 5
        assert queued[-1] == (hand.clock[0], sum(queue.ready for queue in hand.work.state.queues.values()))


async def test_freeze_stands_still_at_the_newest_event_and_lets_go_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("t")
        await until(hand.pilot, arrived(hand.app, hand.work.state.seq))
        await hand.press("t")
        assert not hand.app.past.is_shown


@pytest.mark.parametrize(("said", "seq"), [("60", AT), ("1,000,000", None), ("2000-01-01", BEGUN)])
async def test_the_line_goes_to_a_seq_or_a_time_within_the_journal(tmp_path: Path, said: str, seq: int | None) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("colon", *f"at {said}", "enter")
        await until(hand.pilot, arrived(hand.app, seq or hand.work.state.seq))


async def test_a_time_that_is_still_to_come_is_the_newest_moment(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("colon", *"at 2100-01-01", "enter")
        await until(hand.pilot, arrived(hand.app, hand.work.state.seq))
        assert hand.app.view.now_ms == hand.clock[0]

        for key, minutes in (("left_curly_bracket", 1), ("left_curly_bracket", 2), ("right_curly_bracket", 1)):
            await hand.press(key)
            await until(hand.pilot, lambda at=hand.clock[0] - minutes * MINUTE_MS: hand.app.view.now_ms == at)  # type: ignore[misc]
        await hand.press(*["right_curly_bracket"] * 3)
        await until(hand.pilot, lambda: hand.app.view.now_ms == hand.clock[0])


async def test_what_is_neither_a_time_nor_a_seq_is_said(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("colon", *"at noon", "enter")
        assert hand.said.startswith("'noon' is neither a time nor a seq")
        assert not hand.app.past.is_shown


async def test_fork_makes_a_paused_team_of_that_moment_in_a_new_file(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await went_back(hand)
        await hand.press("F")
        assert isinstance(hand.app.screen, ForkDialog)
        assert "1 open run" in hand.told("details")
        target = tmp_path / f"team.at-{AT}.db"
        assert f"--at {AT}" in hand.told("would").replace("\n", " ")
        await hand.press("enter")
        await until(hand.pilot, lambda: hand.said.startswith("✓ forked"))
        assert f"at seq {AT:,}" in hand.said  # the one that the dialog named
        assert f"9, then enter on {target.name} opens it" in hand.said
        made = fold_file(target)
        assert all(run.paused for run in made.runs.values())
        assert set(made.agents) == set(hand.app.view.state.agents)
        with Reader(tmp_path / "team.db") as reader:
            assert reader.last_seq() == hand.work.state.seq


async def test_fork_does_not_write_over_a_file(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        (tmp_path / f"team.at-{AT}.db").write_text("mine")
        await went_back(hand)
        await hand.press("F", "enter")
        assert isinstance(hand.app.screen, ForkDialog)
        assert "already" in hand.problem
        assert (tmp_path / f"team.at-{AT}.db").read_text() == "mine"


async def test_an_empty_table_says_that_it_was_so_and_how_to_leave_the_moment(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("7")
        await went_back(hand, BEGUN)
        text = "".join(hand.line(y) for y in range(hand.table.size.height))

        assert "this team has had no request yet" in text
        assert "so it was at" in text
        assert "L back to live" in text
        assert "gives it one" not in text


async def test_the_time_bar_goes_on_after_the_file_could_not_be_read_for_a_moment(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await until(hand.pilot, lambda: bool(hand.app.history.spans))
        away = hand.app.path.rename(tmp_path / "away.db")
        hand.app.feed.file_seq += 1
        hand.app.history.spans = ()
        hand.app.flush()
        await hand.press()
        assert not hand.app.history.spans
        away.rename(hand.app.path)
        hand.app.flush()
        await until(hand.pilot, lambda: bool(hand.app.history.spans))


async def test_a_message_goes_although_the_clock_of_the_computer_is_set_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        hand.app.messages.say("something")
        hand.clock[0] -= 3_600_000
        hand.app.flush()
        assert hand.said == ""
        assert hand.app.view.is_due(hand.clock[0] + 3_600_000)
        assert not hand.app.view.is_due(hand.clock[0] + 500)


async def test_a_read_that_ends_after_another_moment_was_shown_leaves_no_gap_in_the_audit(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        seqs = [seq for seq, event in enumerate(hand.work.journal, 1) if event.type in AuditScreen.KINDS]
        await went_back(hand, seqs[3])
        await hand.press(*":audit", "enter")
        screen = hand.app.screen
        assert isinstance(screen, AuditScreen)
        await until(hand.pilot, lambda: len(screen.reading.entries) == 4)

        answers, read = [], hand.app.background.read
        hand.app.background.read = lambda work, then, **_: answers.append((work, then))  # type: ignore[method-assign]
        hand.clock[0] += 10_000
        await hand.press("L")
        await until(hand.pilot, lambda: bool(answers))
        await went_back(hand, seqs[0])
        await hand.press("L")
        hand.app.background.read = read  # type: ignore[method-assign]
        with Reader(hand.app.path) as reader:
            for work, then in answers:
                then(work(reader))

        await until(hand.pilot, lambda: [one.seq for one in screen.reading.entries] == seqs[::-1])


async def test_a_list_of_the_journal_shows_nothing_of_later_after_it_could_not_be_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        seqs = [seq for seq, event in enumerate(hand.work.journal, 1) if event.type in AuditScreen.KINDS]
        await hand.press(*":audit", "enter")
        screen = hand.app.screen
        assert isinstance(screen, AuditScreen)
        await until(hand.pilot, lambda: len(screen.reading.entries) == len(seqs))

        screen.reading._handle_read_failure()
        await went_back(hand, seqs[1])
        await until(hand.pilot, lambda: [one.seq for one in screen.reading.entries] == seqs[1::-1])


@pytest.mark.parametrize("from_before", [False, True])
async def test_the_page_of_a_supervisor_tells_of_its_switches_up_to_the_moment(
    tmp_path: Path, from_before: bool
) -> None:
    work = team_world(agent("scout", "scan"), agent("writer", "write"))
    before = work.state.seq
    applied(work, SwitchStrategy(supervisor="chief", mode="parallel"))
    async with opened(tmp_path, work=work) as hand:
        hand.app.feed.activity.switched_ms.clear()  # as in a long journal, whose newest events alone the feed knows
        if from_before:
            await went_back(hand, before)
        hand.app.open("supervisor", work.state.roots[0].id)
        await hand.press()

        def is_told() -> bool:
            return "never switched" not in hand.app.screen.query_one("#side", Picks).text

        assert is_told() is not from_before
        if from_before:
            hand.app.past.live()
        else:
            await went_back(hand, before)
        hand.clock[0] += 1_000
        hand.app.flush()
        await hand.press()
        assert is_told() is from_before


async def test_what_another_moment_changed_on_the_page_of_a_supervisor_is_bright_for_a_while(tmp_path: Path) -> None:
    work = team_world(agent("scout", "scan"), agent("writer", "write"))
    submitted(work)
    before = work.state.seq
    done(work, "scout")
    async with opened(tmp_path, work=work) as hand:
        hand.app.animation_level = "full"
        hand.app.open("supervisor", work.state.roots[0].id)
        await hand.press()
        await went_back(hand, before)
        hand.clock[0] += 1_000
        hand.app.flush()
        await until(hand.pilot, lambda: bool(hand.table._visible.fresh))

        hand.clock[0] += FRESH_MS
        hand.app.flush()
        await hand.press()
        assert not hand.table._visible.fresh


def test_the_time_that_it_plays_at_never_goes_back_before_the_next_event(tmp_path: Path) -> None:
    news = threading.Event()
    playback = Playback(written(tmp_path / "team.db", audit()), on_ready=news.set)
    wall_ms = 1_000_000

    def at_ms(wall_ms: int) -> tuple[int, int]:
        """Return the time and the event that are shown at a time of this computer, once all that was asked for came."""
        playback.advance(wall_ms, 1_000)
        shown = playback.moment(1_000, 0)
        while playback.busy:
            news.wait(0.01)
            playback.advance(wall_ms, 1_000)
        assert shown is not None
        return shown.at_ms, shown.seq

    playback.to_seq(AT)
    while playback.past is None:
        playback.advance(wall_ms, 1_000)
    playback.toggle()
    before = [at_ms(wall_ms + passed) for passed in (0, 300, 600)][-1]
    after = at_ms(wall_ms - 3_600_000)
    playback.leave()

    assert before[1] == after[1] == AT
    assert after[0] >= before[0]


def test_while_it_plays_the_next_moment_is_asked_for_only_once_some_time_has_passed(tmp_path: Path) -> None:
    answers: queue.SimpleQueue[None] = queue.SimpleQueue()
    playback = Playback(written(tmp_path / "team.db", audit()), on_ready=lambda: answers.put(None))
    wall_ms = 1_000_000
    playback.to_seq(AT)
    answers.get(timeout=PATIENCE_S)
    playback.advance(wall_ms, 1_000)
    playback.toggle()
    playback.advance(wall_ms, 1_000)
    answers.get(timeout=PATIENCE_S)

    for passed_ms in range(STEP_MS):
        playback.advance(wall_ms + passed_ms, 1_000)
        assert not playback.busy
    playback.advance(wall_ms + STEP_MS, 1_000)
    answers.get(timeout=PATIENCE_S)
    playback.leave()


def test_a_minute_back_is_counted_from_now_and_not_from_the_last_event(tmp_path: Path) -> None:
    work = audit()
    playback = Playback(written(tmp_path / "team.db", work), on_ready=lambda: None)
    now_ms = work.state.at_ms + 600_000
    playback.begin(work.state, now_ms)
    playback.by_time(-60_000, now_ms)
    while playback.past is None or playback.busy:
        playback.advance(now_ms, work.state.seq)
    shown = playback.moment(work.state.seq, now_ms)
    playback.leave()

    assert shown is not None
    assert (shown.at_ms, shown.seq) == (now_ms - 60_000, work.state.seq)


def states(hand: Hand) -> str:
    return " ".join(cell.text for place in range(len(hand.table.rows.keys)) for cell in hand.table.rows.cells(place))


async def test_between_two_engines_nothing_is_at_work_in_the_past_either(tmp_path: Path) -> None:
    work = audit()
    at_work = work.state.seq
    work.say(EngineEnds(reason="asked to"))
    stopped = work.state.seq
    work.say(EngineBegan(pid=2, token=2, version="test"))
    async with opened(tmp_path, work=work) as hand:
        await went_back(hand, at_work)
        assert "● working" in states(hand)
        await went_back(hand, stopped)
        assert "● working" not in states(hand)
