"""Commands about runs and tasks, questions, and strategies."""

from typing import Literal

from msgspec import field

from engine.core.commands.base import CommandBase
from engine.core.commands.team import Target
from engine.core.records.records import JsonValue, fact
from engine.core.specs.failure_policies import Chain
from engine.core.specs.limits import Limits
from engine.core.specs.spec import Aggregation
from engine.core.validation.bounds import Amount, Label, Message, Minutes, Name, Priority, RunLabels, Seconds


@fact
class Submit(CommandBase):
    """Submit a request to a supervisor."""

    request: JsonValue
    supervisor: Target | None = None
    """The supervisor that gets it; by default the first one at the top."""
    on_failure: Chain = ()
    """Failure policies of its tasks, in place of those of the agents' specs."""
    priority: Priority | None = None
    """0 goes first, 9 last; 5 is usual."""
    deadline_s: Seconds | None = None
    """Time until its deadline, when it fails; by default it has none."""
    limits: Limits | None = None
    """Its budget; None sets none."""
    category: Label | None = None
    """The category of the work, for supervisors with strategies by category; by default it follows from the request."""
    after: list[Target] = field(default_factory=list)
    """Runs that must be done before it begins; they may have finished long ago."""
    conversation: Label | None = None
    """The conversation that it continues or starts: model agents see its earlier requests and answers."""
    labels: RunLabels = field(default_factory=dict)
    """Texts by key, such as `team=web`: its tasks have them too, for filters, metrics and agents."""


@fact
class SetPriority(CommandBase):
    """Change the priority of a run or a task, also while it waits or runs: 0 goes first, 9 last, 5 is usual."""

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
    """Stop an attempt at work at once, not at its next step; its recorded steps are kept."""


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
    amount: Amount | None = None
    """With `continue`: how much a budget is raised by, in its unit: attempts, seconds, tokens, USD."""
    minutes: Minutes | None = None
    """With `allow_always` and `reject_always`: for how long, in minutes."""
    scope: Literal["task", "run", "until", "always"] | None = None
    """With `allow_always` and `reject_always`: for this task, this run, the minutes given, or always, the default."""
    where: list[Label] = field(default_factory=list)
    """With `allow_always` and `reject_always`: names of arguments; only for calls with the same values of these."""


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
    """The reason, recorded with what was stopped."""
    grace_s: Seconds | None = None
    """How long attempts may run to their next step before they are aborted, in seconds; None is their supervisor's
    grace."""


@fact
class Abort(CommandBase):
    """Stop an agent's work, a task or a run at once, with everything below it; results so far are kept."""

    target: Target
    """An agent means the tasks that it works on."""
    reason: str = "aborted by the operator"
    """The reason, recorded with what was stopped."""


@fact
class Steer(CommandBase):
    """Send a message to a run, a task or an agent and all work below; each conversation reads it at its next turn."""

    target: Target
    """An agent, a task or a run; everything below it gets the message too."""
    text: Message
    now: bool = False
    """Interrupt a turn that cannot take the message while it runs, such as the answer of a model."""


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
    """How results are joined."""
    aggregator: Name | None = None
    """The agent that makes a synthesis."""
    preserve_agent_states: bool = True
    """False stops attempts at work at their next step and keeps their partial outputs as context."""
    settings: dict[str, JsonValue] | None = None
    """Settings of the strategy; None keeps the present ones if the mode stays, else takes the defaults."""
    lead: Name | None = None
    """The agent that gets the whole request under `delegate`; by default the present one."""
    scope: Literal["run", "open", "new"] = "open"
    """`run` rewires only one run; `open` changes the supervisor and rewires open runs; `new` leaves open runs."""
    run: Target | None = None
    """Rewire only this run; the supervisor stays as it is."""
