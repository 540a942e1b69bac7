"""What differs between two states, by subject: the same team at two moments, or two teams.

Members are the same where they stand at the same place under the same name, else where one id was made by the same
event; runs and tasks where id and beginning are the same. Amounts that only the engine goes by are left out.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from engine.core.encoding.json_values import json_equal
from engine.core.queries.targets import name_of
from engine.core.queries.team.tree import above_of
from engine.core.records.records import JsonValue, fact, names
from engine.core.records.values import TextRef, Usage, preview
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, Run, RunSummary, State, Supervisor, Task

Subject: TypeAlias = Literal[
    "team", "supervisor", "settings", "agent", "spec", "code", "run", "task", "question", "grant", "insight"
]
Change: TypeAlias = Literal["added", "removed", "changed"]
Read: TypeAlias = Callable[[TextRef], JsonValue]
"""Returns the text that a state holds by reference."""
T = TypeVar("T")
Member = TypeVar("Member", Agent, Supervisor)
Fields: TypeAlias = Mapping[str, Any]
SHOWN_CHARS = 200
"""Of a text, where it differs."""


@fact
class Difference:
    """One thing that is not the same; added and removed things have no field, and their names as `b` or `a`."""

    subject: Subject
    id: str
    """Id of the thing in `b`; of what was removed in `a`. Of specs and code the name."""
    name: str
    """What a person calls it."""
    change: Change
    field: str | None = None
    a: JsonValue = None
    b: JsonValue = None


def differences(
    a: State, b: State, *, read_a: Read | None = None, read_b: Read | None = None, one_file: bool = True
) -> list[Difference]:
    """Return what differs from `a` to `b`.

    Args:
        a: One state.
        b: The other.
        read_a: Reads texts of `a`; None shows where they stand instead.
        read_b: Reads texts of `b`.
        one_file: Whether both are of one journal, in which equal references are equal texts; else all texts are read.
    """
    sides = _Side(a, read_a, reads_all=not one_file), _Side(b, read_b, reads_all=not one_file)
    return [one for compare in _SUBJECTS for one in compare(*sides)]


class _Side:
    """One of the two states, with what is looked up in it again and again."""

    def __init__(self, state: State, read: Read | None, *, reads_all: bool) -> None:
        self.state, self.read = state, read
        self._reads_all = reads_all
        self.supervisors = {self.path(one.id): one for one in state.supervisors.values()}
        self.agents = {self.path(one.id): one for one in state.agents.values()}
        self.runs: dict[str, Run | RunSummary] = {one.id: one for one in state.finished} | state.runs

    def path(self, member_id: str | None) -> str:
        """Return where a member stands, such as `chief/scout`."""
        agent = self.state.agents.get(member_id or "")
        supervisor = self.state.supervisors.get((agent.supervisor_id if agent is not None else member_id) or "")
        above = [one.name for one in above_of(self.state, supervisor)][::-1] if supervisor is not None else []
        return "/".join([*above, agent.name] if agent is not None else above)

    def plain(self, value: Any) -> JsonValue:
        """Return a value as JSON has it; of a long text its beginning."""
        if isinstance(value, TextRef):
            return preview(self.read(value), SHOWN_CHARS) if self.read is not None else f"(text of seq {value.seq:,})"
        if isinstance(value, str) and len(value) > SHOWN_CHARS:
            return preview(value, SHOWN_CHARS)
        if value is None or isinstance(value, str | int | float | bool):
            return value
        found: JsonValue = msgspec.to_builtins(value, str_keys=True)
        return found

    def comparable(self, told: Fields) -> Fields:
        """Return what a thing is compared by."""
        if self.read is None or not self._reads_all:
            return told
        return {name: self.read(value) if isinstance(value, TextRef) else value for name, value in told.items()}


def _compared(
    subject: Subject,
    sides: tuple[_Side, _Side],
    pair: tuple[T | None, T | None],
    told: Callable[[_Side, T], Fields],
    *,
    id: str,
    name: str,
) -> Iterator[Difference]:
    """Yield how one thing differs; `told` says what it is made of."""
    (side_a, side_b), (one, other) = sides, pair
    if one is None or other is None:
        if other is not None:
            yield Difference(subject=subject, id=id, name=name, change="added", b=name)
        elif one is not None:
            yield Difference(subject=subject, id=id, name=name, change="removed", a=name)
        return
    was, now = side_a.comparable(told(side_a, one)), side_b.comparable(told(side_b, other))
    for field, before in was.items():  # a field of only one of them, as the priority of an open run, is not a change
        after = now.get(field, before)
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


def _pairs(
    a: Mapping[str, Member], b: Mapping[str, Member], same: Callable[[Member, Member], bool]
) -> Iterator[tuple[Member | None, Member | None]]:
    """Yield matching pairs: by key, else by id where `same`; then the unmatched."""
    rest = {one.id: one for key, one in b.items() if key not in a}
    for key, one in a.items():
        if key in b:
            yield one, b[key]
        elif (other := rest.get(one.id)) is not None and same(one, other):
            yield one, rest.pop(other.id)
        else:
            yield one, None
    for other in rest.values():
        yield None, other


def _usage(usage: Usage | None) -> Fields:
    return {name: getattr(usage, name, None) for name in ("tokens_in", "tokens_out", "cost_usd")}


def _team(a: _Side, b: _Side) -> Iterator[Difference]:
    def told(side: _Side, state: State) -> Fields:
        counts = {name: getattr(state, name) for name in ("runs_total", "tasks_total", "tasks_done", "tasks_failed")}
        file = {"file": getattr(state.team, "path", None), "file_sha256": getattr(state.team, "sha256", None)}
        return {**file, **counts, **_usage(state.usage), "time_ms": state.usage.time_ms}

    yield from _compared("team", (a, b), (a.state, b.state), told, id="", name="team")


def _supervisors(a: _Side, b: _Side) -> Iterator[Difference]:
    def same(one: Supervisor, other: Supervisor) -> bool:
        return one.name == other.name or one.members == other.members

    for pair in _pairs(a.supervisors, b.supervisors, same):
        one, other = pair
        side, found = (b, other) if other is not None else (a, one)
        if found is None:
            continue
        said = {"id": found.id, "name": side.path(found.id)}
        yield from _compared("supervisor", (a, b), pair, _of_supervisor, **said)
        if one is not None and other is not None:
            yield from _compared("settings", (a, b), pair, _of_settings, **said)


def _of_supervisor(side: _Side, one: Supervisor) -> Fields:
    return {
        "name": one.name,
        "parent": name_of(side.state, one.parent_id),
        "members": [name_of(side.state, member) for member in one.members],
        "paused": one.paused,
        "leaving": one.leaving,
        "error": one.error,
        "exhausted": one.exhausted,
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


def _of_settings(_: _Side, one: Supervisor) -> Fields:
    options = {name: getattr(one.options, name) for name in names(one.options)}
    return {"strategy": one.mode, **{name: getattr(one, name) for name in _SETTINGS}, **options}


def _agents(a: _Side, b: _Side) -> Iterator[Difference]:
    def same(one: Agent, other: Agent) -> bool:
        return one.created_seq == other.created_seq

    for pair in _pairs(a.agents, b.agents, same):
        one, other = pair
        side, found = (b, other) if other is not None else (a, one)
        if found is not None:
            yield from _compared("agent", (a, b), pair, _of_agent, id=found.id, name=side.path(found.id))


def _of_agent(side: _Side, one: Agent) -> Fields:
    counts = ("generation", "size", "done", "failed", "cancelled", "restarts")
    spec = side.state.specs.get(one.spec)
    told = {} if spec is None else {f"spec.{field}": value for field, value in _of_spec(side, spec).items()}
    return {
        "name": one.name,
        "supervisor": name_of(side.state, one.supervisor_id),
        "status": _status(one),
        "error": one.error,
        "circuit": one.circuit,
        "exhausted": one.exhausted,
        **{name: getattr(one, name) for name in counts},
        "insights": len(one.insights),
        **_usage(one.usage),
        **told,
    }


def _status(one: Agent | Run) -> str:
    """Return the status that is shown, also that it is paused where another one hides that."""
    word = one.status.value
    return f"{word}, paused" if one.paused and word != "paused" else word


def _of_spec(_: _Side, spec: AgentSpec) -> Fields:
    return {field: getattr(spec, field) for field in names(spec) if field != "name"}


def _specs(a: _Side, b: _Side) -> Iterator[Difference]:
    was, now = a.state.registry, b.state.registry
    for name in {**was, **now}:
        if was.get(name) != now.get(name):
            pair = a.state.specs.get(was.get(name, "")), b.state.specs.get(now.get(name, ""))
            yield from _compared("spec", (a, b), pair, _of_spec, id=name, name=name)


def _code(a: _Side, b: _Side) -> Iterator[Difference]:
    was, now = a.state.trusted, b.state.trusted
    for reference in {**was, **now}:
        yield from _compared(
            "code",
            (a, b),
            (was.get(reference), now.get(reference)),
            lambda _, sha256: {"sha256": sha256},
            id=reference,
            name=reference,
        )


def _runs(a: _Side, b: _Side) -> Iterator[Difference]:
    return _work("run", (a, b), (a.runs, b.runs), _is_same_run, _of_run)


def _is_same_run(one: Run | RunSummary, other: Run | RunSummary) -> bool:
    return (one.started_ms, one.title) == (other.started_ms, other.title)


def _work(
    subject: Subject,
    sides: tuple[_Side, _Side],
    work: tuple[Mapping[str, T], Mapping[str, T]],
    same: Callable[[T, T], bool],
    told: Callable[[_Side, T], Fields],
) -> Iterator[Difference]:
    """Compare what has an id of its own; where one id stands for two things, one went and the other came."""
    was, now = work
    for an_id in {**was, **now}:
        one, other = was.get(an_id), now.get(an_id)
        pairs = [(one, None), (None, other)] if one and other and not same(one, other) else [(one, other)]
        for pair in pairs:
            title: str = getattr(pair[1] or pair[0], "title", "")
            yield from _compared(subject, sides, pair, told, id=an_id, name=title)


def _of_run(side: _Side, run: Run | RunSummary) -> Fields:
    told = {
        "status": run.status.value if isinstance(run, RunSummary) else _status(run),
        "supervisor": name_of(side.state, run.supervisor_id),
        "strategy": run.strategy,
        "done": run.done,
        "failed": run.failed,
        **_usage(run.usage),
    }
    if isinstance(run, RunSummary):
        return {**told, "tasks": run.tasks, "output": run.output, "error": run.error}
    return {
        **told,
        "tasks": run.total,
        "output": None,
        "error": run.cancelled_for or run.exceeded,
        "priority": run.priority,
        "deadline_ms": run.deadline_ms,
    }


def _tasks(a: _Side, b: _Side) -> Iterator[Difference]:
    def same(one: Task, other: Task) -> bool:
        return one.created_ms == other.created_ms and one.run_id == other.run_id

    return _work("task", (a, b), (_unended(a, b), _unended(b, a)), same, _of_task)


def _unended(side: _Side, other: _Side) -> dict[str, Task]:
    """Return the tasks of one side but those whose run has ended on the other, where no tasks of it are kept."""
    ended = {
        run.id
        for run in side.state.runs.values()
        if isinstance(found := other.runs.get(run.id), RunSummary) and _is_same_run(run, found)
    }
    return {task.id: task for task in side.state.tasks.values() if task.run_id not in ended}


def _of_task(side: _Side, task: Task) -> Fields:
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
    """Return the agent at work on a task; if the task waits, the one that is to take it, even if another had begun."""
    if task.attempt is not None or task.ended:
        return task.agent_id or task.worker_id
    return task.worker_id or task.agent_id


def _waiting(a: _Side, b: _Side) -> Iterator[Difference]:
    """Compare questions, grants and memories of agents: each is added or removed whole."""
    for subject, of, name in _WHOLE:
        was, now = of(a.state), of(b.state)
        for an_id in {**was, **now}:
            found = now.get(an_id) or was[an_id]
            yield from _compared(
                subject, (a, b), (was.get(an_id), now.get(an_id)), lambda *_: {}, id=an_id, name=name(found)
            )


_WHOLE: tuple[tuple[Subject, Callable[[State], Mapping[str, Any]], Callable[[Any], str]], ...] = (
    ("question", lambda state: state.escalations, lambda one: preview(one.question)),
    ("grant", lambda state: state.grants, lambda one: f"{'allows' if one.allows else 'rejects'} {one.tool}"),
    ("insight", lambda state: state.insights, lambda one: preview(one.text)),
)
_SUBJECTS = (_team, _supervisors, _agents, _specs, _code, _runs, _tasks, _waiting)
