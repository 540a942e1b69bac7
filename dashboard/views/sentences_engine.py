"""Sentences about the engine, commands, and what was loaded or imported."""

from collections.abc import Callable
from typing import Any

from dashboard.views.amounts import counted
from dashboard.views.names import Names
from engine.core.events import (
    CommandApplied,
    CommandRefused,
    EngineStarted,
    EngineStopped,
    ImportBegan,
    PartImported,
    ReferencesTrusted,
    SignalDropped,
    StateImported,
    SummariesImported,
    TeamLoaded,
)


def _started(event: EngineStarted, names: Names) -> str:
    lost = f"; {counted(event.lost, 'acknowledged event')} before it are lost" if event.lost else ""
    return f"engine {event.pid} started (version {event.version}, token {event.token}){lost}"


def _stopped(event: EngineStopped, names: Names) -> str:
    return f"the engine stopped: {event.reason}"


def _loaded(event: TeamLoaded, names: Names) -> str:
    return f"team file {event.path} was read"


def _trusted(event: ReferencesTrusted, names: Names) -> str:
    return f"{counted(len(event.references), 'reference')} trusted: {', '.join(event.references)}"


def _applied(event: CommandApplied, names: Names) -> str:
    return f"{event.sender or 'somebody'}: {event.summary or event.command}"


def _refused(event: CommandRefused, names: Names) -> str:
    return f"{event.sender or 'somebody'}: {event.command} refused: {event.reason}"


def _dropped(event: SignalDropped, names: Names) -> str:
    about = f" of {names.of(event.task_id)}" if event.task_id else ""
    return f"a {event.signal} signal{about} could not be decided, a defect: {event.error}"


_NOUNS = {"registry": "name of a spec", "finished": "finished run"}


def _import_began(event: ImportBegan, names: Names) -> str:
    return f"{event.path} is being taken in"


def _part(event: PartImported | SummariesImported, names: Names) -> str:
    kinds = event.state.items() if isinstance(event.state, dict) else ()
    found = [counted(len(each), _NOUNS.get(kind, kind[:-1])) for kind, each in kinds if isinstance(each, dict | list)]
    return f"a part of an archive came in: {', '.join(found) or counted(len(event.texts), 'text')}"


def _imported(event: StateImported, names: Names) -> str:
    return f"a state came in from {event.path}{', paused' if event.paused else ''}"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {
    EngineStarted: _started,
    EngineStopped: _stopped,
    TeamLoaded: _loaded,
    ReferencesTrusted: _trusted,
    CommandApplied: _applied,
    CommandRefused: _refused,
    SignalDropped: _dropped,
    ImportBegan: _import_began,
    PartImported: _part,
    SummariesImported: _part,
    StateImported: _imported,
}
