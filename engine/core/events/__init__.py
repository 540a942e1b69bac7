"""The closed union of events, one file per subject.

Names are in the past tense, and the name of an event is its `type`. A released event never changes.
"""

from typing import TypeAlias, get_args

from engine.core.events.attempt import *
from engine.core.events.engine import *
from engine.core.events.failure import *
from engine.core.events.hierarchy import *
from engine.core.events.limits import *
from engine.core.events.memory import *
from engine.core.events.people import *
from engine.core.events.run import *
from engine.core.events.task import *
from engine.core.events.team import *

Event: TypeAlias = (
    EngineStarted
    | EngineStopped
    | EngineSlept
    | TeamLoaded
    | ReferencesTrusted
    | CommandApplied
    | CommandRefused
    | CommandUndone
    | SignalDropped
    | ImportBegan
    | PartImported
    | SummariesImported
    | StateImported
    | SupervisorAdded
    | SupervisorRemoved
    | SupervisorPaused
    | SupervisorResumed
    | SpecRegistered
    | SpecUnregistered
    | AgentAdded
    | AgentRemoving
    | AgentRemoved
    | AgentSwapped
    | SwapDrained
    | SwapHurried
    | SwapRolledBack
    | CapabilitiesChanged
    | AgentPaused
    | AgentResumed
    | AgentBroke
    | AgentMended
    | ThreadReturned
    | QueueMade
    | MemberMoved
    | MemberRenamed
    | MembersDeclared
    | MembersOrdered
    | CoordinationTuned
    | SupervisorChanged
    | SupervisorLeaving
    | PoolResized
    | PoolWatched
    | RunSubmitted
    | RunPaused
    | RunResumed
    | CancelRequested
    | StrategySwitched
    | RunFinished
    | GroupPlanned
    | GroupGrown
    | NeedMet
    | GroupEnded
    | PlanAsked
    | Delegated
    | CallRejoined
    | CallAnswered
    | CallRefused
    | RetryScheduled
    | RetryDue
    | TaskFailed
    | TaskSkipped
    | ItemReturned
    | ItemTaken
    | TaskRequeued
    | TaskReassigned
    | TaskReopened
    | AttemptStarted
    | AttemptParked
    | SlotWanted
    | AttemptResumed
    | AttemptMigrated
    | StepRecorded
    | ModelFailed
    | AttemptDone
    | AttemptFailed
    | AttemptCancelled
    | AttemptLost
    | PrioritySet
    | PreemptionAsked
    | AttemptPreempted
    | Escalated
    | EscalationAnswered
    | QuestionWithdrawn
    | Steered
    | GrantGiven
    | GrantRevoked
    | TaskFailedOver
    | TaskTriedAnew
    | TaskAnswered
    | ToolStarted
    | ToolFailed
    | DoubtSettled
    | CircuitOpened
    | CircuitHalfOpened
    | CircuitClosed
    | AgentsRestarted
    | SupervisorFailed
    | SupervisorMended
    | AgentCheckAsked
    | DeadlineSet
    | DeadlineWarned
    | DeadlinePassed
    | GraceEnded
    | BudgetWarned
    | BudgetExhausted
    | BudgetExtended
    | BudgetTimed
    | AttemptSetAside
    | Remembered
    | PartRecorded
)
ATTEMPT_ENDS: tuple[type[Event], ...] = (
    AttemptDone,
    AttemptFailed,
    AttemptCancelled,
    AttemptLost,
    AttemptPreempted,
    AttemptSetAside,
)
"""Events that end an attempt; after `AttemptMigrated` it continues on another generation."""
EVENTS: tuple[type[Event], ...] = get_args(Event)
"""Every class of event."""
KINDS: dict[str, type[Event]] = {cls.type: cls for cls in EVENTS}
"""Every class of event by its kind."""
