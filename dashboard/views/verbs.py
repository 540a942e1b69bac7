"""The `:` line: which words there are, what may follow each, and what a typed line means."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from dashboard.views.asking import SettingsLine
from engine.core.decide.swapping import MODES
from engine.core.queries.targets import words
from engine.core.state import State

PLACES: dict[str, str] = {
    "network": "1",
    "agents": "2",
    "tasks": "3",
    "events": "4",
    "runs": "5",
    "inbox": "8",
}
"""Every screen, with the key that goes there."""
FLAGS = frozenset({"now"})
"""Options without a value."""


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
    said: tuple[str, ...] = ()
    """Every word behind the first, options included, as it was typed."""

    def rest_as_line(self, place: int) -> str:
        """Return what stands behind the first `place` words as a line."""
        return " ".join(self.said[place:] if len(self.words) >= place else self.said)

    def word(self, place: int) -> str | None:
        """Return an argument; None where it was not given."""
        return self.words[place] if place < len(self.words) else None


class Misspoken(ValueError):
    """A line that means nothing; the message says what would."""


def _agents(state: State) -> list[str]:
    named = words(state)
    return sorted(named[agent_id] for agent_id in state.agents)


def _supervisors(state: State) -> list[str]:
    named = words(state)
    return [named[supervisor_id] for supervisor_id in state.supervisors]


def _members(state: State) -> list[str]:
    return _agents(state) + _supervisors(state)


def _pausable(state: State) -> list[str]:
    return _members(state) + list(state.runs)


def _work(state: State) -> list[str]:
    return [*state.runs, *(task.id for task in state.tasks.values() if not task.ended)]


def _tasks(state: State) -> list[str]:
    return [task.id for task in state.tasks.values() if not task.ended and task.kind == "agent"]


def _questions(state: State) -> list[str]:
    return list(state.escalations)


VERBS = (
    Verb("swap", "[AGENT …] [--with SPEC|FILE] [--mode MODE]", "give agents another spec while they work", _agents),
    Verb("rollback", "[AGENT] [--mode MODE]", "give an agent the spec of the generation before", _agents),
    Verb("undo", "", "take back the last swap"),
    Verb("strategy", "[SUPERVISOR] [MODE] [key=value …]", "change how a supervisor coordinates", _supervisors),
    Verb("pause", "[NAME]", "an agent, supervisor or run starts nothing new", _pausable),
    Verb("resume", "[NAME]", "what is paused goes on", _pausable),
    Verb("cancel", "[RUN|TASK]", "stop work at its next step", _work),
    Verb("retry", "[RUN|TASK]", "try failed work again", _work),
    Verb("priority", "[RUN|TASK] [0–9]", "how urgent work is: 0 goes first, 9 last", _work),
    Verb("deadline", "[RUN|TASK] [TIME|none]", "by when work has to have ended: 90s, 5m, 2h", _work),
    Verb("reassign", "[TASK] [AGENT] [--now]", "give a task to another agent", _tasks),
    Verb("answer", "[QUESTION] [ANSWER] [--output TEXT]", "answer what waits for a person", _questions),
    Verb("add", "FILE [--under SUPERVISOR]", "add the agents of a file"),
    Verb("remove", "[NAME]", "an agent, or an empty supervisor, leaves the team", _members),
    Verb("move", "[NAME] [SUPERVISOR]", "put a member, with all under it, under another supervisor", _members),
    Verb("capability", "[AGENT] [+WORD] [-WORD]", "change what an agent is able to do", _agents),
    Verb("set", "[SUPERVISOR] [key=value …]", "change what a supervisor allows", _supervisors),
    Verb("run", "[REQUEST]", "give the team a request"),
    Verb("engine", "", "who leads; start one where none is at work, or in place of one that hangs"),
    Verb("hand-over", "[--grace TIME]", "leave the team to an engine that stands by"),
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
        return Spoken(name, (rest.strip(),) if rest.strip() else (), {}, (rest.strip(),))
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
            options[key] = value if equals or key in FLAGS else next(left, "")
        else:
            plain.append(word)
    return Spoken(name, tuple(plain), options, tuple(words))


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


def _answers(state: State, question: str) -> list[str]:
    asked = state.escalations.get(question)
    return list(asked.options) if asked is not None else []


_SECOND: dict[str, Callable[[State, str], list[str]]] = {
    "move": lambda state, _: _supervisors(state),
    "reassign": lambda state, _: _agents(state),
    "priority": lambda state, _: [str(number) for number in range(10)],
    "deadline": lambda state, _: ["none"],
    "set": lambda state, _: [f"{key}=" for key in SettingsLine.KEYS],
    "answer": _answers,
    "rollback": lambda state, _: ["--mode"],
}
"""What the second word may be."""


def _choices(verb: Verb, before: list[str], state: State, modes: tuple[str, ...]) -> list[str]:
    if before and before[-1] == "--with":
        return sorted(state.registry)
    if before and before[-1] == "--under":
        return _supervisors(state)
    if before and before[-1] == "--mode":
        return list(MODES)
    if len(before) == 1 and verb.name in _SECOND:
        return _SECOND[verb.name](state, before[0])
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
