"""Entities of the engine: timers, questions, grants, ledgers of budgets, outcomes of commands."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from msgspec import field

from engine.core.records.records import JsonValue, entity
from engine.core.records.shared import EMPTY


@entity
class Timer:
    """A point in time at which the engine decides about a subject."""

    id: str
    """Kind and subject, such as `retry:t5`."""
    due_ms: int
    kind: str
    """Its purpose; a key of `decide.engine.ON_TIMER`."""
    subject: str
    """Id of the task, run, agent, supervisor or escalation that it is about."""


def timer_id(kind: str, subject: str) -> str:
    """Return the id of a timer: one of a kind for each subject."""
    return f"{kind}:{subject}"


NOBODY = "nobody"
"""Kind of the question about work that nobody may take; the work stays in its queue meanwhile."""
OF_ATTEMPTS = frozenset({"ask", "approval", "permission"})
"""Kinds of questions that attempts ask and wait for; a task that restarts asks again."""


@entity
class Escalation:
    """A question that waits for a person."""

    id: str
    kind: str
    """Kind of question; a key of `decide.people.escalations.ON_ANSWER`."""
    subject: str
    """Id of the task, run, agent or supervisor that it is about."""
    run_id: str | None
    question: str
    """One line."""
    options: list[str]
    """The possible answers."""
    default: str | None
    """The answer if none is given in time; None waits without a limit."""
    asked_ms: int
    detail: dict[str, JsonValue] = field(default_factory=dict)
    """Further data for the handler of its kind."""
    due_ms: int | None = None
    left_ms: int | None = None
    """While its run is paused: the remaining time until the default answer; `due_ms` is None then."""


GrantScope: TypeAlias = Literal["task", "run", "until", "always"]
"""What a grant holds for: a task, a run, until a time, or as long as its generation of the agent."""


@entity
class Grant:
    """A person's answer for further calls of a tool by one generation of an agent."""

    id: str
    agent_id: str
    generation: int
    tool: str
    allows: bool
    """False if the calls are rejected without asking."""
    given_ms: int
    scope: GrantScope = "always"
    scope_id: str | None = None
    """Id of the task or the run that it holds for."""
    until_ms: int | None = None
    """When it ends, UTC milliseconds."""
    where: Mapping[str, str] = EMPTY
    """It holds for calls with these arguments alone: JSON texts by name."""


@entity
class Ledger:
    """Warnings and extensions of the budget of a task, a run, an agent or a supervisor."""

    id: str
    """Id of that task, run, agent or supervisor."""
    warned: list[str] = field(default_factory=list)
    """Names of the amounts with a recorded warning."""
    granted: dict[str, int] = field(default_factory=dict)
    """How many times the original limit was granted again, by name of the amount."""
    needs: dict[str, Decimal] = field(default_factory=dict)
    """Estimated need of the model call that exceeded the budget, by name of the amount."""
    raised: dict[str, Decimal] = field(default_factory=dict)
    """What was added to the limit besides, in its unit, by name of the amount."""


@entity
class Outcome:
    """The outcome of a command."""

    status: Literal["applied", "refused"]
    seq: int
    reason: str | None = None


@entity
class Undoable:
    """A command that can be undone."""

    command: str
    """Its type."""
    summary: str
    inverse: JsonValue
    """The command that undoes it."""
    left: JsonValue
    """The changed value right after the command (`queries.people.inverses.current_value_of`)."""
    at_ms: int = 0
    seq: int = 0
    """The event that applied it; 0 if an earlier version did."""

    @property
    def specs(self) -> list[str]:
        """Content hashes of the specs that the inverse restores."""
        inverse: Any = self.inverse
        return [command["to"] for command in inverse.get("rollbacks", [inverse]) if command.get("to") is not None]


@entity
class Irrevocable:
    """A change that cannot be undone; an undo without an id does not go beyond it."""

    command: str
    """The type of its command."""
    summary: str
    at_ms: int
    seq: int
    """The event that applied it."""


@entity
class Engine:
    """The last engine of the journal."""

    pid: int
    token: int
    version: str
    started_ms: int
    stopped_ms: int | None = None
    processes: int | None = None
    """Default limit on concurrent attempts in child processes; None means no limit."""
