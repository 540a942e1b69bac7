"""`events`: prints events, one line each, and follows new ones.

Rule: a line is written whole and at once, so that a script reads events as they come, and a reader that closes the pipe
ends it quietly.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass

import click

from dashboard.clean import clean
from dashboard.cli.database import database_of
from dashboard.cli.printing.filtering import check_filter, filter_option
from dashboard.cli.printing.items import fields_of
from dashboard.cli.printing.output import DONE, fail, is_json, say, write_json, write_lines
from dashboard.cli.printing.times import now_in, seq_of
from dashboard.interrupts import Stop, no_interrupt_lost
from dashboard.reading.event_search import SearchQuery
from dashboard.views.words.amounts import moment
from dashboard.views.words.filters import Filter
from dashboard.views.words.names import Names
from dashboard.views.words.sentences import sentence
from engine.core.discovery.nearest import nearest
from engine.core.errors import AmbiguousName, CorruptJournal, UnknownAgent, did_you_mean
from engine.core.events import KINDS, AgentAdded
from engine.core.fold import fold
from engine.core.queries.targets import find_agent, id_in
from engine.core.state import State
from engine.reading.folding import end_events_of, events_of, fold_from
from store import Reader, Record, Tail
from store.journals.statements import Conditions

DEFAULT_EVENTS = 50
"""Default number of events."""
DEFAULT_EVENTS_BEFORE_FOLLOWING = 10
_PAGE = 500


@dataclass(frozen=True, slots=True)
class _EventQuery:
    """Conditions on the printed events; None means no condition."""

    kinds: Collection[str] | None
    agent_id: str | None
    run_id: str | None
    search: SearchQuery

    def conditions(self, reader: Reader) -> Conditions:
        """Return the conditions for the journal; what it finds still has to pass the filter."""
        conditions = self.search.conditions(reader)
        likely = conditions.get("kinds")
        kinds = self.kinds if likely is None else likely if self.kinds is None else {*likely} & {*self.kinds}
        return {**conditions, "kinds": kinds, "agent_id": self.agent_id, "run_id": self.run_id}

    def matching(self, reader: Reader, records: list[Record]) -> list[Record]:
        """Return the records that meet the conditions."""
        matching_records = [record for record in records if self._matches(record)]
        if not self.search.event_filter:
            return matching_records
        seqs = {entry.seq for entry in self.search.matching_entries(reader, matching_records)}
        check_filter(self.search.event_filter)
        return [record for record in matching_records if record.seq in seqs]

    def _matches(self, record: Record) -> bool:
        return (
            (self.kinds is None or record.kind in self.kinds)
            and self.agent_id in (None, record.agent_id)
            and self.run_id in (None, record.run_id)
        )


@click.command("events")
@click.option("--follow", "-f", is_flag=True, help="Keep printing new events, until Ctrl-C.")
@click.option("--since", metavar="WHEN", help="After this seq, or from a time on: 10m, 12:04, 2026-01-31T12:04.")
@click.option("--limit", "-n", type=click.IntRange(1, 1_000_000_000), help="At most so many: the last ones.")
@click.option("--kind", "kinds", multiple=True, help="Only of this kind; may be repeated.")
@click.option("--agent", metavar="AGENT", help="Only about one agent, by name or id.")
@click.option("--run", "run_id", metavar="RUN", help="Only of one run.")
@filter_option
@click.pass_context
@no_interrupt_lost()
def events(
    ctx: click.Context,
    *,
    follow: bool,
    since: str | None,
    limit: int | None,
    kinds: tuple[str, ...],
    agent: str | None,
    run_id: str | None,
    row_filter: Filter,
) -> int:
    """Print events, the oldest first; with --json one object a line."""
    path = database_of(ctx, changes=False)
    as_json = is_json(ctx)
    with Reader(path) as reader:
        folds = bool(row_filter) or agent is not None or not as_json
        state = fold_from(reader) if folds else State()
        names = Names()
        names.learn_state(state)
        query = _EventQuery(
            _kinds_named(kinds),
            _agent_id(reader, state, agent),
            _run_id(reader, run_id),
            SearchQuery(row_filter, names, state),
        )
        write = _write_json if as_json else _SentenceWriter(reader, names, {*state.agents}).write
        last_seq, is_empty = reader.last_seq(), True
        for record in _existing_records(reader, query, since, limit, follow=follow):
            write(record)
            last_seq, is_empty = max(last_seq, record.seq), False
        if is_empty and not follow and not as_json:
            say("no event meets these conditions" if last_seq else "no events yet")
        if follow:
            with closing(Tail(path, state.seq if folds else last_seq).batches(Stop())) as batches:
                for batch in batches:
                    for record in batch:
                        if record.seq > last_seq and query.matching(reader, [record]):
                            write(record)
                        if folds:
                            fold(state, events_of([record]))
    return DONE


def _existing_records(
    reader: Reader, query: _EventQuery, since: str | None, limit: int | None, *, follow: bool
) -> Iterator[Record]:
    """Yield existing records: the last `limit`, only those after `since` where it is given."""
    after_seq = 0
    if since is not None:
        after_seq = seq_of(reader, since)
    if since is None and limit is None:
        limit = DEFAULT_EVENTS_BEFORE_FOLLOWING if follow else DEFAULT_EVENTS
    if limit is not None:
        yield from (record for record in _last_records(reader, query, limit) if record.seq > after_seq)
        return
    conditions = query.conditions(reader)
    while page := reader.records(after_seq, _PAGE, **conditions):
        yield from query.matching(reader, page)
        after_seq = page[-1].seq


def _last_records(reader: Reader, query: _EventQuery, limit: int) -> list[Record]:
    records: list[Record] = []
    conditions, before_seq = query.conditions(reader), reader.last_seq() + 1
    size = _PAGE if query.search.event_filter else limit
    while len(records) < limit and (page := reader.records_before(before_seq, size, **conditions)):
        records = query.matching(reader, page) + records
        before_seq = page[0].seq
    return records[-limit:]


def _write_json(record: Record) -> None:
    try:
        body = json.loads(record.body)
    except ValueError as error:
        raise CorruptJournal(record.seq, str(error)) from error
    write_json({**fields_of(record, "seq at_ms kind run_id task_id agent_id"), "body": body})


class _SentenceWriter:
    """Writes events as sentences, with names in place of ids; names that the state has forgotten are looked up."""

    def __init__(self, reader: Reader, names: Names, agents: set[str]) -> None:
        self._reader = reader
        self._names = names
        self._looked_up = agents
        self._now_ms = now_in(reader)

    def write(self, record: Record) -> None:
        (event,) = events_of([record])
        if record.agent_id is not None and record.agent_id not in self._looked_up:
            self._looked_up.add(record.agent_id)
            added = self._reader.records(0, 1, kinds=("agent_added",), agent_id=record.agent_id)
            self._names.learn(events_of(added))
        for run in set(self._names.unknown([record])) - self._looked_up:
            end = end_events_of(self._reader, [run])
            self._names.learn(end)
            if not end:
                self._looked_up.add(run)
        self._names.learn([event])
        text = clean(sentence(event, self._names).text)
        write_lines([f"{record.seq:>9,}  {moment(record.at_ms, self._now_ms)}  {text}"])


def _kinds_named(kinds: tuple[str, ...]) -> list[str] | None:
    if not kinds:
        return None
    for kind in kinds:
        if kind.partition(".")[0] not in KINDS:
            hint = did_you_mean(nearest(kind, KINDS, 1), f"there are {', '.join(sorted(KINDS))}")
            fail("usage", f"there is no kind of event {kind!r}", hint)
    return list(kinds)


def _agent_id(reader: Reader, state: State, name: str | None) -> str | None:
    """Return the id of an agent; of one that has left, its id or the last one of its name still finds its events."""
    if name is None:
        return None
    try:
        return find_agent(state, name).id
    except AmbiguousName as refused:
        fail(refused.code, refused.reason)
    except UnknownAgent as refused:
        agent_id = id_in(name)
        if reader.records(0, 1, agent_id=agent_id):
            return agent_id
        added = events_of(reader.records(0, _PAGE, kinds=("agent_added",), value=name))
        former_ids = [event.agent_id for event in added if isinstance(event, AgentAdded) and event.name == name]
        return former_ids[-1] if former_ids else fail(refused.code, refused.reason)


def _run_id(reader: Reader, name: str | None) -> str | None:
    run_id = None if name is None else id_in(name)
    if run_id is not None and not reader.records(0, 1, run_id=run_id):
        fail("unknown_work", f"there is no run {name!r}", "list them with: quarterdeck runs")
    return run_id
