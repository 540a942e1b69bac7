"""The `:` line: which words there are, what may follow each, and what a typed line means."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from engine.core.state import State

PLACES = ("network", "agents", "tasks", "events", "runs")


@dataclass(frozen=True, slots=True)
class Verb:
    """A word that begins a command line."""

    name: str
    arguments: str
    does: str
    completes: Callable[[State], list[str]] | None = None


@dataclass(frozen=True, slots=True)
class Spoken:
    """A line that was understood."""

    verb: str
    words: tuple[str, ...]
    options: dict[str, str]

    def word(self, place: int) -> str | None:
        """Return an argument; None where it was not given."""
        return self.words[place] if place < len(self.words) else None


class Misspoken(ValueError):
    """A line that means nothing; the message says what would."""


def _agents(state: State) -> list[str]:
    return sorted(agent.name for agent in state.agents.values())


def _supervisors(state: State) -> list[str]:
    return [supervisor.name for supervisor in state.supervisors.values()]


def _members(state: State) -> list[str]:
    return _agents(state) + _supervisors(state)


def _pausable(state: State) -> list[str]:
    return _members(state) + list(state.runs)


def _work(state: State) -> list[str]:
    return [*state.runs, *(task.id for task in state.tasks.values() if not task.ended)]


VERBS = (
    Verb("swap", "[AGENT] [--with SPEC|FILE]", "give an agent another spec while it works", _agents),
    Verb("strategy", "[SUPERVISOR] [MODE]", "change how a supervisor coordinates", _supervisors),
    Verb("pause", "[NAME]", "an agent, supervisor or run starts nothing new", _pausable),
    Verb("resume", "[NAME]", "what is paused goes on", _pausable),
    Verb("cancel", "[RUN|TASK]", "stop work at its next step", _work),
    Verb("retry", "[RUN|TASK]", "try failed work again", _work),
    Verb("add", "FILE [--under SUPERVISOR]", "add the agents of a file"),
    Verb("remove", "[NAME]", "an agent, or an empty supervisor, leaves the team", _members),
    Verb("run", "[REQUEST]", "give the team a request"),
    Verb("engine", "", "start one where none is at work, or in place of one that hangs"),
    Verb("export", "[FILE]", "write the whole state to an archive"),
    Verb("import", "[FILE]", "take in an archive; shows first what it would do"),
    *(Verb(place, "", f"go to {place.capitalize()}") for place in PLACES),
    Verb("theme", "[dark|light]", "change the colours", lambda state: ["dark", "light"]),
    Verb("help", "", "the keys of this screen"),
    Verb("quit", "", "close the dashboard; the team goes on"),
)
_BY_NAME = {verb.name: verb for verb in VERBS}
_ALIASES = {"new": "run", "q": "quit", "net": "network", "rm": "remove", "?": "help"}


def understand(line: str) -> Spoken:
    """Return what a line means.

    Raises:
        Misspoken: If it begins with no known word, or its quotes do not close.
    """
    head, _, rest = line.strip().partition(" ")
    name = _ALIASES.get(head, head)
    if name not in _BY_NAME:
        fitting = [verb for verb in _BY_NAME if verb.startswith(name)] if name else []
        if len(fitting) != 1:
            raise Misspoken(f"no command {head!r}; there are {', '.join(_BY_NAME)}")
        name = fitting[0]
    if name == "run":
        return Spoken(name, (rest.strip(),) if rest.strip() else (), {})
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise Misspoken(f"{name}: the quotes do not close") from error
    return _sorted(name, words)


def _sorted(name: str, words: list[str]) -> Spoken:
    plain, options = [], {}
    left = iter(words)
    for word in left:
        if word.startswith("--") and len(word) > 2:
            key, equals, value = word[2:].partition("=")
            options[key] = value if equals else next(left, "")
        else:
            plain.append(word)
    return Spoken(name, tuple(plain), options)


def completions(line: str, state: State, modes: tuple[str, ...]) -> list[str]:
    """Return whole lines that `line` may become, the likeliest first."""
    head, space, rest = line.partition(" ")
    if not space:
        return [verb.name for verb in VERBS if verb.name.startswith(head) and verb.name != head]
    verb = _BY_NAME.get(_ALIASES.get(head, head))
    if verb is None:
        return []
    before, _, last = rest.rpartition(" ")
    choices = _choices(verb, before.split(), state, modes)
    start = line[: len(line) - len(last)]
    return [start + choice for choice in choices if choice.startswith(last) and choice != last]


def _choices(verb: Verb, before: list[str], state: State, modes: tuple[str, ...]) -> list[str]:
    if before and before[-1] == "--with":
        return sorted(state.registry)
    if before and before[-1] == "--under":
        return _supervisors(state)
    if verb.name == "strategy" and len(before) == 1:
        return list(modes)
    if verb.name == "swap" and len(before) == 1:
        return ["--with"]
    if before or verb.completes is None:
        return []
    return verb.completes(state)


def hint(line: str) -> str:
    """Return what the word that stands there expects and does; empty for none."""
    name = line.strip().partition(" ")[0]
    verb = _BY_NAME.get(_ALIASES.get(name, name))
    return f"{verb.name} {verb.arguments}  {verb.does}".replace("   ", "  ") if verb is not None else ""
