"""What has to hold in every history: small laws in one table, by when they are checked.

A law returns what is wrong, or None. Its first line of documentation is what it says to a person. To add one, write it
and name it in its table: `ON_EVENT` (before an event of a class is folded), `AFTER_BATCH` (what one write brought),
`SAMPLED` (as those, at one batch in `SAMPLE`: they are dear), `AT_MOMENTS` (when time has just moved, so that all that
could happen has), `AT_REST` (nothing is at work, no timer is set, nothing is paused) and `AT_THE_END` (of the history).
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from engine.core.codec import decode_state, encode_state
from engine.core.commands import Order
from engine.core.context import Context
from engine.core.decide import decide
from engine.core.effects import effects_of
from engine.core.events import (
    AttemptCancelled,
    AttemptDone,
    AttemptFailed,
    AttemptMigrated,
    AttemptPreempted,
    AttemptResumed,
    AttemptSetAside,
    AttemptStarted,
    CommandApplied,
    CommandRefused,
    Delegated,
    Event,
    GroupEnded,
    RunFinished,
    SignalDropped,
    StepRecorded,
    TaskFailed,
    TaskSkipped,
)
from engine.core.fold import fold
from engine.core.legality import faults_of
from engine.core.state import Agent, State, Task, TaskStatus
from engine.core.values import NO_USAGE
from engine.simulation.agents import LIE
from engine.simulation.chronicle import Chronicle
from engine.simulation.disk import Disk

SAMPLE = 25
"""One batch in so many is looked at closely."""


class Seen(Protocol):
    """What laws look at."""

    books: Chronicle
    disk: Disk
    acting: set[tuple[str, int]]
    """Attempts that agents are really at, in the engine of the moment."""
    batch: list[Event]
    """What was written last."""
    inbox_ids: list[str]
    """Commands that were put on disk for an engine to find."""

    @property
    def state(self) -> State:
        """The state of the engine of the moment."""

    @property
    def now_ms(self) -> int:
        """The time of the moment."""

    def next_order(self) -> Order | None:
        """Return something that an operator might ask next."""


Law: TypeAlias = Callable[[Seen, Any], str | None]


# Before an event is folded


def each_task_has_one_outcome(past: Seen, event: Any) -> str | None:
    """Each task has exactly one outcome."""
    before = past.books.outcomes.get(event.task_id)
    return None if before is None else f"{event.task_id} was {before} and ends again by {event.type}"


def nothing_of_a_finished_run_is_open(past: Seen, event: RunFinished) -> str | None:
    """When a run ends, every task of it has its outcome and nothing of it is at work."""
    for task_id in past.books.state.runs[event.run_id].tasks:
        if task_id not in past.books.outcomes:
            return f"{event.run_id} ends, and {task_id} has no outcome"
        if task_id in past.books.live and past.books.state.tasks[task_id].kind == "agent":
            return f"{event.run_id} ends, and {task_id} is at work"
    return None


def only_the_attempt_that_is_live_is_heard(past: Seen, event: Any) -> str | None:
    """Only the attempt that is live is heard: one answer for each, from that attempt alone."""
    if past.books.live.get(event.task_id) == event.attempt:
        return None
    now = past.books.live.get(event.task_id)
    return f"{event.type} of {event.task_id}, attempt {event.attempt}; at work is {'none' if now is None else now}"


def no_lie_is_taken(past: Seen, event: AttemptDone) -> str | None:
    """An answer about an attempt that is not at work is not taken."""
    return f"{event.task_id} took it for the answer of attempt {event.attempt}" if event.output == LIE else None


def a_finished_task_is_not_started(past: Seen, event: AttemptStarted) -> str | None:
    """A task that has its outcome is never started again."""
    if event.task_id in past.books.outcomes:
        return f"{event.task_id} is started after {past.books.outcomes[event.task_id]}"
    if event.task_id in past.books.live:
        return f"{event.task_id} is started while attempt {past.books.live[event.task_id]} of it is at work"
    if event.attempt != past.books.attempts.get(event.task_id, 0) + 1:
        return f"attempt {event.attempt} of {event.task_id} follows {past.books.attempts.get(event.task_id, 0)}"
    return None


def a_step_is_recorded_once(past: Seen, event: StepRecorded) -> str | None:
    """A step of a task is recorded once."""
    seq = past.books.steps.get((event.task_id, event.key))
    return None if seq is None else f"{event.key} of {event.task_id} stands at seq {seq} already"


def nobody_is_over_a_limit(past: Seen, event: AttemptStarted | AttemptResumed) -> str | None:
    """No agent and no supervisor is over its limit."""
    if event.agent_id is None:
        return None
    books, state = past.books, past.books.state
    agent = state.agents[event.agent_id]
    if books.busy[agent.id] + agent.stuck >= agent.max_concurrency:
        return f"{agent.id} takes {event.task_id} with {books.busy[agent.id]} of {agent.max_concurrency} slots in use"
    supervisor = state.supervisors[agent.supervisor_id]
    in_use = sum(books.busy[one] for one in supervisor.members)
    if in_use >= supervisor.max_parallel:
        return f"{supervisor.id} starts {event.task_id} with {in_use} of {supervisor.max_parallel} slots in use"
    return None


def what_is_paused_starts_nothing(past: Seen, event: AttemptStarted) -> str | None:
    """What is paused, broken or gone starts nothing new."""
    if event.agent_id is None:
        return None
    state = past.books.state
    agent = state.agents[event.agent_id]
    supervisor, run = state.supervisors[agent.supervisor_id], state.runs[event.run_id]
    for who, stops in ((agent, agent.paused), (supervisor, supervisor.paused), (run, run.paused)):
        if stops:
            return f"{event.task_id} starts on {agent.id} while {who.id} is paused"
    return f"{event.task_id} starts on {agent.id}, which is in error" if agent.error is not None else None


def first_come_first_served(past: Seen, event: AttemptStarted) -> str | None:
    """Among tasks of a run that are as urgent, the one that was ready first begins first."""
    state = past.books.state
    task = state.tasks[event.task_id]
    queue = state.queues.get(task.queue or "")
    if event.agent_id is None or queue is None or task.id not in queue.ready or task.id in past.books.promised:
        return None
    for other_id, seq in queue.ready.items():
        other = state.tasks[other_id]
        is_alike = other.priority == task.priority and other.run_id == task.run_id
        if is_alike and seq < queue.ready[task.id]:
            return f"{task.id}, ready since seq {queue.ready[task.id]}, begins before {other_id}, ready since {seq}"
    return None


def a_command_has_one_outcome(past: Seen, event: CommandApplied | CommandRefused) -> str | None:
    """Each command has one outcome, however often it is sent."""
    seq = past.books.commands.get(event.command_id)
    return None if seq is None else f"{event.command_id} was decided at seq {seq} and is decided again"


def no_message_runs_into_a_defect(past: Seen, event: CommandRefused | SignalDropped) -> str | None:
    """No message makes the engine fail."""
    if isinstance(event, SignalDropped):
        return f"{event.signal}: {event.error}"
    return event.reason if event.code == "defect" else None


def time_does_not_go_back(past: Seen, event: Event) -> str | None:
    """Time does not go back."""
    before_ms = past.books.state.at_ms
    return None if event.at_ms >= before_ms else f"{event.type} at {event.at_ms}, after {before_ms}"


ON_EVENT: dict[type, tuple[Law, ...]] = {
    AttemptStarted: (
        a_finished_task_is_not_started,
        nobody_is_over_a_limit,
        what_is_paused_starts_nothing,
        first_come_first_served,
    ),
    AttemptResumed: (nobody_is_over_a_limit, only_the_attempt_that_is_live_is_heard),
    AttemptDone: (only_the_attempt_that_is_live_is_heard, each_task_has_one_outcome, no_lie_is_taken),
    AttemptFailed: (only_the_attempt_that_is_live_is_heard,),
    AttemptCancelled: (only_the_attempt_that_is_live_is_heard, each_task_has_one_outcome),
    AttemptMigrated: (only_the_attempt_that_is_live_is_heard,),
    AttemptPreempted: (only_the_attempt_that_is_live_is_heard,),
    AttemptSetAside: (only_the_attempt_that_is_live_is_heard,),
    Delegated: (only_the_attempt_that_is_live_is_heard,),
    StepRecorded: (only_the_attempt_that_is_live_is_heard, a_step_is_recorded_once),
    TaskFailed: (each_task_has_one_outcome,),
    TaskSkipped: (each_task_has_one_outcome,),
    GroupEnded: (each_task_has_one_outcome,),
    RunFinished: (nothing_of_a_finished_run_is_open,),
    CommandApplied: (a_command_has_one_outcome,),
    CommandRefused: (a_command_has_one_outcome, no_message_runs_into_a_defect),
    SignalDropped: (no_message_runs_into_a_defect,),
}
"""Checked before an event of a class is folded."""
ON_EVERY_EVENT: tuple[Law, ...] = (time_does_not_go_back,)


# After a batch


def the_state_is_legal(past: Seen, _: object) -> str | None:
    """The parts of the state fit together: no slot is held by nobody, whatever can start has started."""
    return next(faults_of(past.books.state), None)


def no_outcome_is_taken_back(past: Seen, _: object) -> str | None:
    """A task keeps its outcome, unless an operator reopens it."""
    return past.books.undone[0] if past.books.undone else None


def slots_are_those_of_attempts(past: Seen, _: object) -> str | None:
    """Who is at work, counted from begins and ends alone, is who the state says is at work."""
    holders = {task_id: agent.id for agent in past.books.state.agents.values() for task_id in agent.running}
    if holders == past.books.holders:
        return None
    wrong = sorted(set(holders.items()) ^ set(past.books.holders.items()))
    return f"the state and the journal do not agree about {wrong}"


def usage_adds_up(past: Seen, _: object) -> str | None:
    """Usage adds up from attempts to agents, runs and the total."""
    books, state = past.books, past.books.state
    owners = [("", state.usage), *((agent.id, agent.usage) for agent in state.agents.values())]
    owners += [(run.id, run.usage) for run in state.runs.values()]
    owners += [(run.id, run.usage) for run in state.finished[-2:]]
    for owner, usage in owners:
        if usage != books.usage.get(owner, NO_USAGE):
            return f"{owner or 'the total'} says {usage}; its attempts come to {books.usage.get(owner, NO_USAGE)}"
    return None


AFTER_BATCH: tuple[Law, ...] = (
    the_state_is_legal,
    no_outcome_is_taken_back,
    slots_are_those_of_attempts,
    usage_adds_up,
)
"""Checked on what the journal alone gives, after each write."""


# Sampled: dear


def the_journal_is_the_state(past: Seen, _: object) -> str | None:
    """The journal alone gives the state that the engine decides on."""
    if encode_state(past.books.state) == encode_state(past.state):
        return None
    return f"at seq {past.books.state.seq} the engine's state is another than what its journal gives"


def looking_changes_nothing(past: Seen, _: object) -> str | None:
    """Deciding, and working out effects, leave the state as it was."""
    state = past.books.state
    before = encode_state(state)
    order = past.next_order()
    if order is not None:
        decide(state, order, Context(now_ms=state.at_ms, jitter=0.5))
    for event in past.batch[-1:]:
        effects_of(state, event)
    return None if encode_state(state) == before else f"looking at {order} changed the state"


SAMPLED: tuple[Law, ...] = (the_journal_is_the_state, looking_changes_nothing)
"""Checked after one write in `SAMPLE`."""


# When time has just moved


def timers_fire(past: Seen, _: object) -> str | None:
    """What is due happens: no timer is left behind by the clock."""
    for timer in past.state.timers.values():
        if timer.due_ms < past.now_ms:
            return f"{timer.id} was due {past.now_ms - timer.due_ms} ms ago"
    return None


def attempts_are_really_at_work(past: Seen, _: object) -> str | None:
    """Whatever the state says is at work really is."""
    for task in past.state.tasks.values():
        attempt = task.attempt
        if attempt is not None and attempt.agent_id is not None and (task.id, attempt.number) not in past.acting:
            return f"{task.id}, attempt {attempt.number}: {attempt.agent_id} is not at it"
    return None


AT_MOMENTS: tuple[Law, ...] = (timers_fire, attempts_are_really_at_work)
"""Checked whenever an operator wakes: the clock moves only when nothing else can happen."""


# At rest


def whatever_can_move_has_moved(past: Seen, _: object) -> str | None:
    """No deadlock: when nothing is at work and nothing is paused, nothing is left that could move."""
    for task in past.state.tasks.values():
        if not (task.ended or task.blockers or task.open) and (why := _could_move(past.state, task)) is not None:
            return f"{task.id} ({task.kind}, {task.status}) waits for ever: {why}"
    return None


def _could_move(state: State, task: Task) -> str | None:
    """Return why a task that nothing open stands before should not be waiting; None where it waits with a reason."""
    if task.escalation_id is not None or task.status is TaskStatus.IN_DOUBT:
        return None
    run = state.runs[task.run_id]
    if any(one.run_id == run.id for one in state.escalations.values()):
        return None
    if run.paused or any(other in state.runs for other in run.after):
        return None
    if task.attempt is not None:
        return "an attempt that nobody is at"
    if task.status is TaskStatus.RETRYING:
        return "a timer that never fires"
    if task.kind != "agent":
        return "nobody looks at it"
    queue = state.queues.get(task.queue or "")
    if queue is None:
        return f"there is no queue {task.queue}"
    supervisor = state.supervisors[queue.supervisor_id]
    able = [state.agents[one].name for one in queue.agents if _works(state.agents[one])]
    if not able or supervisor.paused:
        return None
    place = "in the queue" if task.id in queue.ready else "and does not stand in the queue"
    return f"{', '.join(able)} could do it; it waits {place} {queue.key}"


def _works(agent: Agent) -> bool:
    return agent.removing is None and agent.error is None and not agent.paused and agent.has_room


def no_timer_is_left(past: Seen, _: object) -> str | None:
    """At rest no timer is set."""
    return f"{next(iter(past.state.timers))} is set" if past.state.timers else None


def every_command_has_an_outcome(past: Seen, _: object) -> str | None:
    """Every command that is on disk comes to an outcome, and its sender is told."""
    for command_id in past.inbox_ids:
        if command_id not in past.books.commands:
            return f"{command_id} was acknowledged and never decided"
    left = past.disk.pending()
    return f"{left[0]} was decided, and its sender was not told" if left else None


AT_REST: tuple[Law, ...] = (whatever_can_move_has_moved, no_timer_is_left, every_command_has_an_outcome)
"""Checked once the team has come to rest, with nothing paused, missing or full."""


# At the end


def a_snapshot_is_only_a_shortcut(past: Seen, _: object) -> str | None:
    """Folding from any snapshot equals folding from the start."""
    whole = encode_state(past.books.state)
    for seq, body in past.disk.snapshots.items():
        resumed = decode_state(body)
        fold(resumed, past.disk.events(seq))
        if encode_state(resumed) != whole:
            return f"from the snapshot at seq {seq} the journal leads elsewhere"
    return None


AT_THE_END: tuple[Law, ...] = (a_snapshot_is_only_a_shortcut,)
"""Checked on the disk, once the last engine has ended."""

INVARIANTS: tuple[Law, ...] = tuple(
    dict.fromkeys(
        (
            *(law for laws in ON_EVENT.values() for law in laws),
            *ON_EVERY_EVENT,
            *AFTER_BATCH,
            *SAMPLED,
            *AT_MOMENTS,
            *AT_REST,
            *AT_THE_END,
        )
    )
)
"""Every law, each once; besides them a history itself says `broken` of what it sees first-hand (see `history`)."""
