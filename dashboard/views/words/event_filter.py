"""Filters of events: a query that the database runs, then the exact test of each event that it returns.

Rule: the query never excludes an event that passes the filter. A million events are searched in the database, and only
the candidates are decoded.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from dashboard.views.words.filters import (
    DurationBound,
    Expression,
    Filter,
    KeyedTerm,
    RequiredWord,
    Value,
    label_values,
)
from dashboard.views.words.names import Names
from engine.core.events import (
    KINDS,
    Event,
    ModelFailed,
    RunSubmitted,
    StepRecorded,
    StepStopped,
    ToolFailed,
    ToolStarted,
)
from engine.core.queries.work.answered import model_of
from engine.core.queries.work.labels import labels_of
from engine.core.records.records import field_names
from engine.core.state import State
from store.journals.records import Record
from store.journals.statements import Conditions

_TIMED = {kind for kind, cls in KINDS.items() if "duration_ms" in field_names(cls)}
_KINDS_WITH = {
    "tool": {"step_recorded", "tool_started", "tool_failed"},
    "model": {"step_recorded", "step_stopped", "model_failed"},
    "status": {kind for kind, cls in KINDS.items() if "status" in field_names(cls)},
}


class EventSubject:
    """An event as filters see it."""

    def __init__(
        self,
        record: Record,
        event: Event,
        names: Names,
        state: State,
        labels: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    ) -> None:
        """Store an event with its record.

        Args:
            event: The decoded record.
            names: Names of the objects that it mentions.
            state: The team, which knows the supervisor of an agent.
            labels: Labels of earlier runs, by id.
        """
        self._record, self._event, self._names, self._state = record, event, names, state
        self._labels = labels

    def has(self, word: str) -> bool:
        return self._is_in_body(word) or word in self._record.kind or word in self._join_names().casefold()

    def _is_in_body(self, word: str) -> bool:
        spelled = json.dumps(word, ensure_ascii=False)[1:-1]
        if spelled.isascii():  # the journal compares the same bytes
            return spelled.encode() in self._record.body.lower()
        return spelled in self._body().casefold()

    def _body(self) -> str:
        return self._record.body.decode("utf-8", errors="replace")

    def _join_names(self) -> str:
        record = self._record
        return "\0".join(self._names.of(an_id) for an_id in (record.agent_id, record.task_id, record.run_id) if an_id)

    def texts(self) -> Iterable[str]:
        return (self._record.kind, *self._join_names().split("\0"), self._body())

    def values(self, key: str) -> Iterable[Value]:
        record, event = self._record, self._event
        if key in ("agent", "run", "task"):
            an_id = {"agent": record.agent_id, "run": record.run_id, "task": record.task_id}[key]
            name = self._names.of(an_id)
            return [Value("" if name == an_id else name, an_id)] if an_id else []
        if key == "label":
            run_id = record.run_id or ""
            labels = event.labels if isinstance(event, RunSubmitted) else labels_of(self._state, run_id)
            return label_values(labels or self._labels.get(run_id, {}))
        return _VALUES[key](record, event) if key in _VALUES else self._supervisor_values()

    def _supervisor_values(self) -> Iterable[Value]:
        agent = self._state.agents.get(self._record.agent_id or "")
        run = self._state.runs.get(self._record.run_id or "")
        supervisor_id = getattr(self._event, "supervisor_id", None) or (
            agent.supervisor_id if agent is not None else run.supervisor_id if run is not None else None
        )
        while supervisor_id is not None:
            yield Value(self._names.of(supervisor_id), supervisor_id)
            supervisor = self._state.supervisors.get(supervisor_id)
            supervisor_id = None if supervisor is None else supervisor.parent_id

    def took_ms(self) -> float | None:
        return getattr(self._event, "duration_ms", None)


def _status(record: Record, event: Event) -> Iterable[Value]:
    status = getattr(event, "status", None)
    return [Value(record.kind), *([Value(str(getattr(status, "value", status)))] if status is not None else [])]


def _tool(_: Record, event: Event) -> Iterable[Value]:
    is_tool = isinstance(event, ToolStarted | ToolFailed) or (isinstance(event, StepRecorded) and event.what == "tool")
    return [Value(event.name)] if is_tool and isinstance(event, ToolStarted | ToolFailed | StepRecorded) else []


def _model(_: Record, event: Event) -> Iterable[Value]:
    if isinstance(event, ModelFailed):
        return [Value(event.model)]
    if isinstance(event, StepStopped):
        return [] if event.what == "tool" else [Value(event.name)]
    model = model_of(event) if isinstance(event, StepRecorded) else None
    return [Value(model)] if model else []


_VALUES: dict[str, Callable[[Record, Event], Iterable[Value]]] = {
    "kind": lambda record, _: [Value(record.kind)],
    "status": _status,
    "tool": _tool,
    "model": _model,
}


def prefilter(records: Sequence[Record], event_filter: Filter, names: Names) -> list[Record]:
    """Return the records that match the regular expressions of a filter, before anything is decoded.

    Raises:
        FilterError: If an expression takes too long.
    """
    required_terms = [term for term in event_filter.terms if not term.negated]
    for expression in [term.test for term in required_terms if isinstance(term.test, Expression)]:
        is_named = cache(expression.is_in)
        records = [
            record
            for record in records
            if expression.is_in(record.body.decode("utf-8", errors="replace"))
            or is_named(record.kind)
            or any(is_named(names.of(an_id)) for an_id in (record.agent_id, record.task_id, record.run_id) if an_id)
        ]
    return [*records]


def conditions_of(
    event_filter: Filter,
    ids_of: Callable[[str], Collection[str] | None],
    labelled_runs: Callable[[str], Collection[str] | None],
) -> Conditions:
    """Return conditions, for a query of the journal, that every event which passes the filter meets.

    Args:
        event_filter: The filter.
        ids_of: Returns every id whose name contains a word; None if there are too many.
        labelled_runs: Returns every run that a `label:` term matches; None if there are too many.
    """
    kinds: set[str] | None = None
    conditions = Conditions(mentions=[])
    mentions: list[tuple[str, Collection[str]]] = []
    ids: dict[str, set[str]] = {}
    for term in event_filter.terms:
        test = term.test
        if term.negated:
            continue
        if isinstance(test, RequiredWord):
            # The journal folds the case of ASCII letters only.
            if test.text.isascii() and (named := ids_of(test.text)) is not None:
                mentions.append((test.text, named))
        elif isinstance(test, DurationBound):
            kinds = _intersect(kinds, _TIMED)
        elif isinstance(test, KeyedTerm):
            if test.key in ("agent", "run", "task"):
                if (named := ids_of(test.value)) is None:
                    continue
                few = {*named, test.value.removeprefix("@"), test.value}
                ids[test.key] = few & ids[test.key] if test.key in ids else few
            elif test.key == "label":
                if (runs := labelled_runs(test.value)) is not None:
                    ids["run"] = {*runs} & ids.get("run", {*runs})
            elif (likely := _kinds(test)) is not None:
                kinds = _intersect(kinds, likely)
    conditions["mentions"] = mentions
    conditions["kinds"] = kinds
    conditions["agent_ids"] = ids.get("agent")
    conditions["run_ids"] = ids.get("run")
    conditions["task_ids"] = ids.get("task")
    return conditions


def _kinds(test: KeyedTerm) -> set[str] | None:
    """Return the kinds of events that may meet a term; None if any may."""
    named = {kind for kind in KINDS if test.meets(Value(kind))}
    if test.key == "kind":
        return named
    if test.key == "status":
        return named | _KINDS_WITH["status"]
    return _KINDS_WITH.get(test.key)


def _intersect(kinds: set[str] | None, others: set[str]) -> set[str]:
    return set(others) if kinds is None else kinds & others
