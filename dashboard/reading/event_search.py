"""Searches the journal for events that pass a filter, in blocks, forward or backward.

Everything here blocks; call it in the thread of the reader.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from dashboard.reading.feed import entries_of
from dashboard.views.event_log import BLOCK, Entry, Search
from dashboard.views.search_hits import excerpt_around, words_of
from dashboard.views.words.event_filter import EventSubject, conditions_of, prefilter
from dashboard.views.words.filters import Filter, FilterError, KeyedTerm, label_values
from dashboard.views.words.names import Names
from engine.core.events import RunFinished, RunSubmitted
from engine.core.queries.work.labels import labels_by_run
from engine.core.state import State
from engine.reading.folding import end_events_of, events_of
from store import Reader, Record
from store.journals.statements import Conditions

PAGE_SIZE = 500
MAX_RUN_ENDS = 200
"""Maximum ends of runs that are searched for titles; if more mention a word, every event is decoded."""
MAX_LABELLED_RUNS = 1_000
"""Maximum runs that a query of the journal names; with more, every event is decoded."""
MAX_DECODED_EVENTS = 10_000
"""Events that are decoded before the results so far are returned: a tenth of a second."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A filter, with the names and the state that it needs."""

    event_filter: Filter
    names: Names
    state: State
    """Read only; knows the supervisors of agents."""
    ended_ids: dict[str, Collection[str] | None] = field(default_factory=dict)
    """By word: the tasks of ended runs whose titles contain it, or None for too many; a cache for further searches."""
    labels: dict[str, dict[str, Mapping[str, str]]] = field(default_factory=dict)
    """By value of a `label:` term: the labels of runs in the journal that have it; a cache likewise."""

    def conditions(self, reader: Reader) -> Conditions:
        """Return conditions that every passing event meets."""
        for term in self.event_filter.terms:  # a negated one, too, has to know the labels of all runs
            if isinstance(term.test, KeyedTerm) and term.test.key == "label":
                self._read_labels(reader, term.test)
        return conditions_of(self.event_filter, partial(self._ids_of, reader), self._labelled_runs)

    def _read_labels(self, reader: Reader, term: KeyedTerm) -> None:
        """Read the labels of the runs that a term matches; those of dropped summaries are in the journal alone."""
        if term.value in self.labels:
            return
        key, _, text = term.value.partition("=")
        # The journal folds the case of ASCII letters only.
        conditions: Conditions = {"kinds": {RunSubmitted.type}, "value": text if text and text.isascii() else key}
        runs, seq = dict[str, Mapping[str, str]](), 0
        while page := reader.records(seq, PAGE_SIZE, **conditions):
            runs |= {event.run_id: event.labels for event in events_of(page) if isinstance(event, RunSubmitted)}
            seq = page[-1].seq
        self.labels[term.value] = {
            run_id: labels for run_id, labels in runs.items() if any(map(term.meets, label_values(labels)))
        }

    def _labelled_runs(self, value: str) -> Collection[str] | None:
        """Return the runs that a `label:` term matches; None for too many."""
        runs, meets = labels_by_run(self.state), KeyedTerm("label", value).meets
        ids = {*self.labels[value], *(run for run, labels in runs.items() if any(map(meets, label_values(labels))))}
        return ids if len(ids) <= MAX_LABELLED_RUNS else None

    def _ids_of(self, reader: Reader, word: str) -> Collection[str] | None:
        """Return the ids whose names contain a word, also of tasks of ended runs; None for too many."""
        if word not in self.ended_ids:
            # As the journal encodes it; the journal folds the case of ASCII letters only.
            spelled = json.dumps(word, ensure_ascii=False)[1:-1] if word.isascii() else None
            ends = reader.records(0, MAX_RUN_ENDS, kinds={"run_finished"}, contains=spelled)
            titles = [event.titles for event in events_of(ends) if isinstance(event, RunFinished)]
            named = {an_id for run_titles in titles for an_id, title in run_titles.items() if word in title.casefold()}
            self.ended_ids[word] = None if len(ends) == MAX_RUN_ENDS else named
        ended_ids = self.ended_ids[word]
        return None if ended_ids is None else {*self.names.ids_of(word), *ended_ids}

    def matching_entries(self, reader: Reader, records: list[Record]) -> list[Entry]:
        """Return the entries that pass; if an expression takes too long, set the filter's `fault` and return none."""
        self.names.learn(end_events_of(reader, self.names.unknown(records)))
        try:
            candidates = prefilter(records, self.event_filter, self.names)
            words = words_of(self.event_filter)
            labels = {run_id: each for runs in self.labels.values() for run_id, each in runs.items()}
            return [
                entry._replace(excerpt=excerpt_around(record.body, words)) if words else entry
                for record, entry in zip(candidates, entries_of(reader, candidates, self.names), strict=True)
                if self.event_filter.passes(EventSubject(record, entry.event, self.names, self.state, labels))
            ]
        except FilterError as error:
            self.event_filter.fault = str(error)
            return []


def search_before(reader: Reader, seq: int, query: SearchQuery, *, limit: int = BLOCK) -> Search:
    """Return the newest passing events before `seq`, and how far back they are known: at least `limit`, or all."""

    def read_page(seq: int, conditions: Conditions) -> list[Record]:
        return reader.records_before(seq, PAGE_SIZE, **conditions)

    return _search(reader, seq, query, limit, read_page, is_backward=True)


def search_after(reader: Reader, seq: int, query: SearchQuery, *, limit: int = BLOCK) -> Search:
    """Return the oldest passing events after `seq`, and the seq up to which they are known."""
    last_seq = reader.last_seq()

    def read_page(seq: int, conditions: Conditions) -> list[Record]:
        return reader.records(seq, PAGE_SIZE, **conditions)

    search = _search(reader, seq, query, limit, read_page, is_backward=False)
    return search._replace(seq=max(last_seq, search.seq)) if search.complete else search


def _search(
    reader: Reader,
    seq: int,
    query: SearchQuery,
    limit: int,
    read_page: Callable[[int, Conditions], list[Record]],
    *,
    is_backward: bool,
) -> Search:
    conditions, decoded_count = query.conditions(reader), 0
    search = Search([], seq, complete=bool(query.event_filter.fault))
    while not search.complete and len(search.entries) < limit and decoded_count < MAX_DECODED_EVENTS:
        records = read_page(search.seq, conditions)
        passing = query.matching_entries(reader, records)
        decoded_count += len(records)
        entries = passing + search.entries if is_backward else search.entries + passing
        reached_seq = search.seq
        if records:
            reached_seq = records[0].seq if is_backward else records[-1].seq
        search = Search(entries, reached_seq, complete=len(records) < PAGE_SIZE or bool(query.event_filter.fault))
    return search
