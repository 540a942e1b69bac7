"""Names and texts for what events and records give as ids and references: a bounded memory.

An event names only ids. The titles of open work are in the state; it forgets the tasks of finished runs, so the titles
seen last are kept here, and a sentence can still say which file was read.
"""

import json
import re
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any, Protocol

from engine.core import events as on
from engine.core.events import Event
from engine.core.records.values import StoredValue, TextRef, preview
from engine.core.state import Agent, Run, State, Supervisor, Task
from store.journals.records import Record

MAX_TITLES = 10_000
_SURPLUS = MAX_TITLES // 4
"""So many more are forgotten at once: one by one, each would be looked for behind all that were before it."""


class AttemptReference(Protocol):
    """An event about an attempt."""

    @property
    def run_id(self) -> str: ...

    @property
    def task_id(self) -> str: ...

    @property
    def agent_id(self) -> str | None: ...


class Names:
    """Names of members and of open work, and some `MAX_TITLES` titles of other work, by id.

    Any thread may ask and learn.
    """

    def __init__(self) -> None:
        self._members: dict[str, str] = {}
        self._state = State()
        self._titles: dict[str, str] = {}
        self.renames = 0
        """Goes up where a member got another name: sentences that were kept are made again then."""

    def of(self, an_id: str | None) -> str:
        """Return the name of an id; the id itself where none is known."""
        if an_id is None:
            return "engine"
        member = self._state.agents.get(an_id) or self._state.supervisors.get(an_id)
        # An earlier name may have been learned, from the event that added the member.
        name = member.name if member is not None else self._members.get(an_id) or self._titles.get(an_id)
        if name is None:
            work = self._state.tasks.get(an_id) or self._state.runs.get(an_id)
            name = an_id if work is None else work.title
        return name

    def ids_of(self, word: str) -> list[str]:
        """Return the ids whose names contain a word, in small letters."""
        works: tuple[Task | Run, ...] = (*self._state.tasks.values(), *self._state.runs.values())
        members: tuple[Agent | Supervisor, ...] = (*self._state.agents.values(), *self._state.supervisors.values())
        names_by_id = {work.id: work.title for work in works} | self._titles | self._members
        names_by_id |= {member.id: member.name for member in members}
        return [an_id for an_id, name in names_by_id.items() if word in name.casefold()]

    def work(self, attempt: AttemptReference) -> str:
        """Return what an attempt is at: a task that is called like its agent says less than its run."""
        title = self.of(attempt.task_id)
        if attempt.agent_id is None or title != self.of(attempt.agent_id):
            return title
        return f"its part of {preview(self.of(attempt.run_id), 24)}"

    def unknown(self, records: Iterable[Record]) -> list[str]:
        """Return the runs of tasks that records name and that have no title here."""
        return sorted(
            {record.run_id for record in records if record.run_id and record.task_id and not self._has(record.task_id)}
        )

    def _has(self, task_id: str) -> bool:
        return task_id in self._titles or task_id in self._state.tasks

    def learn(self, events: Iterable[Event]) -> None:
        """Remember every name that these events give."""
        for event in events:
            learn = _LEARN.get(type(event))
            if learn is None:
                self.renames += isinstance(event, on.MemberRenamed)
                continue
            if isinstance(event, on.AgentAdded | on.SupervisorAdded):
                self._members.update(learn(event))
                continue
            # Before and not after: what one event names is known whole, however much that is.
            if len(self._titles) > MAX_TITLES + _SURPLUS:
                for oldest in list(islice(self._titles, len(self._titles) - MAX_TITLES)):
                    self._titles.pop(oldest, None)
            self._titles.update(learn(event))

    def learn_state(self, state: State) -> None:
        """Remember the members of a state, and look up its open work there from now on."""
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
"""Digits of an id that tell it from all others in practice; `undo` takes as many."""


def short_id(command_id: str) -> str:
    """Return the id of a command as it is shown: of a random one its beginning."""
    return command_id[:_SHORT_ID_DIGITS] if _ID.fullmatch(command_id) else command_id


def without_title(error: str, title: str) -> str:
    """Return an error without the title of its task at its front, where that stands already."""
    return error.removeprefix(f"{title}: ")


def value_text(value: StoredValue, otherwise: str) -> str:
    """What the state itself has of a value, on one line; `otherwise` where only the journal has it."""
    if isinstance(value, TextRef):
        return otherwise
    return "" if value is None else " ".join(str(value).split())


MAX_CHARACTERS = 4_000_000


class Texts:
    """Values from the journal as far as they were read; what was asked for in vain is noted in `missing`."""

    def __init__(self) -> None:
        self._read: dict[tuple[int, str], str] = {}
        self._requested: set[tuple[int, str]] = set()
        self._characters = 0
        self.missing: list[TextRef] = []

    def look(self) -> None:
        """Begin another look; where much is kept, what the last look did not ask for is forgotten."""
        if self._characters > MAX_CHARACTERS:
            self._read = {key: text for key, text in self._read.items() if key in self._requested}
            self._characters = sum(map(len, self._read.values()))
        self._requested.clear()
        self.missing.clear()

    def of(self, value: StoredValue) -> str:
        """Return a value as text; `…` until the journal was read."""
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
        """Return a value; what was read is parsed, where it is JSON."""
        if not isinstance(value, TextRef):
            return value
        text = self.of(value)
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text

    def add(self, ref: TextRef, body: bytes | None) -> None:
        """Keep what event `ref.seq` has at `ref.path`; None says that the journal does not have the event."""
        text = "(no longer in the journal)" if body is None else _at(body, ref.path)
        self._read[ref.seq, ref.path] = text
        self._characters += len(text)


def _at(body: bytes, path: str) -> str:
    try:
        value: Any = json.loads(body)
        for part in path.split("."):
            value = value[int(part)] if isinstance(value, list) else value[part]
        return readable(value)
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        return "(not where the state says)"


def readable(value: Any) -> str:
    """Return a JSON value as a person reads it: a text as it is, all else indented."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def pretty(body: bytes) -> str:
    """Return the body of an event with indents; what is not JSON stands as it is."""
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return body.decode("utf-8", errors="replace")
