"""Filters of events find in the journal exactly what passes, from either end, whatever is asked for."""

from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.reading.event_search import SearchQuery, search_after, search_before
from dashboard.reading.feed import entries_of
from dashboard.views.words.event_filter import EventSubject
from dashboard.views.words.filters import parse_filter, parse_partial_filter
from dashboard.views.words.names import Names
from engine.core.state import State
from engine.simulation.teams import draw_team
from store import Reader, Record
from tests.chance import random_turn
from tests.databases import write_database
from tests.story import attempt, submitted
from tests.world import World, agent, load, team_world


@cache
def team() -> World:
    """A team that was driven by chance."""
    draw, world = Random(11), World()
    world.crash()
    world.order(load(draw_team(draw)))
    for _ in range(800):
        random_turn(draw, world)
    return world


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Its file, read."""
    with Reader(write_database(tmp_path_factory.mktemp("team") / "team.db", team().journal)) as reader:
        yield reader


def words() -> st.SearchStrategy[str]:
    state = team().state
    names = [agent.name for agent in state.agents.values()] + [one.name for one in state.supervisors.values()]
    ids = [*state.agents, *state.runs, *[run.id for run in state.finished], *list(state.tasks)[:9]]
    plain = [
        *names,
        *ids,
        "done",
        "attempt_",
        "failed",
        "order",
        "x",
        '"',
        "type",
        "a1",
        "r2",
        "zzz",
        "team",
        "team=web",
    ]
    return st.sampled_from([f'"{one}"' if '"' in one or " " in one else one for one in plain if one != '"'])


def terms() -> st.SearchStrategy[str]:
    keys = st.sampled_from(["agent", "run", "task", "supervisor", "kind", "status", "tool", "model", "label"])
    return st.one_of(
        words(),
        st.tuples(keys, words()).map(":".join),
        st.sampled_from([">2ms", "<5s", "/attempt_(done|failed)/", "/r[12]/", "kind:swap", "kind:run_", "status:fail"]),
        words().map(lambda word: f"-{word}"),
        st.tuples(keys, words()).map(lambda both: "-" + ":".join(both)),
    )


@given(st.data())
def test_a_search_from_either_end_finds_what_passes_and_nothing_else(reader: Reader, data: st.DataObject) -> None:
    wanted = parse_filter(" ".join(data.draw(st.lists(terms(), min_size=1, max_size=3))))
    names, state = Names(), team().state
    names.learn_state(state)
    records = reader.records(0, 100_000)
    entries = entries_of(reader, records, names)
    passing = [
        record.seq
        for record, entry in zip(records, entries, strict=True)
        if wanted.passes(EventSubject(record, entry.event, names, state))
    ]
    asked = SearchQuery(wanted, names, state)

    assert [entry.seq for entry in search_after(reader, 0, asked, limit=100_000).entries] == passing
    assert [
        entry.seq for entry in search_before(reader, reader.last_seq() + 1, asked, limit=100_000).entries
    ] == passing


def test_a_search_stops_when_it_has_enough_and_goes_on_from_there(reader: Reader) -> None:
    names, state = Names(), team().state
    names.learn_state(state)
    asked = SearchQuery(parse_partial_filter("attempt_"), names, state)
    every = [entry.seq for entry in search_after(reader, 0, asked, limit=100_000).entries]

    found, at, parts = list[int](), reader.last_seq() + 1, 0
    while True:
        part = search_before(reader, at, asked, limit=1)
        found, at, parts = [entry.seq for entry in part.entries] + found, part.seq, parts + 1
        if part.complete:
            break

    assert found == every
    assert len(every) > 30


def test_what_takes_too_long_finds_nothing_and_says_so(reader: Reader) -> None:
    wanted = parse_partial_filter("/(a|t)*t(.|t){90}(!!)/")
    found = search_before(reader, reader.last_seq() + 1, SearchQuery(wanted, Names(), State()))

    assert found.complete
    assert (found.entries, bool(wanted.fault)) == ([], True)


def test_events_of_tasks_whose_titles_were_forgotten_are_found_by_them(tmp_path: Path) -> None:
    work = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"])
    for _ in range(2):
        submitted(work)
        work.ask(attempt(work, "lead"), "sum", ["lib/glob.py", "lib/json.py"])
        work.settle()
    names = Names()  # of another process, or long after: only the ends of runs say what their tasks were called
    names.learn_state(work.state)
    with Reader(write_database(tmp_path / "team.db", work.journal)) as reader:
        for needle in ("GLOB", "task:glob", '"lib/glob" agent:ada'):
            asked = SearchQuery(parse_partial_filter(f"{needle} kind:attempt_done"), names, work.state)
            found = search_after(reader, 0, asked, limit=1_000).entries

            assert [names.of(entry.event.task_id) for entry in found] == ["lib/glob.py"] * 2, needle  # type: ignore[attr-defined]


def test_the_ends_of_runs_are_read_once_for_all_searches_of_a_filter(tmp_path: Path) -> None:
    work = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"])
    submitted(work)
    work.ask(attempt(work, "lead"), "sum", ["lib/glob.py"])
    work.settle()
    names, asked_for = Names(), list[object]()

    class Watched(Reader):
        def records(self, *given: Any, **conditions: Any) -> list[Record]:
            asked_for.append(conditions.get("kinds"))
            return super().records(*given, **conditions)

    wanted, ended = parse_partial_filter("glob"), dict[str, Collection[str] | None]()
    with Watched(write_database(tmp_path / "team.db", work.journal)) as reader:
        for _ in range(3):
            assert search_after(reader, 0, SearchQuery(wanted, names, work.state, ended), limit=1_000).entries

    assert asked_for.count({"run_finished"}) == 1


def test_events_are_found_by_the_labels_of_runs_also_of_those_that_the_state_has_dropped(tmp_path: Path) -> None:
    work = team_world(agent("ada"))
    labelled = {submitted(work, "one", labels={"team": "Web"}), submitted(work, '"team":"web"')}
    submitted(work, labels={"team": "website"})
    work.settle()
    work.state.finished.clear()
    labelled = {"r1", submitted(work, labels={"team": "web", "size": 'a "big" ß'})}
    names = Names()
    with Reader(write_database(tmp_path / "team.db", work.journal)) as reader:
        for needle, runs in (
            ("label:team=web", labelled),
            ("label:team", labelled | {"r3"}),
            ('label:"size=a "big" ss"', set()),
            ("label:size", labelled - {"r1"}),
            ("-label:team kind:run_submitted", {"r2"}),
            ("label:none", set()),
        ):
            asked = SearchQuery(parse_filter(needle), names, work.state)
            found = search_after(reader, 0, asked, limit=1_000).entries

            assert {entry.event.run_id for entry in found} == runs, needle  # type: ignore[attr-defined]
