"""Completion of filters: keys first, then the values that the team has for them."""

from collections.abc import Callable, Iterable

from dashboard.views.words.filters import KEYS, last_token
from dashboard.views.words.glyphs import ASKS
from engine.core.events import KINDS
from engine.core.state import AgentStatus, RunStatus, State, TaskStatus

HINT = 'words · agent: run: task: supervisor: kind: status: tool: model: · >5s · /expression/ · "words" · -term'
"""Shown before anything was typed."""


def suggestions(written: str, state: State) -> list[str]:
    """Return whole filters that `written` may become, the likeliest first."""
    token = last_token(written)
    bare = token.removeprefix("-")
    start = written[: len(written) - len(bare)]
    if not bare or bare[0] in '"/<>':
        return []
    key, colon, value = bare.partition(":")
    if not colon:
        return [f"{start}{one}:" for one in KEYS if one.startswith(bare)]
    begun = value.removeprefix('"').casefold()
    found = dict.fromkeys(_WORDS[key](state)) if key in _WORDS else {}
    whole = [f"{start}{keyed(key, one)}" for one in found if one.casefold().startswith(begun)]
    return [one for one in whole if one.startswith(written) and one != written]


def keyed(key: str, value: str) -> str:
    """Return the term that asks for a value under a key."""
    plain = value and not any(letter.isspace() or letter == '"' for letter in value)
    return f"{key}:{value}" if plain else f'{key}:"{value}"'


def _statuses(_: State) -> Iterable[str]:
    known = {status.value for statuses in (AgentStatus, TaskStatus, RunStatus) for status in statuses}
    return sorted({*known, ASKS.word})


_WORDS: dict[str, Callable[[State], Iterable[str]]] = {
    "agent": lambda state: (agent.name for agent in state.agents.values()),
    "run": lambda state: state.runs,
    "task": lambda state: state.tasks,
    "supervisor": lambda state: (supervisor.name for supervisor in state.supervisors.values()),
    "kind": lambda _: sorted(KINDS),
    "status": _statuses,
    "tool": lambda state: (str(tool) for spec in state.specs.values() for tool in (*spec.tools, *spec.mcp)),
    "model": lambda state: (
        model
        for spec in state.specs.values()
        for model in ([spec.model] if isinstance(spec.model, str) else spec.model or ())
    ),
}
