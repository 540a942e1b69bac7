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
    AttemptResumed,
    AttemptStarted,
    CallRejoined,
    CancelRequested,
    CommandApplied,
    CommandRefused,
    Delegated,
    Event,
    GroupEnded,
    RetryDue,
    StepRecorded,
    StrategySwitched,
    TaskFailed,
    TaskReopened,
    TaskRequeued,
    TaskSkipped,
)
from engine.core.fold import fold
from engine.core.state import State
from engine.core.values import NO_USAGE, Usage


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
        self.outcomes: dict[str, str] = {}
        """What ended each task that has ended, as the kind of the event."""
        self.steps: dict[tuple[str, str], int] = {}
        """Recorded steps by task and key, with their seq."""
        self.commands: dict[str, int] = {}
        """Commands with an outcome, and its seq."""
        self.usage: dict[str, Usage] = {"": NO_USAGE}
        """By id of agent or run; the total stands under an empty id."""
        self.put_back: set[str] = set()
        """Tasks that may go before others of their queue: an attempt was lost, or another agent is to do them."""
        self.since_ms: dict[str, int] = {}
        """Since when a task that was ready again waits."""
        self.waits_ms: list[int] = []
        """How long each attempt of an agent had to wait from when its task could begin."""
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
        fold(self.state, (event,))
        self.kinds[event.type] += 1

    def hold(self, task_id: str, agent_id: str) -> None:
        """Give a task a slot of an agent."""
        self.holders[task_id] = agent_id
        self.busy[agent_id] += 1

    def let_go(self, task_id: str) -> None:
        """Free the slot that a task holds, if it holds one."""
        agent_id = self.holders.pop(task_id, None)
        if agent_id is not None:
            self.busy[agent_id] -= 1

    def end(self, task_id: str, kind: str) -> None:
        """Give a task its outcome."""
        self.outcomes[task_id] = kind
        self.since_ms.pop(task_id, None)

    def waits_since_ms(self, task_id: str) -> int:
        """Return since when a task that waits could have begun."""
        task = self.state.tasks[task_id]
        ends = (self.state.tasks[before].ended_ms or 0 for before in task.after)
        return max(self.since_ms.get(task_id, 0), task.created_ms, *ends)


def _started(books: Chronicle, event: AttemptStarted) -> None:
    task_id = event.task_id
    books.live[task_id] = books.attempts[task_id] = event.attempt
    books.started_seq[task_id, event.attempt] = books.next_seq
    books.put_back.discard(task_id)
    if event.agent_id is not None:
        books.hold(task_id, event.agent_id)
        books.workers[books.state.agents[event.agent_id].name] += 1
        books.waits_ms.append(event.at_ms - books.waits_since_ms(task_id))


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


def _attempt_over(books: Chronicle, event: AttemptDone | AttemptFailed | AttemptCancelled | AttemptLost) -> None:
    books.live.pop(event.task_id, None)
    books.let_go(event.task_id)
    if isinstance(event, AttemptLost):
        books.put_back.add(event.task_id)
        books.since_ms[event.task_id] = event.at_ms
        return
    for owner in ("", event.run_id, event.agent_id):
        if owner is not None:
            books.usage[owner] = books.usage.get(owner, NO_USAGE).plus(event.usage)
    if isinstance(event, AttemptDone) or (isinstance(event, AttemptCancelled) and not event.requeued):
        books.end(event.task_id, event.type)


def _ended(books: Chronicle, event: TaskFailed | TaskSkipped | GroupEnded) -> None:
    books.end(event.task_id, event.type)


def _cancelled(books: Chronicle, event: CancelRequested) -> None:
    for task_id in event.cancelled:
        books.end(task_id, event.type)


def _switched(books: Chronicle, event: StrategySwitched) -> None:
    for change in event.groups:
        for task_id in change.removed:
            books.end(task_id, event.type)


def _reopened(books: Chronicle, event: TaskReopened) -> None:
    for task_id in (event.task_id, *event.reopened):
        books.outcomes.pop(task_id, None)
        books.since_ms[task_id] = event.at_ms


def _again(books: Chronicle, event: RetryDue | TaskRequeued) -> None:
    books.since_ms[event.task_id] = event.at_ms
    if isinstance(event, TaskRequeued):
        books.put_back.add(event.task_id)


def _command(books: Chronicle, event: CommandApplied | CommandRefused) -> None:
    books.commands[event.command_id] = books.next_seq


_NOTES: dict[type, Callable[[Chronicle, Any], None]] = {
    AttemptStarted: _started,
    AttemptResumed: _resumed,
    Delegated: _delegated,
    CallRejoined: _rejoined,
    StepRecorded: _recorded,
    AttemptDone: _attempt_over,
    AttemptFailed: _attempt_over,
    AttemptCancelled: _attempt_over,
    AttemptLost: _attempt_over,
    TaskFailed: _ended,
    TaskSkipped: _ended,
    GroupEnded: _ended,
    CancelRequested: _cancelled,
    StrategySwitched: _switched,
    TaskReopened: _reopened,
    RetryDue: _again,
    TaskRequeued: _again,
    CommandApplied: _command,
    CommandRefused: _command,
}
"""What to note of each class of event; the others change nothing here."""
