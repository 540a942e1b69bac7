"""Errors of the core: refusals for people to read, journals that cannot be folded, and defects."""

import re
from collections.abc import Iterable

from typing_extensions import override


def snake_case(name: str) -> str:
    """Return the name of a class in snake case, as JSON has it, such as `unknown_agent`."""
    return re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower()


class CoreError(Exception):
    """Base of the core's errors."""


class CorruptJournal(CoreError):
    """The journal cannot be read or folded: it was changed by something else, or this version has a defect.

    Attributes:
        seq: The event that cannot be folded.
    """

    def __init__(self, seq: int, detail: str) -> None:
        super().__init__(
            f"the journal cannot be folded at seq {seq}: {detail}; run 'quarterdeck doctor --verify', "
            "and where that finds each event as it was written, report this as a defect"
        )
        self.seq = seq


class ChangesNothing(CoreError):
    """A follow-up left the state unchanged, so it would repeat endlessly. A defect of the core."""

    def __init__(self, followup: object) -> None:
        super().__init__(f"{followup} changed nothing")


class NewerKind(CoreError):
    """The journal holds a kind of event that only a newer version knows.

    Attributes:
        seq: The event.
        kind: Its kind.
    """

    def __init__(self, seq: int, kind: str) -> None:
        super().__init__(f"event {seq} is of the kind {kind!r}, which this version does not know; update quarterdeck")
        self.seq = seq
        self.kind = kind


class Refused(CoreError):
    """A command is not carried out.

    Attributes:
        code: The kind of refusal.
        reason: What, why, and what to do, in one line.
    """

    code = "refused"

    @override
    def __init_subclass__(cls) -> None:
        """Derive `code` from the name of the class."""
        if "code" not in vars(cls):
            cls.code = snake_case(cls.__name__)

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BadValue(Refused, ValueError):
    """An invalid value in a spec, an option, a limit, a policy or a command.

    A `ValueError` too, for programs that build a spec in Python.

    Attributes:
        path: The path to the value: names of fields and keys, indices of lists.
        text: What the value must be, and what it is.
    """

    def __init__(self, whose: str, path: tuple[str | int, ...], text: str) -> None:
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
        super().__init__(f"{whose}: {where} {text}" if where else f"{whose} {text}")
        self.path = path
        self.text = text


def did_you_mean(near: Iterable[str], fallback: str) -> str:
    """Return a question that suggests the names nearest to an unknown one; `fallback` if there are none."""
    names = list(near)
    return f"did you mean {' or '.join(names)}?" if names else fallback


class UnknownAgent(Refused):
    """A command named an agent that does not exist."""

    def __init__(self, name: str, near: Iterable[str] = ()) -> None:
        super().__init__(f"no agent {name!r:.200}; {did_you_mean(near, 'list them with: quarterdeck agents')}")


class NoTeam(Refused):
    """There is no supervisor to submit work to."""

    def __init__(self) -> None:
        super().__init__("there is no team here yet; load one with: quarterdeck up TEAM.yaml")


class UnknownSupervisor(Refused):
    """A command named a supervisor that does not exist."""

    def __init__(self, name: str, near: Iterable[str] = ()) -> None:
        super().__init__(f"no supervisor {name!r:.200}; {did_you_mean(near, 'list them with: quarterdeck ps')}")


class UnknownTarget(Refused):
    """A command named something that does not exist."""

    def __init__(self, name: str, near: Iterable[str] = ()) -> None:
        super().__init__(
            f"there is no {name!r:.200} here; {did_you_mean(near, 'list them with: quarterdeck agents, runs, tasks')}"
        )


class UnknownWork(Refused):
    """A command named a run or a task that is not open."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no open run or task {name!r:.200}; list them with: quarterdeck runs, quarterdeck tasks")


class UnknownTask(Refused):
    """The journal has no task with this id."""

    code = "unknown_work"

    def __init__(self, task_id: str) -> None:
        super().__init__(f"there is no task {task_id!r:.200}; list them with: quarterdeck tasks --all")


class UnknownSpec(Refused):
    """A command named a spec that the registry does not have."""

    def __init__(self, name: str, near: Iterable[str] = ()) -> None:
        super().__init__(
            f"no spec {name!r:.200} in the registry; {did_you_mean(near, 'give a file with the spec instead')}"
        )


class UnknownStrategy(Refused):
    """A command named a coordination strategy that does not exist."""

    def __init__(self, name: str, strategies: Iterable[str]) -> None:
        super().__init__(f"no coordination strategy {name!r:.200}; there are {', '.join(strategies)}")


class AmbiguousName(Refused):
    """A name matches several objects."""

    def __init__(self, name: str, choices: Iterable[str]) -> None:
        super().__init__(f"{name!r} is not unique; say one of {', '.join(choices)}")


class DuplicateName(Refused):
    """A name is in use already."""

    def __init__(self, name: str, where: str) -> None:
        super().__init__(f"{where} already has a member {name!r}; choose another name or remove that one first")


class NoAgentMatches(Refused):
    """No agent has the requested name or capability.

    Attributes:
        capability: What was requested.
        near: Names of those that are nearest to it.
    """

    def __init__(self, capability: str, near: Iterable[str] = ()) -> None:
        self.capability, self.near = capability, list(near)
        super().__init__(f"no agent can {capability!r}; {did_you_mean(self.near, 'add one with that specialty')}")


class NotTrusted(Refused):
    """A command names code that the operator has not allowed.

    Attributes:
        references: What is not trusted.
    """

    def __init__(self, references: Iterable[str], hint: str = "allow them with --trust") -> None:
        self.references = list(references)
        super().__init__(f"not trusted: {', '.join(self.references)}; {hint}")
