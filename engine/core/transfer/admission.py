"""Decides whether an imported state is accepted.

First the document is checked: no derived fields, valid ids, numbers within bounds. Then a trial engine takes up the
state, and all invariants of `legality` must hold. Laws ensure that every state that `fold` can reach passes, and that
all work of an accepted state can be cancelled. See docs/reference/archive.md.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from engine.core.decisions.decision_context import DecisionContext
from engine.core.documents.document import DERIVED, INDEXES, LOCAL_FIELDS, text_refs
from engine.core.documents.ids import FIELDS, ID, MINTED, id_faults
from engine.core.documents.table import EntityTable, default_of
from engine.core.encoding.codec import fields_with_floats
from engine.core.encoding.strict_json import MAX_LEVELS
from engine.core.errors import Refused
from engine.core.fold.importing import fold_import
from engine.core.legality import LAWS_AT_REST, LAWS_OF_TREES, faults_of
from engine.core.queries.team.made import made_now
from engine.core.queries.work.labels import labels_by_run
from engine.core.records.records import field_names, fields
from engine.core.records.values import TextRef, Usage
from engine.core.signals import EngineBegan
from engine.core.specs.guard import check_pattern
from engine.core.specs.spec import spec_hash
from engine.core.state import (
    ENDED,
    MAX_DURATIONS,
    MAX_LAST_TASKS,
    MAX_STEP_NAMES,
    MAX_SUMMARIES,
    EndedTask,
    RunStatus,
    State,
    TrackRecord,
)
from engine.core.step import step
from engine.core.validation.bounds import RunLabels
from engine.core.validation.rules import InvalidValue, rule_for

_MAX_NUMBER = 2**53
_MAX_TIME_MS = 253_402_300_799_000
"""The end of the year 9999, beyond which `datetime` cannot go."""
_MAX_DELAY_MS = 31_536_000_000 * 10
"""Ten years: the largest delay of a timer."""
_OPEN = frozenset({RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.SUSPENDED})


class Inadmissible(ValueError):
    """A state document contradicts itself, or an engine could not continue it."""


def check(state: State, texts: int) -> None:
    """Raise Inadmissible if a value of a state document with this number of texts is impossible."""
    tables = {kind: EntityTable.of(state, kind).with_all_cells() for kind in (*FIELDS, "specs")}
    for faults in (
        _form_faults(state, tables),
        _values(tables),
        id_faults(state, tables),
        _texts(state, texts),
        _numbers(state, tables),
        _specs(state),
        _guards(tables["tasks"]),
        _check_finished(state),
        _labels(state),
    ):
        for fault in faults:
            raise Inadmissible(fault)


def try_out(state: State) -> None:
    """Raise Inadmissible unless an engine can continue a state that has passed `check`; the state is modified."""
    try:
        fault = next(_trial_faults(state), None)
    except Exception as error:  # the document is untrusted: any exception of the trial is a fault of the document
        raise Inadmissible(f"it cannot be carried on ({type(error).__name__}: {str(error)[:80]!a})") from error
    if fault is not None:
        raise Inadmissible(fault)


def _form_faults(state: State, tables: Mapping[str, EntityTable]) -> Iterator[str]:
    for name in (*LOCAL_FIELDS, *INDEXES):
        if getattr(state, name) != default_of(State, name):
            yield f"it holds {name!a}, which belongs to one database alone"
    for kind, derived in DERIVED.items():
        for name, _ in tables[kind].non_defaults(derived):
            yield f"it holds {name!a} of {kind}, which is worked out and never written"
    for letter, number in state.minted.items():
        if letter not in MINTED or not 0 <= number < _MAX_NUMBER:
            yield f"ids of {letter[:80]!a} cannot have been given"


def _values(tables: Mapping[str, EntityTable]) -> Iterator[str]:
    """Report values that nest too deeply for some JSON parsers."""
    for kind, table in tables.items():
        for name in fields_with_floats(table.kind):
            for value in filter(None, table.column(name)):
                if type(value) not in _FLAT and _is_deep(value, MAX_LEVELS):
                    yield f"{kind} hold a value that is nested too deeply"


_FLAT = frozenset({str, int, float, bool, TextRef})


def _is_deep(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        children: Any = value.values()
    elif isinstance(value, Struct):
        children = [getattr(value, name) for name in fields_with_floats(type(value))]
    else:
        children = value if isinstance(value, list | tuple) else ()
    return not levels or any(_is_deep(child, levels - 1) for child in children)


def _texts(state: State, texts: int) -> Iterator[str]:
    paths = {f"texts.{number}" for number in range(texts)}
    for ref in text_refs(state):
        if ref.seq or ref.path not in paths:
            yield f"it refers to the text {ref.path[:80]!a}, which is not there"


def _numbers(state: State, tables: Mapping[str, EntityTable]) -> Iterator[str]:
    for name in _numbers_in(State):
        yield from _check_bounds(State, name, (getattr(state, name),))
    for table in tables.values():
        for name in _numbers_in(table.kind):
            yield from _check_bounds(table.kind, name, table.column(name))
    paying = (table for table in tables.values() if "usage" in field_names(table.kind))
    usages = [state.usage, *(usage for table in paying for usage in table.column("usage") if usage)]
    records = [record for agent in state.agents.values() for record in agent.track_record.values()]
    for name in _numbers_in(TrackRecord):
        yield from _check_bounds(TrackRecord, name, [getattr(record, name) for record in records])
    usages += [record.usage for record in records]
    last_tasks = [task for agent in state.agents.values() for task in agent.last_tasks]
    yield from _check_bounds(EndedTask, "ended_ms", [task.ended_ms for task in last_tasks])
    if any(len(agent.last_tasks) > MAX_LAST_TASKS for agent in state.agents.values()):
        yield "an agent with more ended tasks than are kept"
    if not all(task.status in ENDED for task in last_tasks):
        yield "an open task among those that ended"
    for spending in state.spending.values():
        usages += (*spending.models.values(), *spending.tools.values())
    for spent_by in (*(run.spent_by for run in state.runs.values()), *(run.spent_by for run in state.finished)):
        usages += spent_by.values()
    yield from _usages(EntityTable(Usage, usages).with_all_cells())
    if any(not 0 <= each < _MAX_NUMBER for agent in state.agents.values() for each in agent.at_work_ms):
        yield "an agent has worked for less than no time"
    durations_ms = [list(agent.step_ms.values()) for agent in state.agents.values()]
    if any(len(kinds) > MAX_STEP_NAMES or any(len(kind) > MAX_DURATIONS for kind in kinds) for kinds in durations_ms):
        yield "an agent with more durations of steps than are kept"
    if any(not 0 <= each < _MAX_NUMBER for kinds in durations_ms for kind in kinds for each in kind):
        yield "a step took less than no time"
    if any(timer.due_ms > _MAX_DELAY_MS for timer in state.timers.values()):
        yield "a timer waits longer than anything may"


def _check_bounds(kind: Any, name: str, values: Iterable[int | None]) -> Iterator[str]:
    """Report a count or time out of bounds."""
    numbers = list(filter(None, values))
    if numbers and not (min(numbers) > 0 and max(numbers) < (_MAX_TIME_MS if name.endswith("_ms") else _MAX_NUMBER)):
        yield f"{kind.__name__} with a number that cannot be, {name}"


def _find_numbers(cls: Any) -> list[str]:
    return [each.name for each in fields(cls) if each.type in (int, int | None)]


_numbers_in: Callable[[Any], list[str]] = cache(_find_numbers)
"""Names of the fields of an entity class that hold a count or a time."""


def _usages(table: EntityTable) -> Iterator[str]:
    spent = [amount for name in _numbers_in(Usage) for amount in filter(None, table.column(name))]
    if spent and not 0 < min(spent) <= max(spent) < _MAX_NUMBER:
        yield "usage below 0 or beyond measure"
    token_counts = zip(table.column("tokens_cached"), table.column("tokens_in"), strict=True)
    if any(cached > (tokens_in or 0) for cached, tokens_in in token_counts if cached):
        yield "more tokens from a cache than were given"
    costs = (cost for cost in table.column("cost_usd") if cost is not None)
    if not all(cost.is_finite() and 0 <= cost < 10**12 and abs(cost.adjusted()) < 100 for cost in costs):
        yield "a cost that nothing can have"


def _specs(state: State) -> Iterator[str]:
    for key, spec in state.specs.items():
        if key != spec_hash(spec):
            yield f"the spec {spec.name!a} is not the one that its hash says"


def _guards(tasks: EntityTable) -> Iterator[str]:
    """Report patterns in stored checks that no command would accept (for example, ones with exponential run time)."""
    rows = zip(tasks.column("id"), tasks.column("settings"), tasks.column("check"), strict=True)
    try:
        for task_id, settings, check in rows:
            if settings or check is not None:
                for pattern in (*_patterns(settings), *_patterns(check.args if check is not None else None)):
                    check_pattern(task_id, pattern)
    except Refused as refusal:
        yield refusal.reason


def _patterns(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        pattern = value.get("matches")
        if isinstance(pattern, str):
            yield pattern
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _patterns(inner)


def _check_finished(state: State) -> Iterator[str]:
    if len(state.finished) > MAX_SUMMARIES:
        yield f"it remembers more than {MAX_SUMMARIES} finished runs"
    for run in state.finished:
        if run.status in _OPEN or run.seq or run.id in state.runs or not ID.fullmatch(run.id):
            yield f"the run {run.id[:80]!a} has not finished"


def _labels(state: State) -> Iterator[str]:
    """Report labels that no command would accept."""
    check = rule_for(RunLabels).check
    try:
        for labels in labels_by_run(state).values():
            check(labels)
    except InvalidValue as fault:
        yield f"a label {fault.text}"


def _trial_faults(imported: State) -> Iterator[str]:
    """Let a trial engine take up the state; yield faults before and after."""
    # Before the import: walks up a tree with a cycle would never end.
    yield from _strip_names(faults_of(imported, LAWS_OF_TREES))
    for recipe in imported.recipes.values():
        made_now(imported, recipe)
    trial = State(at_ms=imported.at_ms)
    ctx = DecisionContext(now_ms=imported.at_ms, jitter=0.0)
    began = EngineBegan(pid=0, token=0, version="")
    step(trial, began, ctx)
    fold_import(trial, imported, paused=True)
    # The second start decides the follow-ups of the import, which `fold_import` alone does not.
    step(trial, began, ctx)
    yield from _strip_names(faults_of(trial, LAWS_AT_REST))


def _strip_names(faults: Iterator[str]) -> Iterator[str]:
    return (fault.partition(": ")[2] for fault in faults)
