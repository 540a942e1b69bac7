"""Searches the journal for events that pass a filter, a stretch at a time, from either end.

Everything here blocks; call it in the thread of the reader.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial

from dashboard.reading.feed import entries_of
from dashboard.views.event_log import BLOCK, Entry, Search
from dashboard.views.words.event_filter import OfEvent, conditions_of, likely
from dashboard.views.words.filters import Filter, FilterError
from dashboard.views.words.names import Names
from engine.core.events import RunFinished
from engine.core.state import State
from engine.reading.folding import end_events_of, events_of
from store import Reader, Record
from store.journals.statements import Conditions

PAGE = 500
ENDS = 200
"""Ends of runs that are searched for titles; where more mention a word, every event is decoded."""
LOOKED_AT = 10_000
"""Events that are decoded before what was found so far is handed over: a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A filter, with the names and the state that it needs."""

    wanted: Filter
    names: Names
    state: State
    """Read only: in which supervisors agents are."""
    ended: dict[str, Collection[str] | None] = field(default_factory=dict)
    """By word: the tasks of ended runs whose titles contain it; given again, the journal is asked once."""

    def conditions(self, reader: Reader) -> Conditions:
        """Return what an event has to meet to have a chance to pass."""
        return conditions_of(self.wanted, partial(self._ids_of, reader))

    def _ids_of(self, reader: Reader, word: str) -> Collection[str] | None:
        """Return the ids whose names contain a word, also of tasks whose titles were forgotten; None: too many."""
        if word not in self.ended:
            # As the journal spells it; letters besides a to z it does not know in both cases.
            spelled = json.dumps(word, ensure_ascii=False)[1:-1] if word.isascii() else None
            ends = reader.records(0, ENDS, kinds={"run_finished"}, contains=spelled)
            titles = [event.titles for event in events_of(ends) if isinstance(event, RunFinished)]
            named = {an_id for one in titles for an_id, title in one.items() if word in title.casefold()}
            self.ended[word] = None if len(ends) == ENDS else named
        ended = self.ended[word]
        return None if ended is None else {*self.names.ids_of(word), *ended}

    def passing(self, reader: Reader, records: list[Record]) -> list[Entry]:
        """Return the entries that pass; none, and the filter's `fault` is set, if an expression takes too long."""
        self.names.learn(end_events_of(reader, self.names.unknown(records)))
        try:
            few = likely(records, self.wanted, self.names)
            return [
                entry
                for record, entry in zip(few, entries_of(reader, few, self.names), strict=True)
                if self.wanted.takes(OfEvent(record, entry.event, self.names, self.state))
            ]
        except FilterError as error:
            self.wanted.fault = str(error)
            return []


def before(reader: Reader, seq: int, asked: Asked, *, limit: int = BLOCK) -> Search:
    """Return the newest events before `seq` that pass, and how far back that is known: at least `limit`, or all."""

    def page(at: int, conditions: Conditions) -> list[Record]:
        return reader.records_before(at, PAGE, **conditions)

    return _search(reader, seq, asked, limit, page, back=True)


def after(reader: Reader, seq: int, asked: Asked, *, limit: int = BLOCK) -> Search:
    """Return the oldest events after `seq` that pass, and how far that is known."""
    last_seq = reader.last_seq()

    def page(at: int, conditions: Conditions) -> list[Record]:
        return reader.records(at, PAGE, **conditions)

    found = _search(reader, seq, asked, limit, page, back=False)
    return found._replace(seq=max(last_seq, found.seq)) if found.complete else found


def _search(
    reader: Reader, seq: int, asked: Asked, limit: int, page: Callable[[int, Conditions], list[Record]], *, back: bool
) -> Search:
    conditions, looked_at = asked.conditions(reader), 0
    found = Search([], seq, complete=bool(asked.wanted.fault))
    while not found.complete and len(found.entries) < limit and looked_at < LOOKED_AT:
        records = page(found.seq, conditions)
        passing = asked.passing(reader, records)
        looked_at += len(records)
        entries = passing + found.entries if back else found.entries + passing
        reached = found.seq if not records else records[0].seq if back else records[-1].seq
        found = Search(entries, reached, complete=len(records) < PAGE or bool(asked.wanted.fault))
    return found
