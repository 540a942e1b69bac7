"""Entities of the engine's own: timers, questions, ledgers of budgets, outcomes of commands."""

from decimal import Decimal
from typing import Any, Literal

from msgspec import field

from engine.core.records.records import JsonValue, entity


@entity
class Timer:
    """A moment that something waits for."""

    id: str
    """Its kind and its subject: `retry:t5`."""
    due_ms: int
    kind: str
    """What it is for; `decide.engine` has a handler for each."""
    subject: str
    """Id of the task, run, agent, supervisor or escalation that it is about."""


def timer_id(kind: str, subject: str) -> str:
    """Return the id of a timer: one of a kind for each subject."""
    return f"{kind}:{subject}"


OF_ATTEMPTS = frozenset({"ask", "approval", "permission"})
"""Kinds of questions that attempts ask and wait for; a task that begins again asks again."""


@entity
class Escalation:
    """A question that waits for a person."""

    id: str
    kind: str
    """What it is about; `decide.people.escalations` has a handler for each."""
    subject: str
    """Id of the task, run, agent or supervisor that it is about."""
    run_id: str | None
    question: str
    """One line."""
    options: list[str]
    """The answers that there are."""
    default: str | None
    """The answer when none is given in time; with None the question waits without a limit."""
    asked_ms: int
    detail: dict[str, JsonValue] = field(default_factory=dict)
    """What the handler of its kind needs besides."""
    due_ms: int | None = None
    left_ms: int | None = None
    """While its run is paused: the time until the default that is left when the run is resumed; `due_ms` is None."""


@entity
class Grant:
    """A person's answer for all calls of a tool by one generation of an agent."""

    id: str
    agent_id: str
    generation: int
    tool: str
    allows: bool
    """False where the calls are rejected without asking."""
    given_ms: int


@entity
class Ledger:
    """What has happened to the budget of a task, a run, an agent or a supervisor."""

    id: str
    """Whose it is."""
    warned: list[str] = field(default_factory=list)
    """The amounts that were warned about."""
    granted: dict[str, int] = field(default_factory=dict)
    """How many times the amount was granted on top of the first, by its name."""
    needs: dict[str, Decimal] = field(default_factory=dict)
    """What the call that did not fit any more needs of the amount, by its name."""


@entity
class Outcome:
    """What became of a command."""

    status: Literal["applied", "refused"]
    seq: int
    reason: str | None = None


@entity
class Undoable:
    """A command that can be taken back."""

    command: str
    """Its type."""
    summary: str
    inverse: JsonValue
    """The command that does it."""
    left: JsonValue
    """What it changed, as it left that (`queries.people.undoing.current_value_of`)."""

    @property
    def specs(self) -> list[str]:
        """Content hashes of the specs that the inverse brings back."""
        inverse: Any = self.inverse
        return [command["to"] for command in inverse.get("rollbacks", [inverse]) if command.get("to") is not None]


@entity
class Engine:
    """The last engine that this state knows of."""

    pid: int
    token: int
    version: str
    started_ms: int
    stopped_ms: int | None = None
    processes: int | None = None
    """Attempts in processes that may be at work where nothing is set: what its computer bears; None means no limit."""
