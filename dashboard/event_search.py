"""Searches the journal for events that pass a filter, a stretch at a time, from either end.

Everything here blocks; call it in the thread of the reader.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dashboard.feed import entries_of
from dashboard.views.event_filter import OfEvent, conditions_of, likely
from dashboard.views.event_log import BLOCK, Entry, Search
from dashboard.views.filters import Filter, FilterError
from dashboard.views.names import Names
from engine.core.state import State
from engine.folding import ends_of
from store import Reader, Record
from store.statements import Conditions

PAGE = 500
LOOKED_AT = 10_000
"""Events that are decoded before what was found so far is handed over: a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A filter, with the names and the state that it needs."""

    wanted: Filter
    names: Names
    state: State
    """Read only: in which supervisors agents are."""

    def passing(self, reader: Reader, records: list[Record]) -> list[Entry]:
        """Return the entries that pass; none, and the filter's `fault` is set, if an expression takes too long."""
        self.names.learn(ends_of(reader, self.names.unknown(records)))
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
    conditions, looked_at = conditions_of(asked.wanted, asked.names), 0
    found = Search([], seq, complete=bool(asked.wanted.fault))
    while not found.complete and len(found.entries) < limit and looked_at < LOOKED_AT:
        records = page(found.seq, conditions)
        passing = asked.passing(reader, records)
        looked_at += len(records)
        entries = passing + found.entries if back else found.entries + passing
        reached = found.seq if not records else records[0].seq if back else records[-1].seq
        found = Search(entries, reached, complete=len(records) < PAGE or bool(asked.wanted.fault))
    return found
