"""Completion of filters: keys first, then the values that the team has for them."""

from collections.abc import Callable, Iterable

from dashboard.views.words.filters import KEYS, last_token
from dashboard.views.words.glyphs import ACTIVITY
from engine.core.events import KINDS
from engine.core.queries.work.labels import labels_by_run
from engine.core.state import AgentStatus, RunStatus, State, TaskStatus

HINT = 'words · agent: run: task: supervisor: kind: status: tool: model: label: · >5s · /expression/ · "words" · -term'
"""Placeholder of an empty filter."""


def suggestions(text: str, state: State) -> list[str]:
    """Return complete filters that start with `text`, the likeliest first."""
    token = last_token(text)
    bare = token.removeprefix("-")
    start = text[: len(text) - len(bare)]
    if not bare or bare[0] in '"/<>':
        return []
    key, colon, value = bare.partition(":")
    if not colon:
        return [f"{start}{known_key}:" for known_key in KEYS if known_key.startswith(bare)]
    begun = value.removeprefix('"').casefold()
    values = dict.fromkeys(_WORDS[key](state)) if key in _WORDS else {}
    whole = [f"{start}{format_term(key, candidate)}" for candidate in values if candidate.casefold().startswith(begun)]
    return [suggestion for suggestion in whole if suggestion.startswith(text) and suggestion != text]


def format_term(key: str, value: str) -> str:
    """Return the term that matches a value under a key."""
    plain = value and not any(letter.isspace() or letter == '"' for letter in value)
    return f"{key}:{value}" if plain else f'{key}:"{value}"'


def _statuses(_: State) -> Iterable[str]:
    names = {status.value for statuses in (AgentStatus, TaskStatus, RunStatus) for status in statuses}
    return sorted({*names, *ACTIVITY, *(mark.word for mark in ACTIVITY.values())})


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
    "label": lambda state: (
        f"{key}={text}" for labels in labels_by_run(state).values() for key, text in labels.items()
    ),
}
