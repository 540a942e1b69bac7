"""Commands about runs and tasks, questions, and strategies."""

from typing import Literal

from msgspec import field

from engine.core.commands.base import CommandBase
from engine.core.commands.team import Target
from engine.core.records.records import JsonValue, fact
from engine.core.specs.failure_policies import Chain
from engine.core.specs.limits import Limits
from engine.core.specs.spec import Aggregation
from engine.core.validation.bounds import Label, Message, Name, Priority, Seconds


@fact
class Submit(CommandBase):
    """Submit a request to a supervisor."""

    request: JsonValue
    supervisor: Target | None = None
    """None is the first root supervisor."""
    on_failure: Chain = ()
    """Failure policies of its tasks, in place of those of the agents' specs."""
    priority: Priority | None = None
    """0, the most urgent, to 9; None is 5."""
    deadline_s: Seconds | None = None
    """Time until its deadline, in seconds; None sets none."""
    limits: Limits | None = None
    """Its budget; None sets none."""
    category: Label | None = None
    """The category of the work, for supervisors with strategies by category; None derives it from the request."""
    after: list[Target] = field(default_factory=list)
    """Runs that must be done before it begins; they may have finished long ago."""
    conversation: Label | None = None
    """The conversation that it continues or starts: model agents see its earlier requests and answers."""


@fact
class SetPriority(CommandBase):
    """Change the priority of a run or a task, also while it waits or runs."""

    target: Target
    priority: Priority


@fact
class SetDeadline(CommandBase):
    """Set or remove the deadline of a run or a task."""

    target: Target
    deadline_s: Seconds | None = None
    """Seconds from now; None removes the deadline."""
    due_ms: int | None = None
    """The deadline itself in UTC milliseconds, in place of `deadline_s`."""


@fact
class Reassign(CommandBase):
    """Assign a task to another agent, also while it is at work."""

    task: Target
    agent: Target
    now: bool = False
    """True stops an attempt at work at once, False at its next step; its recorded steps are kept."""


@fact
class Answer(CommandBase):
    """Answer an open question."""

    escalation: Target
    """Id of the question, or of the task that waits for its answer."""
    answer: str
    """One of the options of the question."""
    output: JsonValue = None
    """With the answer `use`: the output of the task; with `reply`: the text for the agent."""
    also: list[Target] = field(default_factory=list)
    """Further questions that get the same answer; all are answered or none."""
    alike: bool = False
    """Also answer all questions of the same kind that are about the same tool or have the same text."""


@fact
class RevokeGrant(CommandBase):
    """Revoke a standing permission: a person is asked again about calls of the tool."""

    grant: Target
    """Id of the permission."""


@fact
class Cancel(CommandBase):
    """Stop a run, a task or an agent's work at the next steps; results so far are kept."""

    target: Target
    reason: str = "cancelled by the operator"
    grace_s: Seconds | None = None
    """How long attempts may run to their next step before they are aborted, in seconds; None is their supervisor's
    grace."""


@fact
class Abort(CommandBase):
    """Stop an agent's work, a task or a run at once, with everything below it; results so far are kept."""

    target: Target
    """An agent means the tasks that it works on."""
    reason: str = "aborted by the operator"


@fact
class Steer(CommandBase):
    """Send a message to running work; each attempt reads it at its next turn."""

    target: Target
    """An agent, a task or a run; everything below it gets the message too."""
    text: Message
    now: bool = False
    """Interrupt a turn that cannot take the message while it runs."""


@fact
class RetryWork(CommandBase):
    """Retry a failed or backing-off task now, or submit the request of a finished run again."""

    target: Target


@fact
class SwitchStrategy(CommandBase):
    """Change the strategy of a supervisor, also while it has open runs."""

    supervisor: Target | None = None
    mode: Label | None = None
    """Name of the strategy; None keeps it and changes the aggregation only."""
    aggregation: Aggregation | None = None
    aggregator: Name | None = None
    preserve_agent_states: bool = True
    """False stops attempts at work at their next step and keeps their partial outputs as context."""
    settings: dict[str, JsonValue] | None = None
    """Settings of the strategy; None keeps the present ones if the mode stays, else takes the defaults."""
    lead: Name | None = None
    """The lead for `delegate`; None keeps the present one."""
    scope: Literal["run", "open", "new"] = "open"
    """`run` rewires only one run; `open` changes the supervisor and rewires open runs; `new` leaves open runs."""
    run: Target | None = None
    """With the scope `run`: the id of the run."""
