"""Books of one history, kept from its journal alone, by other means than the core's.

`Chronicle` folds each event into a state of its own, as any reader of the file does, and notes beside it what the
invariants are held against: who is at work where, what every task came to, what everything has cost.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from engine.core.events import (
    AttemptCancelled,
    AttemptDone,
    AttemptFailed,
    AttemptLost,
    AttemptPreempted,
    AttemptResumed,
    AttemptSetAside,
    AttemptStarted,
    CallRejoined,
    CommandApplied,
    CommandRefused,
    Delegated,
    Event,
    PreemptionAsked,
    RetryDue,
    RunFinished,
    StepRecorded,
    TaskFailedOver,
    TaskReassigned,
    TaskReopened,
    TaskRequeued,
    TaskTriedAnew,
)
from engine.core.fold import fold
from engine.core.state import State, TaskStatus
from engine.core.values import NO_USAGE, Usage

ENDS = (AttemptDone, AttemptFailed, AttemptCancelled, AttemptPreempted, AttemptSetAside, AttemptLost)
"""Events that end an attempt; a new one has to be added here."""
REOPENS = (TaskReopened,)
"""Events after which a task that had its outcome has none."""


class Chronicle:
    """What a journal says, and what follows from it."""

    def __init__(self) -> None:
        self.state = State()
        self.live: dict[str, int] = {}
        """Attempts that have begun and not ended: task to number."""
        self.attempts: dict[str, int] = {}
        """The last attempt of each task that ever had one."""
        self.started_seq: dict[tuple[str, int], int] = {}
        """Where each attempt began."""
        self.holders: dict[str, str] = {}
        """Who holds a slot: task to agent."""
        self.busy: Counter[str] = Counter()
        """Slots in use of each agent."""
        self.outcomes: dict[str, TaskStatus] = {}
        """What each task of an open run came to that has ended."""
        self.ended: Counter[str] = Counter()
        """How many tasks of agents of finished runs came to which end."""
        self.undone: list[str] = []
        """Tasks that had their outcome and lost or changed it, although nobody reopened them."""
        self.steps: dict[tuple[str, str], int] = {}
        """Recorded steps by task and key, with their seq."""
        self.commands: dict[str, int] = {}
        """Commands with an outcome, and its seq."""
        self.usage: dict[str, Usage] = {"": NO_USAGE}
        """By id of agent or run; the total stands under an empty id."""
        self.promised: set[str] = set()
        """Urgent tasks for which an attempt was asked to stop: its slot is theirs, before what was ready earlier."""
        self.since_ms: dict[str, int] = {}
        """Since when a task that was ready again waits."""
        self.waits_ms: dict[str, list[int]] = {}
        """How long the attempts of each agent, by its name, had to wait from when their tasks could begin."""
        self.workers: Counter[str] = Counter()
        """How many attempts each agent began, by its name."""
        self.kinds: Counter[str] = Counter()
        """How many events of each kind there were."""

    @property
    def next_seq(self) -> int:
        """Seq of the event that is being noted."""
        return self.state.seq + 1

    def take(self, event: Event) -> None:
        """Note what an event means, and fold it."""
        note = _NOTES.get(type(event))
        if note is not None:
            note(self, event)
        self._charge(event)
        run_id = getattr(event, "run_id", None)
        if isinstance(event, RunFinished):
            self._finish(event)
        fold(self.state, (event,))
        self.kinds[event.type] += 1
        for one in (run_id,) if run_id is not None else self.state.runs:
            self._look_at_outcomes(one, event)

    def _charge(self, event: Any) -> None:
        usage = getattr(event, "usage", None)
        if usage is None:
            return
        for owner in ("", event.run_id, event.agent_id):
            if owner is not None:
                self.usage[owner] = self.usage.get(owner, NO_USAGE).plus(usage)

    def _finish(self, event: RunFinished) -> None:
        for task_id in self.state.runs[event.run_id].tasks:
            status = self.outcomes.pop(task_id, None)
            if status is not None and self.state.tasks[task_id].kind == "agent":
                self.ended[str(status)] += 1

    def _look_at_outcomes(self, run_id: str, event: Event) -> None:
        """Note which tasks of a run have their outcome now; it is the state's change that counts, whatever made it."""
        run = self.state.runs.get(run_id)
        for task_id in run.tasks if run is not None else ():
            task, before = self.state.tasks[task_id], self.outcomes.get(task_id)
            if before is None:
                if task.ended:
                    self.outcomes[task_id] = task.status
            elif task.status is not before:
                if not isinstance(event, REOPENS):
                    self.undone.append(f"{task_id} was {before} and became {task.status} by {event.type}")
                del self.outcomes[task_id]

    def hold(self, task_id: str, agent_id: str) -> None:
        """Give a task a slot of an agent."""
        self.holders[task_id] = agent_id
        self.busy[agent_id] += 1

    def let_go(self, task_id: str) -> None:
        """Free the slot that a task holds, if it holds one."""
        agent_id = self.holders.pop(task_id, None)
        if agent_id is not None:
            self.busy[agent_id] -= 1

    def waits_since_ms(self, task_id: str) -> int:
        """Return since when a task that waits could have begun."""
        task = self.state.tasks[task_id]
        ends = (self.state.tasks[before].ended_ms or 0 for before in task.after)
        return max(self.since_ms.get(task_id, 0), task.created_ms, *ends)


def _started(books: Chronicle, event: AttemptStarted) -> None:
    task_id = event.task_id
    books.promised.discard(task_id)
    books.live[task_id] = books.attempts[task_id] = event.attempt
    books.started_seq[task_id, event.attempt] = books.next_seq
    if event.agent_id is not None:
        books.hold(task_id, event.agent_id)
        name = books.state.agents[event.agent_id].name
        books.workers[name] += 1
        books.waits_ms.setdefault(name, []).append(event.at_ms - books.waits_since_ms(task_id))


def _resumed(books: Chronicle, event: AttemptResumed) -> None:
    books.hold(event.task_id, event.agent_id)


def _delegated(books: Chronicle, event: Delegated) -> None:
    if event.children:
        books.let_go(event.task_id)


def _rejoined(books: Chronicle, event: CallRejoined) -> None:
    if books.state.tasks[event.task_id].calls[event.call_key].open:
        books.let_go(event.task_id)


def _recorded(books: Chronicle, event: StepRecorded) -> None:
    books.steps[event.task_id, event.key] = books.next_seq


def _attempt_over(books: Chronicle, event: Any) -> None:
    books.live.pop(event.task_id, None)
    books.let_go(event.task_id)
    books.since_ms[event.task_id] = event.at_ms
    if isinstance(event, AttemptCancelled) and event.restarted:  # it begins again, without its finished steps
        books.steps = {key: seq for key, seq in books.steps.items() if key[0] != event.task_id}


def _again(books: Chronicle, event: Any) -> None:
    books.since_ms[event.task_id] = event.at_ms


def _reopened(books: Chronicle, event: TaskReopened) -> None:
    for task_id in (event.task_id, *event.reopened):
        books.since_ms[task_id] = event.at_ms


def _preempting(books: Chronicle, event: PreemptionAsked) -> None:
    books.promised.add(event.for_task_id)


def _command(books: Chronicle, event: CommandApplied | CommandRefused) -> None:
    books.commands[event.command_id] = books.next_seq


_NOTES: dict[type, Callable[[Chronicle, Any], None]] = {
    AttemptStarted: _started,
    AttemptResumed: _resumed,
    Delegated: _delegated,
    CallRejoined: _rejoined,
    StepRecorded: _recorded,
    **dict.fromkeys(ENDS, _attempt_over),
    PreemptionAsked: _preempting,
    TaskReopened: _reopened,
    RetryDue: _again,
    TaskRequeued: _again,
    TaskFailedOver: _again,
    TaskTriedAnew: _again,
    TaskReassigned: _again,
    CommandApplied: _command,
    CommandRefused: _command,
}
"""What to note of each class of event; the others change nothing here but outcomes and usage."""
