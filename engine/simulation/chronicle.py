"""Books of one history, kept from its journal alone, by other means than the core's.

`Chronicle` folds each event into a state of its own, as any reader of the file does, lets the ledgers take it, which
know nothing of that state, and notes what reports tell: waits, attempts of each agent, kinds of events.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from engine.core.events import (
    AttemptCancelled,
    AttemptDone,
    AttemptFailed,
    AttemptLost,
    AttemptMigrated,
    AttemptPreempted,
    AttemptSetAside,
    AttemptStarted,
    CommandApplied,
    CommandRefused,
    Event,
    RetryDue,
    RunFinished,
    StateImported,
    StepRecorded,
    TaskFailedOver,
    TaskReassigned,
    TaskReopened,
    TaskRequeued,
    TaskTriedAnew,
)
from engine.core.fold import fold
from engine.core.state import State, TaskStatus
from engine.core.values import Held, TextRef
from engine.simulation.ledger.counts import CountLedger
from engine.simulation.ledger.declared import DeclaredLedger
from engine.simulation.ledger.failures import FailureLedger
from engine.simulation.ledger.inputs import joined
from engine.simulation.ledger.spending import SpendingLedger
from engine.simulation.ledger.team import TeamLedger
from engine.simulation.ledger.turns import TurnLedger
from engine.simulation.ledger.work import WorkLedger
from engine.texts import walk

ENDS = (AttemptDone, AttemptFailed, AttemptCancelled, AttemptPreempted, AttemptSetAside, AttemptLost)
"""Events that end an attempt; a new one has to be added here."""
REOPENS = (TaskReopened,)
"""Events after which a task that had its outcome has none."""


class Chronicle:
    """What a journal says, and what follows from it."""

    def __init__(self) -> None:
        self.state = State()
        self.events: list[Event] = []
        """The journal so far."""
        self.team = TeamLedger()
        self.work = WorkLedger(self.text)
        self.spending = SpendingLedger()
        self.failures = FailureLedger()
        self.turns = TurnLedger()
        self.counts = CountLedger()
        self.declared = DeclaredLedger()
        self.started_seq: dict[tuple[str, int], int] = {}
        """Where each attempt began."""
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

    def text(self, value: Held) -> Any:
        """Return what the state holds by reference."""
        return walk(self.events[value.seq - 1], value.path) if isinstance(value, TextRef) else value

    def take(self, event: Event) -> None:
        """Note what an event means, and fold it."""
        self.events.append(event)
        note = _NOTES.get(type(event))
        if note is not None:
            note(self, event)
        if isinstance(event, RunFinished):
            self._remember(event)
        self.turns.take(event, self.next_seq, self.team)
        self.counts.take(event, self.work)
        self.spending.take(event, self.team, self.work)
        self.failures.take(event, self.work)
        before = {task_id: job.outcome for task_id, job in self.work.jobs.items()}
        if not isinstance(event, RunFinished):
            self.work.take(event)
            self.counts.count_outcomes(before, self.work)
        else:
            self.work.take(event)
        self.team.take(event)
        self.declared.take(event, self.team)
        self.turns.follow(event, self.work)
        if isinstance(event, AttemptStarted | AttemptMigrated):
            self._begin(event)
        run_id = getattr(event, "run_id", None)
        if isinstance(event, RunFinished):
            self._finish(event)
        fold(self.state, (event,))
        if isinstance(event, StateImported):
            self._adopt()
        self.kinds[event.type] += 1
        for one in (run_id,) if run_id is not None else self.state.runs:
            self._look_at_outcomes(one, event)

    def _begin(self, event: AttemptStarted | AttemptMigrated) -> None:
        """Note what an attempt runs, or what a built-in join has to come to."""
        job = self.work.jobs[event.task_id]
        if event.agent_id is not None and job.attempt is not None:
            job.attempt.spec = self.team.agents[event.agent_id].spec
        elif job.kind == "join":
            self.counts.joins[event.task_id, event.attempt] = joined(self, job)

    def _adopt(self) -> None:
        """Let the ledgers take what an import brought."""
        self.team.adopt(self.state)
        self.work.adopt(self.state)
        self.spending.adopt(self.state)
        self.failures.adopt(self.state)
        self.counts.adopt(self.state)

    def _remember(self, event: RunFinished) -> None:
        """Note what has to be remembered of a run that ends."""
        run = self.work.runs[event.run_id]
        mine = [self.work.jobs[one] for one in run.tasks if self.work.jobs[one].kind == "agent"]
        ends = Counter(job.outcome for job in mine)
        self.counts.summaries[run.id] = {
            "supervisor_id": run.supervisor_id,
            "status": event.status,
            "tasks": len(mine),
            "done": ends[TaskStatus.DONE],
            "failed": ends[TaskStatus.FAILED],
            "usage": self.spending.of(run.id),
            "started_ms": run.submitted_ms,
            "ended_ms": event.at_ms,
            "seq": self.next_seq,
        }

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

    def waits_since_ms(self, task_id: str) -> int:
        """Return since when a task that waits could have begun."""
        task = self.state.tasks[task_id]
        ends = (self.state.tasks[before].ended_ms or 0 for before in task.after)
        return max(self.since_ms.get(task_id, 0), task.created_ms, *ends)


def _started(books: Chronicle, event: AttemptStarted) -> None:
    task_id = event.task_id
    books.started_seq[task_id, event.attempt] = books.next_seq
    if event.agent_id is not None:
        name = books.state.agents[event.agent_id].name
        books.workers[name] += 1
        books.waits_ms.setdefault(name, []).append(event.at_ms - books.waits_since_ms(task_id))


def _recorded(books: Chronicle, event: StepRecorded) -> None:
    books.steps[event.task_id, event.key] = books.next_seq


def _attempt_over(books: Chronicle, event: Any) -> None:
    books.since_ms[event.task_id] = event.at_ms
    if isinstance(event, AttemptCancelled) and event.restarted:  # it begins again, without its finished steps
        books.steps = {key: seq for key, seq in books.steps.items() if key[0] != event.task_id}


def _again(books: Chronicle, event: Any) -> None:
    books.since_ms[event.task_id] = event.at_ms


def _reopened(books: Chronicle, event: TaskReopened) -> None:
    for task_id in (event.task_id, *event.reopened):
        books.since_ms[task_id] = event.at_ms


def _command(books: Chronicle, event: CommandApplied | CommandRefused) -> None:
    books.commands[event.command_id] = books.next_seq


_NOTES: dict[type, Callable[[Chronicle, Any], None]] = {
    AttemptStarted: _started,
    StepRecorded: _recorded,
    **dict.fromkeys(ENDS, _attempt_over),
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
