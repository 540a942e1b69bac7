"""What the panes below Engines, Audit and State tell of a row, without a terminal."""

import pytest

from dashboard.views.audit import RelatedEvents, describe_change
from dashboard.views.drawing.lines import Line, cell_width
from dashboard.views.drawing.row_pane import RowDetails
from dashboard.views.drawing.sections import Section, draw_side_by_side
from dashboard.views.engines import describe_engine, engines, next_start_seq
from dashboard.views.event_log import Entry
from dashboard.views.situation import Situation
from dashboard.views.tail import to_tail_line
from dashboard.views.words.names import Names
from engine.core.commands import Pause, Resume, Submit, Undo
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.events import CommandApplied, EngineStarted, EngineStopped
from engine.core.state import State
from store import EngineInfo
from tests.pilot.scene import NOW_MS
from tests.world import World, agent, team_world

HOUR_MS = 3_600_000


def texts(more: RowDetails | None) -> list[str]:
    assert more is not None
    return ["".join(span.text for span in line.spans).rstrip() for line in more.lines]


def led(*terms: tuple[int, bool]) -> list[Entry]:
    """Return what the journal has of engines that led for so many hours, each stopped or killed; the newest first."""
    found: list[Entry] = []
    at_ms = NOW_MS - sum(hours for hours, _ in terms) * HOUR_MS
    for token, (hours, stopped) in enumerate(terms, 1):
        begun = EngineStarted(at_ms=at_ms, pid=4000 + token, version="1.0", token=token)
        found.append(Entry(len(found) + 1, at_ms, EngineStarted.type, begun))
        at_ms += hours * HOUR_MS
        if stopped:
            ended = EngineStopped(at_ms=at_ms - 2_000, reason="ann asked for it")
            found.append(Entry(len(found) + 1, at_ms - 2_000, EngineStopped.type, ended))
    return found[::-1]


def leading(token: int) -> Situation:
    info = EngineInfo(4000 + token, True, NOW_MS - HOUR_MS, token, 200, 100, "deck")
    return Situation("team.db", info, NOW_MS, 0.0)


def test_terms_stand_on_one_axis_with_how_each_ended_and_how_long_nobody_led() -> None:
    more = describe_engine(led((9, True), (3, False), (12, False)), leading(3), State(), "4", 120, 20)
    axis = texts(more)[-3:]

    assert [line.split()[:2] for line in axis] == [["3", "4003"], ["2", "4002"], ["1", "4001"]]
    assert ["■" in line for line in axis] == [False, False, True]
    assert ["✕" in line for line in axis] == [False, True, False]
    assert axis[1].endswith("began after 2.0 s")
    bars = [line.count("━") for line in axis]
    assert bars[0] > bars[2] > bars[1] > 0
    assert axis[0].rstrip().endswith("━"), "it leads until now"


def test_an_engine_that_led_before_says_for_how_long_and_how_it_ended() -> None:
    entries = led((9, True), (3, False))
    (killed,) = (one for one in entries if isinstance(one.event, EngineStarted) and one.event.token == 2)
    first = texts(describe_engine(entries, leading(2), State(), "1", 120, 20))
    gone = texts(describe_engine(entries, Situation("team.db", None, NOW_MS, 0.0), State(), str(killed.seq), 120, 20))

    assert any("for 08:59:58" in line for line in first)
    assert any("ann asked for it; the next began after 2.0 s" in line for line in first)
    assert any("killed, or its machine failed" in line for line in gone)


def test_in_the_past_the_engine_that_led_then_leads_as_no_engine_of_now_is_known() -> None:
    entries, then = led((9, True), (3, False)), Situation("team.db", None, NOW_MS, 0.0)
    newest = str(entries[0].seq)
    now, past = (engines(entries, then, past=past).make(newest) for past in (False, True))
    pane = texts(describe_engine(entries, then, State(), newest, 120, 20, past=True))

    assert [any("✕" in cell.text for cell in row) for row in (now, past)] == [True, False]
    assert any("● leads" in cell.text for cell in past)
    assert not any("killed" in line for line in pane)
    assert any("for 03:00:00" in line for line in pane), "until the moment that is shown"


def test_the_list_of_engines_and_the_pane_below_it_say_one_time_since_when_one_leads() -> None:
    entries = led((9, True), (3, False))
    row = engines(entries, leading(2), is_loaded=True).make(str(entries[0].seq))
    pane = texts(describe_engine(entries, leading(2), State(), str(entries[0].seq), 120, 20))

    assert "01:00:00" in [cell.text for cell in row]
    assert any(f"{row[3].text}, for {row[4].text}" in line for line in pane)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_of_the_axis_is_wider_than_the_pane(width: int) -> None:
    more = describe_engine(led(*[(1, place % 2 == 0) for place in range(40)]), leading(40), State(), "1", width, 12)

    assert more is not None
    assert all(cell_width(line.spans) <= max(width, 80) for line in more.lines)
    assert len(more.lines) == 12


def changed() -> World:
    work = team_world(agent("scout", "scan"))
    work.order(Pause(target="scout"))
    return work


def undo_of(work: World, place: int = -1) -> str:
    """Return what the pane says of taking back one of the commands of a team."""
    entries = [Entry(seq, one.at_ms, one.type, one) for seq, one in enumerate(work.journal, 1)][::-1]
    commands = [one for one in entries[::-1] if isinstance(one.event, CommandApplied)]
    more = describe_change(
        commands[place], entries, RelatedEvents(), work.state, Names(), width=100, height=12, now_ms=work.now_ms
    )
    return next(line for line in texts(more) if line.startswith(" undo"))


def test_a_change_says_whether_it_can_be_taken_back() -> None:
    work = changed()
    (paused,) = work.state.undoable
    assert f":undo {paused} undoes it" in undo_of(work)
    work.order(Resume(target="scout"))
    assert "has changed since" in undo_of(work, -2)
    work.order(Pause(target="scout"))
    work.order(Undo())
    assert "undone at seq" in undo_of(work, -2)
    work.order(Submit(request="go"))
    assert "no command can undo it" in undo_of(work)


def test_a_long_command_is_told_whole_and_events_take_what_room_is_left() -> None:
    work = changed()
    work.order(Submit(request="word " * 60))
    entries = [Entry(seq, one.at_ms, one.type, one) for seq, one in enumerate(work.journal, 1)]
    sent = next(one for one in entries[::-1] if isinstance(one.event, CommandApplied))
    more = describe_change(
        sent, entries, RelatedEvents(entries * 4), work.state, Names(), width=90, height=12, now_ms=work.now_ms
    )

    assert sum(line.count("word") for line in texts(more)) >= 2 * 30
    assert len(texts(more)) == 12


def test_what_came_after_a_change_takes_the_room_that_is_left_up_to_the_moment_that_is_shown() -> None:
    work = changed()
    paused, before = Entry(len(work.journal), 0, "command_applied", work.journal[-1]), encode_state(work.state)
    work.order(Resume(target="scout"))
    later = [Entry(seq, 0, one.type, one) for seq, one in enumerate(work.journal, 1) if seq > paused.seq]

    shown, low, past, within = (
        texts(describe_change(paused, [], beside, state, Names(), width=90, height=height, now_ms=work.now_ms))
        for beside, state, height in (
            (RelatedEvents((), later), work.state, 20), (RelatedEvents((), later), work.state, 6),
            (RelatedEvents((), later), decode_state(before), 20), (RelatedEvents(later, ()), decode_state(before), 20),
        )
    )  # fmt: skip

    assert any("resumed" in line for line in shown)
    assert len(low) <= 6
    assert not any("NEXT" in line for line in past)
    assert not any("resumed" in line for line in within)


def test_panes_beside_each_other_are_as_wide_as_they_were_asked_to_be() -> None:
    one, other = Section("ONE", [Line()], "right"), Section("OTHER", [Line(), Line()])
    lines = draw_side_by_side([([one], 30), ([other, one], 40)], 6)

    assert [cell_width(line.spans) for line in lines] == [70] * 6
    drawn = ["".join(span.text for span in line.spans) for line in lines]
    assert drawn[0].startswith("─ ONE ─")
    assert drawn[0][30:].startswith("┬─ OTHER ─")
    assert [line[30] for line in drawn] == ["┬", "│", "│", "├", "│", "│"]


def test_a_high_pane_shows_what_an_engine_did_last_and_still_the_newest_terms() -> None:
    entries = led(*[(1, place % 2 == 0) for place in range(40)])
    told = [to_tail_line(one, Names()) for one in entries[:30][::-1]]

    more = describe_engine(entries, leading(40), State(), "1", 120, 50, told)

    assert more is not None
    lines = texts(more)
    assert len(lines) == 50
    assert any("WHO LED WHEN" in line for line in lines)
    below = next(place for place, line in enumerate(lines) if "WHAT IT DID LAST" in line)
    assert 50 - below > 15


def test_an_engine_before_ends_where_the_next_one_began() -> None:
    entries = led((9, True), (3, False), (1, True))
    begun = sorted(one.seq for one in entries if isinstance(one.event, EngineStarted))

    assert next_start_seq(entries, str(begun[0])) == begun[1]
    assert next_start_seq(entries, str(begun[-1])) == 0
    assert next_start_seq(entries, "standby:7") == 0
