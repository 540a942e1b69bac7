"""Routine events in a row are one line, and a hit of a search is where it can be seen."""

import json

from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.drawing.lines import Span
from dashboard.views.event_log import Entry
from dashboard.views.folded_log import FoldedLog
from dashboard.views.routine_events import is_routine
from dashboard.views.search_hits import HIT_TONE, excerpt_around, mark_hits
from dashboard.views.words.names import Names
from tests.pilot.scene import audit
from tests.pilot.talking import talking
from tests.world import World


def entries_of(work: World) -> list[Entry]:
    return [Entry(seq, event.at_ms, event.type, event) for seq, event in enumerate(work.journal, 1)]


def names_of(work: World) -> Names:
    names = Names()
    names.learn(work.journal)
    return names


@given(st.lists(st.integers(0, 40), max_size=6), st.lists(st.integers(0, 30), max_size=3), st.integers(0, 30))
def test_every_event_is_in_one_row_in_order_however_a_log_grows(
    steps: list[int], opened: list[int], from_: int
) -> None:
    work = audit()
    entries, log, seq = entries_of(work), FoldedLog(names_of(work)), from_
    for step in steps:
        seq = min(len(entries), seq + step)
        log.grow(seq, entries[from_:seq])
    log.add_older(entries[:from_] if log.oldest_seq == from_ + 1 else [])
    for place in opened:
        if log.keys:
            log.toggle(log.keys[place % len(log.keys)])

    ranges = log._rows
    assert [at for first, last in ranges for at in range(first, last)] == [*range(len(log._entries))]
    assert log.keys == [str(log._entries[first].seq) for first, _ in ranges]
    for index, (first, last) in enumerate(ranges):
        assert last - first == 1 or all(map(is_routine, log._entries[first:last]))
        assert all(log.index(str(log._entries[at].seq)) == index for at in range(first, last))
        assert log.cells(index)[2].text


def test_a_folded_line_says_who_delegated_how_much_and_opens_and_closes() -> None:
    work, _ = talking()
    entries, log = entries_of(work), FoldedLog(names_of(work))
    log.grow(len(entries), entries)
    folded = next(key for key in log.keys if log.is_folded(key) and int(key) > 10)
    place = log.index(folded)
    assert place is not None

    text = log.cells(place)[2].text
    assert text == "6 routine events: chief delegated 3 tasks; scout, seeker, writer began 3 tasks"
    rows = len(log.keys)
    assert log.toggle(folded)
    assert len(log.keys) == rows + 5
    assert not log.is_folded(folded)
    assert log.toggle(log.keys[place + 2])
    assert len(log.keys) == rows
    assert not log.toggle(log.keys[0])


@given(
    st.text(st.characters(codec="ascii", categories=["L", "P", "Zs"]), max_size=200),
    st.integers(0, 200),
    st.integers(50, 200),
)
def test_a_hit_is_marked_and_in_sight(text: str, place: int, width: int) -> None:
    said = text[:place] + "needle" + text[place:]

    for spans in (
        mark_hits(said, "", "", ["needle"], width),
        mark_hits("short " * 30, "", excerpt_around(json.dumps(said).encode(), ["needle"]), ["needle"], width),
    ):
        hit = next(at for at, span in enumerate(spans) if span == Span("needle", HIT_TONE))
        assert sum(len(span.text) for span in spans[: hit + 1]) <= width
    assert "".join(span.text for span in mark_hits(said[:40], "", "", ["needle"], 64)) == said[:40]
