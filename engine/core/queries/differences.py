"""Differences between two states, by subject: the same team at two moments, or two teams.

Members are matched by path, else by an id that was made by the same event; runs and tasks by id and start time. Values
that only the engine uses are left out.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from engine.core.encoding.json_values import json_equal
from engine.core.queries.targets import name_of
from engine.core.queries.team.tree import lineage_of
from engine.core.records.records import JsonValue, fact, field_names
from engine.core.records.values import TextRef, Usage, preview
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, Run, RunSummary, State, Supervisor, Task

Subject: TypeAlias = Literal[
    "team", "supervisor", "settings", "agent", "spec", "code", "run", "task", "question", "grant", "insight"
]
Change: TypeAlias = Literal["added", "removed", "changed"]
Read: TypeAlias = Callable[[TextRef], JsonValue]
"""Returns the text of a reference."""
T = TypeVar("T")
Member = TypeVar("Member", Agent, Supervisor)
Fields: TypeAlias = Mapping[str, Any]
MAX_TEXT_CHARS = 200
"""Limit on the length of a text in a difference."""


@fact
class Difference:
    """One difference; added and removed objects have no field, and their name as `b` or `a`."""

    subject: Subject
    id: str
    """Id of the object in `b`, or in `a` if it was removed; the name of specs and code."""
    name: str
    """Name or path of the object, for people."""
    change: Change
    field: str | None = None
    a: JsonValue = None
    b: JsonValue = None


def differences(
    a: State, b: State, *, read_a: Read | None = None, read_b: Read | None = None, one_file: bool = True
) -> list[Difference]:
    """Return the differences from `a` to `b`.

    Args:
        a: The first state.
        b: The second state.
        read_a: Reads texts of `a`; None shows references instead.
        read_b: Reads texts of `b`.
        one_file: Whether both states have one journal, so that equal references are equal texts; else texts are read.
    """
    sides = _Side(a, read_a, reads_all=not one_file), _Side(b, read_b, reads_all=not one_file)
    return [difference for compare in _SUBJECTS for difference in compare(*sides)]


class _Side:
    """One of the two states, with its members by path and its runs by id."""

    def __init__(self, state: State, read: Read | None, *, reads_all: bool) -> None:
        self.state, self.read = state, read
        self._reads_all = reads_all
        self.supervisors = {self.path(supervisor.id): supervisor for supervisor in state.supervisors.values()}
        self.agents = {self.path(agent.id): agent for agent in state.agents.values()}
        self.runs: dict[str, Run | RunSummary] = {run.id: run for run in state.finished} | state.runs

    def path(self, member_id: str | None) -> str:
        """Return the path of a member, such as `chief/scout`."""
        agent = self.state.agents.get(member_id or "")
        supervisor = self.state.supervisors.get((agent.supervisor_id if agent is not None else member_id) or "")
        team_names = [team.name for team in lineage_of(self.state, supervisor)][::-1] if supervisor is not None else []
        return "/".join([*team_names, agent.name] if agent is not None else team_names)

    def plain(self, value: Any) -> JsonValue:
        """Return a value as JSON; long texts are shortened."""
        if isinstance(value, TextRef):
            text = f"(text of seq {value.seq:,})" if self.read is None else self.read(value)
            return preview(text, MAX_TEXT_CHARS)
        if isinstance(value, str) and len(value) > MAX_TEXT_CHARS:
            return preview(value, MAX_TEXT_CHARS)
        if value is None or isinstance(value, str | int | float | bool):
            return value
        plain_value: JsonValue = msgspec.to_builtins(value, str_keys=True)
        return plain_value

    def comparable(self, fields: Fields) -> Fields:
        """Return the fields to compare, with texts in place of references if those cannot be compared."""
        if self.read is None or not self._reads_all:
            return fields
        return {name: self.read(value) if isinstance(value, TextRef) else value for name, value in fields.items()}


def _compare(
    subject: Subject,
    sides: tuple[_Side, _Side],
    pair: tuple[T | None, T | None],
    fields_of: Callable[[_Side, T], Fields],
    *,
    id: str,
    name: str,
) -> Iterator[Difference]:
    """Yield the differences of one object; `fields_of` returns its fields."""
    (side_a, side_b), (item_a, item_b) = sides, pair
    if item_a is None or item_b is None:
        if item_b is not None:
            yield Difference(subject=subject, id=id, name=name, change="added", b=name)
        elif item_a is not None:
            yield Difference(subject=subject, id=id, name=name, change="removed", a=name)
        return
    fields_a, fields_b = side_a.comparable(fields_of(side_a, item_a)), side_b.comparable(fields_of(side_b, item_b))
    for field, before in fields_a.items():
        # A field that only one of them has, such as the priority of an open run, is no difference.
        after = fields_b.get(field, before)
        if not json_equal(before, after):
            yield Difference(
                subject=subject,
                id=id,
                name=name,
                change="changed",
                field=field,
                a=side_a.plain(before),
                b=side_b.plain(after),
            )


def _match_pairs(
    a: Mapping[str, Member], b: Mapping[str, Member], is_same: Callable[[Member, Member], bool]
) -> Iterator[tuple[Member | None, Member | None]]:
    """Yield pairs with the same key, else with the same id if `is_same`; then the unmatched members."""
    unmatched = {member.id: member for key, member in b.items() if key not in a}
    for key, member in a.items():
        if key in b:
            yield member, b[key]
        elif (other := unmatched.get(member.id)) is not None and is_same(member, other):
            yield member, unmatched.pop(other.id)
        else:
            yield member, None
    for other in unmatched.values():
        yield None, other


def _usage(usage: Usage | None) -> Fields:
    return {name: getattr(usage, name, None) for name in ("tokens_in", "tokens_out", "cost_usd")}


def _team(a: _Side, b: _Side) -> Iterator[Difference]:
    def fields_of(side: _Side, state: State) -> Fields:
        counts = {name: getattr(state, name) for name in ("runs_total", "tasks_total", "tasks_done", "tasks_failed")}
        file = {"file": getattr(state.team, "path", None), "file_sha256": getattr(state.team, "sha256", None)}
        return {**file, **counts, **_usage(state.usage), "time_ms": state.usage.time_ms}

    yield from _compare("team", (a, b), (a.state, b.state), fields_of, id="", name="team")


def _supervisors(a: _Side, b: _Side) -> Iterator[Difference]:
    def is_same(supervisor: Supervisor, other: Supervisor) -> bool:
        return supervisor.name == other.name or supervisor.members == other.members

    for pair in _match_pairs(a.supervisors, b.supervisors, is_same):
        supervisor_a, supervisor_b = pair
        side, supervisor = (b, supervisor_b) if supervisor_b is not None else (a, supervisor_a)
        if supervisor is None:
            continue
        identity = {"id": supervisor.id, "name": side.path(supervisor.id)}
        yield from _compare("supervisor", (a, b), pair, _supervisor_fields, **identity)
        if supervisor_a is not None and supervisor_b is not None:
            yield from _compare("settings", (a, b), pair, _settings_fields, **identity)


def _supervisor_fields(side: _Side, supervisor: Supervisor) -> Fields:
    return {
        "name": supervisor.name,
        "parent": name_of(side.state, supervisor.parent_id),
        "members": [name_of(side.state, member) for member in supervisor.members],
        "paused": supervisor.paused,
        "leaving": supervisor.leaving,
        "error": supervisor.error,
        "exhausted": supervisor.exhausted,
    }


_SETTINGS = (
    "aggregation",
    "aggregator",
    "participants",
    "auto_discover",
    "max_matches",
    "default_agent",
    "max_parallel",
    "max_agents",
)


def _settings_fields(_: _Side, supervisor: Supervisor) -> Fields:
    options = {name: getattr(supervisor.options, name) for name in field_names(supervisor.options)}
    return {"strategy": supervisor.mode, **{name: getattr(supervisor, name) for name in _SETTINGS}, **options}


def _agents(a: _Side, b: _Side) -> Iterator[Difference]:
    def is_same(agent: Agent, other: Agent) -> bool:
        return agent.created_seq == other.created_seq

    for pair in _match_pairs(a.agents, b.agents, is_same):
        agent_a, agent_b = pair
        side, agent = (b, agent_b) if agent_b is not None else (a, agent_a)
        if agent is not None:
            yield from _compare("agent", (a, b), pair, _agent_fields, id=agent.id, name=side.path(agent.id))


def _agent_fields(side: _Side, agent: Agent) -> Fields:
    counts = ("generation", "size", "done", "failed", "cancelled", "restarts")
    spec = side.state.specs.get(agent.spec)
    spec_fields = {} if spec is None else {f"spec.{field}": value for field, value in _spec_fields(side, spec).items()}
    return {
        "name": agent.name,
        "supervisor": name_of(side.state, agent.supervisor_id),
        "status": _status(agent),
        "error": agent.error,
        "circuit": agent.circuit,
        "exhausted": agent.exhausted,
        **{name: getattr(agent, name) for name in counts},
        "insights": len(agent.insights),
        **_usage(agent.usage),
        **spec_fields,
    }


def _status(subject: Agent | Run) -> str:
    """Return the status in words, with "paused" added if another status hides it."""
    word = subject.status.value
    return f"{word}, paused" if subject.paused and word != "paused" else word


def _spec_fields(_: _Side, spec: AgentSpec) -> Fields:
    return {field: getattr(spec, field) for field in field_names(spec) if field != "name"}


def _specs(a: _Side, b: _Side) -> Iterator[Difference]:
    was, now = a.state.registry, b.state.registry
    for name in {**was, **now}:
        if was.get(name) != now.get(name):
            pair = a.state.specs.get(was.get(name, "")), b.state.specs.get(now.get(name, ""))
            yield from _compare("spec", (a, b), pair, _spec_fields, id=name, name=name)


def _code(a: _Side, b: _Side) -> Iterator[Difference]:
    was, now = a.state.trusted, b.state.trusted
    for reference in {**was, **now}:
        pair = was.get(reference), now.get(reference)
        yield from _compare("code", (a, b), pair, lambda _, sha256: {"sha256": sha256}, id=reference, name=reference)


def _runs(a: _Side, b: _Side) -> Iterator[Difference]:
    return _compare_work("run", (a, b), (a.runs, b.runs), _is_same_run, _run_fields)


def _is_same_run(run: Run | RunSummary, other: Run | RunSummary) -> bool:
    return (run.started_ms, run.title) == (other.started_ms, other.title)


def _compare_work(
    subject: Subject,
    sides: tuple[_Side, _Side],
    work: tuple[Mapping[str, T], Mapping[str, T]],
    is_same: Callable[[T, T], bool],
    fields_of: Callable[[_Side, T], Fields],
) -> Iterator[Difference]:
    """Compare runs or tasks by id; different ones with one id count as a removed and an added one."""
    items_a, items_b = work
    for an_id in {**items_a, **items_b}:
        item_a, item_b = items_a.get(an_id), items_b.get(an_id)
        pairs: list[tuple[T | None, T | None]] = [(item_a, item_b)]
        if item_a and item_b and not is_same(item_a, item_b):
            pairs = [(item_a, None), (None, item_b)]
        for pair in pairs:
            title: str = getattr(pair[1] or pair[0], "title", "")
            yield from _compare(subject, sides, pair, fields_of, id=an_id, name=title)


def _run_fields(side: _Side, run: Run | RunSummary) -> Fields:
    fields = {
        "status": run.status.value if isinstance(run, RunSummary) else _status(run),
        "supervisor": name_of(side.state, run.supervisor_id),
        "strategy": run.strategy,
        "done": run.done,
        "failed": run.failed,
        **_usage(run.usage),
    }
    if isinstance(run, RunSummary):
        return {**fields, "tasks": run.tasks, "output": run.output, "error": run.error}
    return {
        **fields,
        "tasks": run.total,
        "output": None,
        "error": run.cancelled_for or run.exceeded,
        "priority": run.priority,
        "deadline_ms": run.deadline_ms,
    }


def _tasks(a: _Side, b: _Side) -> Iterator[Difference]:
    def is_same(task: Task, other: Task) -> bool:
        return task.created_ms == other.created_ms and task.run_id == other.run_id

    return _compare_work("task", (a, b), (_open_tasks(a, b), _open_tasks(b, a)), is_same, _task_fields)


def _open_tasks(side: _Side, other: _Side) -> dict[str, Task]:
    """Return the tasks of one side, except of runs that have ended on the other side: it keeps no tasks of those."""
    ended_run_ids = {
        run.id
        for run in side.state.runs.values()
        if isinstance(other_run := other.runs.get(run.id), RunSummary) and _is_same_run(run, other_run)
    }
    return {task.id: task for task in side.state.tasks.values() if task.run_id not in ended_run_ids}


def _task_fields(side: _Side, task: Task) -> Fields:
    return {
        "status": task.status.value,
        "agent": name_of(side.state, _agent_of(task)),
        "attempts": task.attempts,
        "priority": task.priority,
        "deadline_ms": task.deadline_ms,
        "steps": len(task.steps),
        "error": task.error,
        "output": task.output,
    }


def _agent_of(task: Task) -> str | None:
    """Return the agent that works on a task, or is planned for it while the task waits."""
    if task.attempt is not None or task.ended:
        return task.agent_id or task.worker_id
    return task.worker_id or task.agent_id


def _other_entities(a: _Side, b: _Side) -> Iterator[Difference]:
    """Compare questions, grants and insights of agents, which are only added and removed."""
    for subject, items_of, describe in _INDIVISIBLE:
        items_a, items_b = items_of(a.state), items_of(b.state)
        for an_id in {**items_a, **items_b}:
            pair = items_a.get(an_id), items_b.get(an_id)
            name = describe(pair[1] or pair[0])
            yield from _compare(subject, (a, b), pair, lambda *_: {}, id=an_id, name=name)


_INDIVISIBLE: tuple[tuple[Subject, Callable[[State], Mapping[str, Any]], Callable[[Any], str]], ...] = (
    ("question", lambda state: state.escalations, lambda escalation: preview(escalation.question)),
    ("grant", lambda state: state.grants, lambda grant: f"{'allows' if grant.allows else 'rejects'} {grant.tool}"),
    ("insight", lambda state: state.insights, lambda insight: preview(insight.text)),
)
_SUBJECTS = (_team, _supervisors, _agents, _specs, _code, _runs, _tasks, _other_entities)
