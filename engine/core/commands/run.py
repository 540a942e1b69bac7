"""Commands about requests and the way they are worked on."""

from typing import Literal

from msgspec import field

from engine.core.commands.team import Target
from engine.core.limits import Limits
from engine.core.policies.records import Chain
from engine.core.records import JsonValue, fact
from engine.core.spec import Aggregation
from engine.core.validation.bounds import Label, Message, Name, Priority, Seconds


@fact
class Submit:
    """Give a request to a supervisor."""

    type: Literal["submit"] = "submit"
    request: JsonValue
    supervisor: Target | None = None
    """None is the first root."""
    on_failure: Chain = ()
    """What happens when a task of it fails, in place of what its agents' specs say."""
    priority: Priority | None = None
    """0, the most urgent, to 9; None is 5."""
    deadline_s: Seconds | None = None
    """How long it may take from now on, in seconds."""
    limits: Limits | None = None
    """What it may spend."""
    category: Label | None = None
    """The kind of work that it is, for supervisors with strategies by category; None lets it be found."""
    after: list[str] = field(default_factory=list)
    """Runs that must be done before it begins; they may have ended long ago."""
    conversation: Label | None = None
    """The conversation that it goes on with, or begins: model agents see the requests and answers before it."""


@fact
class SetPriority:
    """Change how urgent a run or a task is, also while it waits or runs."""

    type: Literal["set_priority"] = "set_priority"
    target: Target
    priority: Priority


@fact
class SetDeadline:
    """Change by when a run or a task has to have ended."""

    type: Literal["set_deadline"] = "set_deadline"
    target: Target
    deadline_s: Seconds | None = None
    """Seconds from now on; None takes the deadline away."""
    due_ms: int | None = None
    """The moment itself, UTC milliseconds; in place of `deadline_s`."""


@fact
class Reassign:
    """Give a task to an agent by hand, also one that is at work."""

    type: Literal["reassign"] = "reassign"
    task: Target
    agent: Target
    now: bool = False
    """True stops an attempt at work at once, False at its next step; its finished steps are kept."""


@fact
class Answer:
    """Answer a question that waits for a person."""

    type: Literal["answer"] = "answer"
    escalation: Target
    """Id of the question, or of the task that waits for its answer."""
    answer: str
    """One of the options of the question."""
    output: JsonValue = None
    """With the answer `use`: the output that stands for the work; with `reply`: what the agent is told."""
    also: list[Target] = field(default_factory=list)
    """Questions that get the same answer; all of them, or none."""
    alike: bool = False
    """All questions that are alike get it too: of the same kind, about the same tool or in the same words."""


@fact
class RevokeGrant:
    """Ask a person again about calls of a tool."""

    type: Literal["revoke_grant"] = "revoke_grant"
    grant: Target
    """Id of the grant."""


@fact
class Cancel:
    """Stop a run, a task or what an agent is at, at its next steps; what is done is kept."""

    type: Literal["cancel"] = "cancel"
    target: Target
    reason: str = "cancelled by the operator"
    grace_s: Seconds | None = None
    """How long work may go on to its next step before it is stopped and left, in seconds; None is what supervisors say.
    """


@fact
class Abort:
    """Stop an agent's work, a task or a run where it is, with everything below it; what is done is kept."""

    type: Literal["abort"] = "abort"
    target: Target
    """An agent stands for the tasks that it is at."""
    reason: str = "aborted by the operator"


@fact
class Steer:
    """Say something to conversations under way; each hears it at its next turn."""

    type: Literal["steer"] = "steer"
    target: Target
    """An agent, a task or a run; all work below hears it too."""
    text: Message
    now: bool = False
    """Cut a turn short that cannot be joined otherwise."""


@fact
class RetryWork:
    """Try a failed or backing-off task again now; or submit the request of a finished run again."""

    type: Literal["retry_work"] = "retry_work"
    target: Target


@fact
class SwitchStrategy:
    """Change how a supervisor coordinates, in the middle of its runs."""

    type: Literal["switch_strategy"] = "switch_strategy"
    supervisor: Target | None = None
    mode: Label | None = None
    """None keeps the mode and changes the aggregation only."""
    aggregation: Aggregation | None = None
    aggregator: Name | None = None
    preserve_agent_states: bool = True
    """False stops what is at work at its next step and keeps its partial results as context."""
    settings: dict[str, JsonValue] | None = None
    """What the strategy asks for; None keeps what is set where the mode stays, else takes its defaults."""
    lead: Name | None = None
    """The agent that leads, for `delegate`; None keeps the one that is set."""
    scope: Literal["run", "open", "new"] = "open"
    """`run` rewires one run and leaves the supervisor as it is; `open` rewires open runs too; `new` leaves them."""
    run: str | None = None
    """With the scope `run`: which."""
