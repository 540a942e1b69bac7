"""How rows are fitted, counted, timed and found."""

import dataclasses
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dashboard.views.changes.switching import TaskNode, graph_cells
from dashboard.views.drawing.lines import Line, Span, cut_name, mark_cursor
from dashboard.views.drawing.rows import GAP, MIN_GROWING_WIDTH, AnyColumn, Column, fit_columns
from dashboard.views.event_log import BLOCK, Entry, FilteredLog, Search, WholeLog
from dashboard.views.words.amounts import (
    count,
    countdown,
    describe_usage,
    duration,
    percent,
    pluralize,
    remaining,
    size,
    stopwatch,
)
from dashboard.views.words.filters import parse_filter
from dashboard.views.words.names import MAX_CHARACTERS, MAX_TITLES, JournalTexts, Names, pretty
from engine.core.commands import Submit
from engine.core.events import AgentAdded, EngineStopped, GroupPlanned, RunFinished, SpecUnregistered
from engine.core.events import RunSubmitted as Submitted
from engine.core.queries.team.figures import median
from engine.core.records.values import TextRef, Usage
from store import Record
from tests.world import agent, team_world

columns = st.lists(
    st.builds(Column, st.just("X"), st.integers(1, 40), grow=st.integers(0, 3), drop=st.integers(0, 5)),
    min_size=1,
    max_size=9,
)


def test_a_countdown_that_has_no_room_is_written_shorter_and_never_cut() -> None:
    assert countdown(119 * 60_000) == "119 min"
    assert countdown(119 * 60_000, max_width=6) == "119m"
    assert countdown(5 * 3_600_000, max_width=6) == "5 h"


@given(columns, st.integers(1, 240))
def test_columns_fit_wherever_those_that_may_never_fall_away_do(given_columns: list[AnyColumn], width: int) -> None:
    shown = fit_columns(given_columns, width)

    used = sum(room for _, room in shown) + GAP * (len(shown) - 1)
    firm = [column for column in given_columns if column.drop == 0] or [
        min(given_columns, key=lambda column: column.drop)
    ]
    least = sum(min(column.width, MIN_GROWING_WIDTH) if column.grow else column.width for column in firm)
    assert used <= max(width, least + GAP * (len(firm) - 1))
    assert [index for index, _ in shown] == sorted(index for index, _ in shown)
    given_way = [index for index, room in shown if room < given_columns[index].width]
    assert all(given_columns[index].grow for index in given_way)
    assert not given_way or {index for index, _ in shown} <= {
        place for place, column in enumerate(given_columns) if column in firm
    }


def test_what_a_column_cannot_take_goes_to_the_others() -> None:
    columns: list[AnyColumn] = [Column("A", 10, grow=1, max_width=20), Column("B", 5), Column("C", 10, grow=1)]

    assert fit_columns(columns, 100) == [(0, 20), (1, 5), (2, 100 - 20 - 5 - 2 * GAP)]


@given(columns, st.integers(1, 200), st.integers(1, 200))
def test_a_wider_table_shows_at_least_the_columns_of_a_narrower_one(
    given_columns: list[AnyColumn], width: int, more: int
) -> None:
    narrow = {index for index, _ in fit_columns(given_columns, width)}

    assert narrow <= {index for index, _ in fit_columns(given_columns, width + more)}


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (None, "–"),
        (0, "0 ms"),
        (41, "41 ms"),
        (999.4, "999 ms"),
        (1_900, "1.9 s"),
        (59_949, "59.9 s"),
        (59_951, "1 min 00 s"),
        (204_000, "3 min 24 s"),
        (7_500_000, "2 h 05 min"),
        (273_600_000, "3 d 4 h"),
    ],
)
def test_a_time_is_said_in_two_units_at_most(ms: float | None, said: str) -> None:
    assert duration(ms) == said


@given(st.integers(0, 999 * 86_400_000), st.integers(8, 14))
def test_a_length_of_time_is_never_longer_than_its_room_and_never_cut(ms: int, most: int) -> None:
    said, whole = duration(ms, max_width=most), duration(ms)

    assert len(said) <= most
    assert said == whole if len(whole) <= most else [*filter(str.isdigit, said)] == [*filter(str.isdigit, whole)]


def test_amounts_read_as_a_person_writes_them() -> None:
    usage = Usage(tokens_in=1_200, tokens_out=80, tokens_cached=400, cost_usd=Decimal("0.0042"))
    assert [
        describe_usage(usage),
        describe_usage(Usage(tokens_out=3)),
        describe_usage(Usage(time_ms=9)),
        describe_usage(None),
    ] == [
        "1,200 tokens in (400 cached), 80 out, $0.0042",
        "3 out",
        "",
        "",
    ]
    assert [count(18_204), count(None), pluralize(1, "task"), pluralize(12, "task")] == [
        "18,204",
        "–",
        "1 task",
        "12 tasks",
    ]
    assert [percent(None), percent(0.756)] == ["–", "76%"]
    assert [percent(share) for share in (5_819 / 5_840, 1.0, 1.234)] == ["99%", "100%", "123%"]
    assert [stopwatch(767_000), stopwatch(90_000_000)] == ["00:12:47", "1 d 01:00:00"]
    assert [remaining(2_400), remaining(-5), remaining(61_000)] == ["3 s", "0 s", "1 min 01 s"]
    assert [size(820), size(14_200), size(3_800_000)] == ["820 B", "14 kB", "3.8 MB"]
    assert [median([]), median([3, 1, 2]), median([4, 1])] == [None, 2, 2.5]


@given(st.integers(1, 3_000), st.integers(0, 2_999), st.integers(1, 40))
def test_the_log_shows_the_event_of_a_seq_or_asks_for_it(last_seq: int, index: int, recent: int) -> None:
    entries = [
        Entry(seq, seq, "engine_stopped", EngineStopped(at_ms=seq, reason=f"number {seq}"))
        for seq in range(1, last_seq + 1)
    ]
    log = WholeLog(Names())
    log.grow(last_seq, entries[-recent:])
    index %= last_seq

    if log.entry(index + 1) is None:
        (block,) = log.missing_blocks
        log.put(block, [entry for entry in entries if entry.seq // BLOCK == block])

    assert log.cells(index)[2].text == f"the engine stopped: number {index + 1}"
    assert log.index(log.keys[index]) == index


def test_names_are_remembered_up_to_a_bound() -> None:
    names = Names()
    names.learn(
        Submitted(at_ms=0, run_id=f"r{place}", supervisor_id="s1", root_id=f"t{place}", request="do it")
        for place in range(MAX_TITLES)
    )

    assert names.of(f"r{MAX_TITLES - 1}") == "do it"
    assert names.of("r0") == "r0"
    assert names.of(None) == "engine"
    names.learn([SpecUnregistered(at_ms=0, name="x")])


def test_members_keep_their_names_however_much_work_there_is() -> None:
    names = Names()
    names.learn([AgentAdded(agent_id="a1", name="scout", supervisor_id="s1", spec=agent("scout"))])
    names.learn(
        Submitted(at_ms=0, run_id=f"r{place}", supervisor_id="s1", root_id=f"t{place}", request="do it")
        for place in range(MAX_TITLES)
    )

    assert names.of("a1") == "scout"
    assert names.ids_of("sco") == ["a1"]


def test_all_open_work_has_its_title_however_much_there_is() -> None:
    world = team_world(agent("ada", "parse"))
    world.order(Submit(request="first"))
    first = next(iter(world.state.tasks))
    task: Any = world.state.tasks[first]
    more = {f"x{at}": replace(task, id=f"x{at}", title=f"item {at}") for at in range(MAX_TITLES)}
    world.state.tasks.update(more)
    names = Names()
    names.learn_state(world.state)
    names.learn(world.journal * 2)

    assert [names.of(f"x{at}") for at in (0, MAX_TITLES - 1)] == ["item 0", f"item {MAX_TITLES - 1}"]
    assert names.ids_of("item 77") == [one for one in more if one.startswith("x77")]
    assert names.unknown([record_of("r1", "x0")]) == []


def test_what_the_last_event_names_is_known_whole_however_much_that_is() -> None:
    names = Names()
    titles = {f"t{at}": f"item {at}" for at in range(2 * MAX_TITLES)}
    world = team_world(agent("ada", "parse"))
    world.order(Submit(request="first"))
    world.settle()
    end: Any = next(event for event in world.journal if isinstance(event, RunFinished))
    names.learn([replace(end, titles=titles)])

    assert names.of("t0") == "item 0"


graphs = st.lists(st.tuples(st.text("abcdef/.", min_size=1, max_size=30), st.sets(st.integers(0, 11))), max_size=12)


@given(graphs, st.integers(40, 120))
def test_a_graph_is_drawn_within_its_width_even_where_it_has_a_circle(
    given_nodes: list[tuple[str, set[int]]], width: int
) -> None:
    nodes = [
        TaskNode(str(place), "○", title, tuple(map(str, after))) for place, (title, after) in enumerate(given_nodes)
    ]

    lines = graph_cells(nodes, width)

    assert bool(lines) == bool(nodes)
    assert all(len(line.text) <= width for line in lines)


def test_a_chain_is_one_line_and_a_fan_has_its_brackets() -> None:
    chain = [TaskNode("a", "✓", "parse", ()), TaskNode("b", "●", "count", ("a",)), TaskNode("c", "◌", "join", ("b",))]
    fan = [
        TaskNode("a", "✓", "parse", ()),
        *(TaskNode(n, "●", n, ("a",)) for n in "bcd"),
        TaskNode("e", "◌", "join", ("b", "c", "d")),
    ]

    assert [line.text for line in graph_cells(chain, 60)] == ["✓ parse ──▶ ● count ──▶ ◌ join"]
    assert [line.text for line in graph_cells(fan, 60)] == [
        "✓ parse ─┬▶ ● b ─┬▶ ◌ join",
        "         ├▶ ● c ─┤",
        "         └▶ ● d ─┘",
    ]


def test_tasks_of_a_run_that_has_ended_are_named_by_the_event_of_its_end() -> None:
    world = team_world(agent("ada", "parse"), agent("bob", "write"))
    world.order(Submit(request="read the tides"))
    world.settle()
    names = Names()
    names.learn([event for event in world.journal if isinstance(event, RunFinished)])
    steps = [event for event in world.journal if isinstance(event, GroupPlanned)]

    assert not world.state.tasks
    assert [names.of(node.task_id) for node in steps[0].nodes] == [node.title for node in steps[0].nodes]
    assert names.of("r1") == "read the tides"
    assert names.unknown([record_of("r1", "t1"), record_of("r2", "t99")]) == ["r2"]


def record_of(run_id: str, task_id: str) -> Record:
    return Record(1, 1, "task_skipped", b"{}", run_id, task_id, None)


def test_the_sign_of_the_cursor_stands_behind_the_edge_of_a_pane_and_changes_no_width() -> None:
    bare, edged = Line((Span(" "), Span("scout"))), Line((Span("│", "line"), Span(" scout")))

    assert "".join(span.text for span in mark_cursor(bare).spans) == "▌scout"
    assert "".join(span.text for span in mark_cursor(edged).spans) == "│▌scout"
    assert mark_cursor(Line((Span("scout"),))) == Line((Span("scout"),))


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        ("team-07", 7, "team-07"), ("team-07", 6, "te…-07"),
        ("duplicate-finder", 8, "duplica…"), ("scout-123", 4, "sco…"),
    ],
)  # fmt: skip
def test_a_name_keeps_the_number_that_tells_it_from_its_siblings(name: str, width: int, shown: str) -> None:
    assert cut_name(name, width) == shown


def test_texts_that_are_no_longer_shown_are_forgotten_where_much_is_kept() -> None:
    texts = JournalTexts()

    def shown(*seqs: int) -> list[str]:
        texts.begin_redraw()
        return [texts.of(TextRef(seq=seq, path="said")) for seq in seqs]

    for seq in range(1, 10):
        assert shown(seq) == ["…"]
        for ref in texts.missing:
            texts.add(ref, json.dumps({"said": "x" * (MAX_CHARACTERS // 4)}).encode())
        assert shown(seq) != ["…"]

    assert shown(9) != ["…"]
    assert shown(1, 9)[0] == "…"
    assert shown(9) != ["…"]


def test_columns_that_grow_take_all_of_the_room_but_not_more_than_they_may() -> None:
    columns: list[AnyColumn] = [
        Column("A", 5, grow=1),
        Column("B", 5, grow=2),
        Column("C", 5, grow=4, max_width=9),
        Column("D", 3),
    ]

    assert fit_columns(columns, 40, 2) == [(0, 9), (1, 13), (2, 9), (3, 3)]
    assert fit_columns(columns, 41, 2) == [(0, 9), (1, 14), (2, 9), (3, 3)]


@pytest.mark.parametrize("body", [b'{"reason": ', b"[" * 100_000])
def test_what_is_no_json_or_nested_too_deeply_is_shown_as_it_stands(body: bytes) -> None:
    texts, ref = JournalTexts(), TextRef(seq=1, path="reason")
    texts.add(ref, body)

    assert pretty(body) == body.decode()
    assert texts.of(ref) == "(not where the state says)"


def test_the_keys_of_what_a_filter_found_are_those_of_its_rows_and_not_made_at_each_look() -> None:
    found = [Entry(seq, seq, "engine_stopped", EngineStopped(at_ms=seq, reason="")) for seq in range(1, 9)]
    log = FilteredLog(Names(), "stopped", parse_filter("stopped"))
    log.add_older(Search(found[4:6], 5, complete=False), 6)
    log.add_newer(Search(found[6:], 8, complete=True))
    log.add_older(Search(found[:4], 1, complete=True), 8)

    assert log.keys == [str(one.seq) for one in found]
    assert log.keys is log.keys


@given(columns, st.integers(1, 240), st.dictionaries(st.sampled_from("ABC"), st.integers(0, 90)))
def test_no_column_gets_more_than_its_text_needs_while_another_one_is_cut(
    given_columns: list[AnyColumn], width: int, needs: dict[str, int]
) -> None:
    titled = [dataclasses.replace(column, title="ABCDEFGHI"[at]) for at, column in enumerate(given_columns)]
    rooms = dict(fit_columns(titled, width, needs=needs))

    assert rooms.keys() == dict(fit_columns(titled, width)).keys()
    growing = [at for at in rooms if titled[at].grow]
    cut = [at for at in growing if rooms[at] < min(needs.get(titled[at].title, 0), titled[at].max_width)]
    if cut and any(rooms[at] >= titled[at].width for at in growing):
        assert all(rooms[at] <= max(titled[at].width, needs.get(titled[at].title, 0)) for at in growing)
