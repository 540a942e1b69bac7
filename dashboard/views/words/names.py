"""Bounded caches that resolve the ids and text references of events and records.

An event has only ids. The titles of open work are in the state, which drops the tasks of finished runs; the last titles
are kept here, so that old events can still be described.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, islice
from typing import Any, Protocol

from engine.core import events as on
from engine.core.events import Event
from engine.core.records.values import StoredValue, TextRef, preview
from engine.core.state import Agent, Run, State, Supervisor, Task
from store.journals.records import Record

MAX_TITLES = 10_000
_SURPLUS = MAX_TITLES // 4
"""Titles that are dropped at once: finding the oldest key of a dict is slow after many single deletions."""


class AttemptReference(Protocol):
    """An event about an attempt."""

    @property
    def run_id(self) -> str: ...

    @property
    def task_id(self) -> str: ...

    @property
    def agent_id(self) -> str | None: ...


class Names:
    """Names of members and of open work, and about `MAX_TITLES` titles of other work, by id.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._members: dict[str, str] = {}
        self._state = State()
        self._titles: dict[str, str] = {}
        self.renames = 0
        """Counts renames of members; cached sentences are invalid after one."""

    def of(self, an_id: str | None) -> str:
        """Return the name of an id; the id itself if it is unknown."""
        if an_id is None:
            return "engine"
        member = self._state.agents.get(an_id) or self._state.supervisors.get(an_id)
        # The state first: the learned name may be older than a rename.
        name = member.name if member is not None else self._members.get(an_id) or self._titles.get(an_id)
        if name is None:
            work = self._state.tasks.get(an_id) or self._state.runs.get(an_id)
            name = an_id if work is None else work.title
        return name

    def ids_of(self, word: str) -> list[str]:
        """Return the ids whose names contain a case-folded word."""
        works: tuple[Task | Run, ...] = (*self._state.tasks.values(), *self._state.runs.values())
        members: tuple[Agent | Supervisor, ...] = (*self._state.agents.values(), *self._state.supervisors.values())
        names_by_id = {work.id: work.title for work in works} | self._titles | self._members
        names_by_id |= {member.id: member.name for member in members}
        return [an_id for an_id, name in names_by_id.items() if word in name.casefold()]

    def work(self, attempt: AttemptReference) -> str:
        """Return the title of an attempt's work; that of its run if the task is named after its agent."""
        title = self.of(attempt.task_id)
        if attempt.agent_id is None or title != self.of(attempt.agent_id):
            return title
        return f"its part of {preview(self.of(attempt.run_id), 48)}"

    def unknown(self, records: Iterable[Record]) -> list[str]:
        """Return the runs of tasks in records whose titles are unknown."""
        return sorted(
            {record.run_id for record in records if record.run_id and record.task_id and not self._has(record.task_id)}
        )

    def _has(self, task_id: str) -> bool:
        return task_id in self._titles or task_id in self._state.tasks

    def learn(self, events: Iterable[Event]) -> None:
        """Store every name in these events."""
        for event in events:
            learn = _LEARN.get(type(event))
            if learn is None:
                self.renames += isinstance(event, on.MemberRenamed)
                continue
            if isinstance(event, on.AgentAdded | on.SupervisorAdded):
                self._members.update(learn(event))
                continue
            # Before the update and not after it, so that the names of one event are never dropped in part.
            if len(self._titles) > MAX_TITLES + _SURPLUS:
                for oldest in list(islice(self._titles, len(self._titles) - MAX_TITLES)):
                    self._titles.pop(oldest, None)
            self._titles.update(learn(event))

    def learn_state(self, state: State) -> None:
        """Store the names of the members of a state, and look up open work in it from now on."""
        for members in (state.supervisors, state.agents):
            self._members.update((member.id, member.name) for member in members.values())
        self._titles.update((run.id, run.title) for run in state.finished)
        self._state = state
        self.renames += 1


def _titles(*tasks: Any) -> list[tuple[str, str]]:
    return [(task.task_id, task.title) for task in tasks]


_LEARN: dict[type, Callable[[Any], Iterable[tuple[str, str]]]] = {
    on.AgentAdded: lambda event: [(event.agent_id, event.name)],
    on.SupervisorAdded: lambda event: [(event.supervisor_id, event.name)],
    on.RunSubmitted: lambda event: [(an_id, preview(event.request, 60)) for an_id in (event.run_id, event.root_id)],
    on.GroupPlanned: lambda event: _titles(*event.nodes),
    on.GroupGrown: lambda event: _titles(*event.added),
    on.RunFinished: lambda event: chain([(event.run_id, event.figures.title)], event.titles.items()),
    on.Delegated: lambda event: _titles(*event.children),
    on.StrategySwitched: lambda event: _titles(*(node for group in event.groups for node in group.added)),
}


_ID = re.compile("[0-9a-f]{32}")
_SHORT_ID_DIGITS = 8
"""Digits that are unique in practice; `undo` accepts as many."""


def short_id(command_id: str) -> str:
    """Return the id of a command as it is shown: a random id is shortened."""
    return command_id[:_SHORT_ID_DIGITS] if _ID.fullmatch(command_id) else command_id


def without_title(error: str, title: str) -> str:
    """Return an error without the title of its task at its start."""
    return error.removeprefix(f"{title}: ")


def format_labels(labels: Mapping[str, str]) -> str:
    """Return the labels of a run on one line, such as `team=web env=prod`."""
    return " ".join(f"{key}={text}" for key, text in labels.items())


def value_text(value: StoredValue, default: str) -> str:
    """Return a value of the state on one line; `default` if only the journal has it."""
    if isinstance(value, TextRef):
        return default
    return "" if value is None else " ".join(str(value).split())


MAX_CHARACTERS = 4_000_000


class JournalTexts:
    """A cache of values from the journal; `missing` lists the references that were requested and not read yet."""

    def __init__(self) -> None:
        self._read: dict[tuple[int, str], str] = {}
        self._requested: set[tuple[int, str]] = set()
        self._characters = 0
        self.missing: list[TextRef] = []

    def begin_redraw(self) -> None:
        """Begin another redraw; a large cache drops what the last redraw did not request."""
        if self._characters > MAX_CHARACTERS:
            self._read = {key: text for key, text in self._read.items() if key in self._requested}
            self._characters = sum(map(len, self._read.values()))
        self._requested.clear()
        self.missing.clear()

    def of(self, value: StoredValue) -> str:
        """Return a value as text; `…` until it was read from the journal."""
        if not isinstance(value, TextRef):
            return "" if value is None else readable(value)
        key = (value.seq, value.path)
        self._requested.add(key)
        text = self._read.get(key)
        if text is None:
            self.missing.append(value)
            return "…"
        return text

    def json(self, value: StoredValue | dict[str, Any] | list[Any]) -> Any:
        """Return a value; a text from the journal is parsed if it is JSON."""
        if not isinstance(value, TextRef):
            return value
        text = self.of(value)
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text

    def add(self, ref: TextRef, body: bytes | None) -> None:
        """Store the value at `ref.path` in the body of event `ref.seq`; None if the journal does not have the event."""
        text = "(no longer in the journal)" if body is None else _text_at(body, ref.path)
        self._read[ref.seq, ref.path] = text
        self._characters += len(text)


def _text_at(body: bytes, path: str) -> str:
    try:
        value: Any = json.loads(body)
        for part in path.split("."):
            value = value[int(part)] if isinstance(value, list) else value[part]
        return readable(value)
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        return "(not where the state says)"


def readable(value: Any) -> str:
    """Return a JSON value as text: a string as it is, everything else indented."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def pretty(body: bytes) -> str:
    """Return the body of an event as indented JSON; anything else as it is."""
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return body.decode("utf-8", errors="replace")
