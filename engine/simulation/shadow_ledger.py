"""Independent bookkeeping over one journal, which cross-checks the core.

`ShadowLedger` folds each event into a state of its own, as any reader of the file does, applies it to the ledgers,
which do not use that state, and collects figures for reports: waits, attempts of each agent, kinds of events.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from engine.core import events
from engine.core.commands import Command
from engine.core.events import AttemptCancelled, AttemptMigrated, AttemptStarted, Event, RunFinished, StateImported
from engine.core.fold import fold
from engine.core.records.values import StoredValue, TextRef
from engine.core.state import State, TaskStatus
from engine.host.built_in.joins import Result, join
from engine.reading.texts import walk
from engine.simulation.ledger import ENDS, Ledger
from engine.simulation.ledger.agents import ModelLedger, TrackRecordLedger
from engine.simulation.ledger.attempts import WorkLedger
from engine.simulation.ledger.discovery import DiscoveryLedger
from engine.simulation.ledger.failures import FailureLedger
from engine.simulation.ledger.kept import KeptLedger
from engine.simulation.ledger.memory import MemoryLedger
from engine.simulation.ledger.recipes import RecipeLedger
from engine.simulation.ledger.spending import SpendingLedger
from engine.simulation.ledger.team import TeamLedger
from engine.simulation.ledger.times import TimeLedger
from engine.simulation.ledger.turns import TurnLedger
from engine.simulation.ledger.work import Job


@dataclass(frozen=True, slots=True)
class ExpectedJoin:
    """The expected output of a built-in join."""

    task_ids: list[str]
    """Tasks whose outputs are joined."""
    value: Any


class ShadowLedger(Ledger):
    """A folded state, and the ledgers, which are kept independently of it."""

    def __init__(self) -> None:
        self.state = State()
        self.events: list[Event] = []
        """The journal so far."""
        self.batch: list[Event] = []
        """The events of the last write."""
        self.sent: dict[str, Command] = {}
        """Commands of operators, by id of the order."""
        self.team = TeamLedger()
        self.work = WorkLedger(self.text, self.team.home_of)
        self.spending = SpendingLedger()
        self.track_record = TrackRecordLedger()
        self.failures = FailureLedger()
        self.turns = TurnLedger()
        self.recipes = RecipeLedger(self.team)
        self.memory = MemoryLedger(self.text, self.team, self.recipes)
        self.agent_state = KeptLedger(self.text)
        self.models = ModelLedger()
        self.times = TimeLedger()
        self.discovery = DiscoveryLedger()
        self.minted: Counter[str] = Counter()
        """The last number of an id, by letter."""
        self.joins: dict[tuple[str, int], ExpectedJoin] = {}
        """Expected outputs of built-in joins, by task and attempt."""
        self.summaries: dict[str, dict[str, Any]] = {}
        """Expected summaries of ended runs."""
        self.started_seq: dict[tuple[str, int], int] = {}
        """Seq at which each attempt began."""
        self.steps: dict[tuple[str, str], int] = {}
        """Recorded steps by task and key, with their seq."""
        self.open_steps: Counter[tuple[str, int, int | None]] = Counter()
        """Steps begun and not recorded, by task, attempt and generation, as reported by those that begin them."""
        self.open_questions: Counter[tuple[str, int, int | None]] = Counter()
        """Questions that attempts wait for, by task, attempt and generation."""
        self.outcome_seqs: dict[str, int] = {}
        """Seq of the outcome of each command that has one."""
        self.ready_again_ms: dict[str, int] = {}
        """When each task became ready again after an earlier attempt."""
        self.task_outcomes: Counter[str] = Counter()
        """Agent tasks of finished runs, by outcome."""
        self.waits_ms: dict[str, list[int]] = {}
        """Waiting times of attempts since their tasks were ready, by name of the agent."""
        self.attempts_begun: Counter[str] = Counter()
        """Number of attempts begun, by name of the agent."""
        self.event_counts: Counter[str] = Counter()
        """Number of events by kind."""

    @property
    def next_seq(self) -> int:
        """Seq of the event that is being applied."""
        return self.state.seq + 1

    def text(self, value: StoredValue) -> Any:
        """Return a value that the state holds by reference."""
        return walk(self.events[value.seq - 1], value.path) if isinstance(value, TextRef) else value

    @override
    def take(self, event: Event) -> None:
        """Apply an event to the ledgers, and fold it."""
        self.events.append(event)
        self.event_counts[event.type] += 1
        super().take(event)
        if isinstance(event, ENDS):
            self._note_ready_again(event)
        # The ledgers before `work` and `team` look up both as they were before the event; `follow` as it left them.
        self.turns.take(event, self.next_seq, self.team)
        self.spending.take(event, self.team, self.work)
        self.times.take(event, self.work)
        self.track_record.take(event, self.work)
        self.failures.take(event)
        self.work.take(event)
        self.team.take(event)
        self.recipes.take(event)
        self.memory.take(event)
        self.agent_state.take(event, self.next_seq)
        self.models.take(event)
        self.discovery.take(event)
        self.turns.follow(event, self.work)
        self.failures.follow(event, self.work)
        if isinstance(event, AttemptStarted | AttemptMigrated):
            self._note_begin(event)
        fold(self.state, (event,))
        if isinstance(event, StateImported):
            for ledger in (
                self.team, self.work, self.spending, self.track_record, self.failures, self.recipes, self.memory,
                self.agent_state, self.discovery,
            ):  # fmt: skip
                ledger.adopt(self.state)
            self.times.adopt(self.state)
            self.minted |= Counter(self.state.minted)

    def _note_begin(self, event: AttemptStarted | AttemptMigrated) -> None:
        """Note the spec of an attempt, or the inputs and the expected output of a built-in join."""
        job = self.work.jobs[event.task_id]
        if event.agent_id is not None and job.attempt is not None:
            is_made = event.agent_id in self.recipes.ruled  # its spec follows from what its maker has
            job.attempt.spec = None if is_made else self.team.agents[event.agent_id].spec
        elif job.kind == "join":
            finished_nodes = [node for node in self.work.graph_predecessors(job) if node.outcome is TaskStatus.DONE]
            input_nodes = [node for node in finished_nodes if node.output is not None or job.join == "list"]
            results = [Result(self._worker(node), node.title, node.output, node.ended_ms) for node in input_nodes]
            joined = ExpectedJoin([node.id for node in input_nodes], join(job.join or "concat", results))
            self.joins[event.task_id, event.attempt] = joined

    def _worker(self, job: Job) -> str:
        member = self.team.find(job.agent_id or job.worker_id or "")
        return job.title if member is None else member.name

    # Events, before the ledgers apply them

    def _on_attempt_started(self, event: AttemptStarted) -> None:
        self.started_seq[event.task_id, event.attempt] = self.next_seq
        if event.agent_id is not None:
            name = self.state.agents[event.agent_id].name
            task = self.state.tasks[event.task_id]
            ends = (self.state.tasks[before].ended_ms or 0 for before in task.after)
            ready_ms = max(self.ready_again_ms.get(task.id, 0), task.created_ms, *ends)
            self.attempts_begun[name] += 1
            self.waits_ms.setdefault(name, []).append(event.at_ms - ready_ms)

    def _on_step_recorded(self, event: events.StepRecorded) -> None:
        self.steps[event.task_id, event.key] = self.next_seq

    def _on_attempt_cancelled(self, event: AttemptCancelled) -> None:
        if event.restarted:  # it begins again, without its finished steps
            self.steps = {key: seq for key, seq in self.steps.items() if key[0] != event.task_id}

    def _note_ready_again(self, event: Any) -> None:
        self.ready_again_ms[event.task_id] = event.at_ms

    _on_retry_due = _note_ready_again
    _on_task_requeued = _note_ready_again
    _on_task_failed_over = _note_ready_again
    _on_task_tried_anew = _note_ready_again
    _on_task_reassigned = _note_ready_again

    def _on_task_reopened(self, event: events.TaskReopened) -> None:
        self.ready_again_ms |= dict.fromkeys((event.task_id, *event.reopened), event.at_ms)

    def _note_outcome(self, event: events.CommandApplied | events.CommandRefused) -> None:
        self.outcome_seqs[event.command_id] = self.next_seq

    _on_command_applied = _note_outcome
    _on_command_refused = _note_outcome

    def _on_run_finished(self, event: RunFinished) -> None:
        run = self.work.runs[event.run_id]
        agent_jobs = [job for job in map(self.work.jobs.__getitem__, run.tasks) if job.kind == "agent"]
        ends = Counter(job.outcome for job in agent_jobs)
        self.task_outcomes.update(str(job.outcome) for job in agent_jobs)
        self.summaries[run.id] = {
            "supervisor_id": run.supervisor_id,
            "status": event.status,
            "tasks": len(agent_jobs),
            "done": ends[TaskStatus.DONE],
            "failed": ends[TaskStatus.FAILED],
            "usage": self.spending.usage_of(run.id),
            "started_ms": run.submitted_ms,
            "ended_ms": event.at_ms,
            "seq": self.next_seq,
        }
