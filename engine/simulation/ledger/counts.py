"""Totals, what is remembered of finished runs, hand-overs, ids, joins: what is counted once and compared as it is."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from engine.core.events import (
    AttemptFailed,
    AttemptStarted,
    Delegated,
    EscalationAnswered,
    Event,
    GroupEnded,
    GroupGrown,
    GroupPlanned,
    ItemReturned,
    ItemTaken,
    RunSubmitted,
    StrategySwitched,
    SupervisorFailed,
)
from engine.core.state import State, TaskStatus
from engine.simulation.ledger.jobs import Job
from engine.simulation.ledger.work import WorkLedger


@dataclass(frozen=True, slots=True)
class Joined:
    """What a built-in join has to come to."""

    of: list[str]
    """Tasks whose outputs are joined."""
    value: Any


class CountLedger:
    """Figures of the whole journal."""

    def __init__(self) -> None:
        self.minted: Counter[str] = Counter()
        """The last number given to an id, by its letter."""
        self.totals: Counter[str] = Counter()
        self.summaries: dict[str, dict[str, Any]] = {}
        """What has to be remembered of each run that has ended."""
        self.hand_overs: dict[str, tuple[int, int]] = {}
        """Of each supervisor: how many graphs it handed through, and what they took besides the work below, in ms."""
        self.begun_ms: dict[str, int] = {}
        """When the first attempt under each graph began."""
        self.planned_ms: dict[str, int] = {}
        """When each graph was made, which of a request is when the runs that it comes after have ended."""
        self.paid: list[tuple[str, str]] = []
        """Tasks and agents of which attempts reported what they spent, since that was last looked at."""
        self.joins: dict[tuple[str, int], Joined] = {}
        self.answered: dict[str, str] = {}
        """What was said of failed tasks, until it is carried out."""
        self.crashed: list[str] = []
        """Members that crashed, agents and supervisors, in order."""

    def take(self, event: Any, work: WorkLedger) -> None:
        """Note what an event adds; the ledger of work has not taken it yet."""
        self._add(event)
        if isinstance(event, ItemReturned):
            self.totals["tasks"] += 1 - sum(work.jobs[one].kind == "agent" for one in event.dropped)
        if getattr(event, "usage", None) is not None and event.agent_id is not None and event.task_id:
            self.paid.append((event.task_id, event.agent_id))
        match event:
            case GroupPlanned():
                self.planned_ms[event.task_id] = event.at_ms
            case AttemptStarted(agent_id=str()):
                self._begin_above(work.jobs[event.task_id], event.at_ms, work)
            case GroupEnded():
                self._hand_over(work.jobs[event.task_id], event.at_ms, work)
            case AttemptFailed(crashed=True, agent_id=str()):
                self.crashed.append(event.agent_id or "")
            case SupervisorFailed():
                self.crashed.append(event.supervisor_id)
            case EscalationAnswered(kind="failure"):
                self.answered[event.subject] = event.answer
            case _:
                self.answered.pop(getattr(event, "task_id", None) or "", None)

    def _add(self, event: Event) -> None:
        match event:
            case RunSubmitted():
                self.totals["runs"] += 1
            case GroupPlanned():
                self.totals["tasks"] += sum(node.kind == "agent" for node in event.nodes)
            case GroupGrown():
                self.totals["tasks"] += sum(node.kind == "agent" for node in event.added)
            case StrategySwitched():
                self.totals["tasks"] += sum(node.kind == "agent" for change in event.groups for node in change.added)
            case ItemTaken():
                self.totals["tasks"] -= 1
            case Delegated():
                self.totals["tasks"] += sum(child.kind == "agent" for child in event.children)

    def count_outcomes(self, before: dict[str, TaskStatus | None], work: WorkLedger) -> None:
        """Count tasks of agents whose outcome is another than before an event."""
        names = {TaskStatus.DONE: "done", TaskStatus.FAILED: "failed"}
        for task_id, outcome in before.items():
            job = work.jobs.get(task_id)
            now = None if job is None else job.outcome
            if job is not None and now is not outcome and job.kind == "agent":
                if outcome in names:
                    self.totals[names[outcome]] -= 1
                if now in names:
                    self.totals[names[now]] += 1

    def _begin_above(self, job: Job, at_ms: int, work: WorkLedger) -> None:
        for above in list(work.up(job))[1:]:
            if above.kind != "group":
                return
            self.begun_ms.setdefault(above.id, at_ms)

    def _hand_over(self, group: Job, at_ms: int, work: WorkLedger) -> None:
        begun_ms = self.begun_ms.get(group.id)
        if begun_ms is None or group.worker_id is None:
            return
        could_ms = max([group.created_ms, *(work.jobs[one].ended_ms or 0 for one in group.after)])
        if group.parent_id is None:
            could_ms = max(could_ms, self.planned_ms.get(group.id, 0))
        members = [work.jobs[one] for one in group.children]
        over_ms = max([one.ended_ms or 0 for one in members if one.kind in ("agent", "group")], default=at_ms)
        count, took_ms = self.hand_overs.get(group.worker_id, (0, 0))
        took_ms += max(0, begun_ms - could_ms) + max(0, at_ms - over_ms)
        self.hand_overs[group.worker_id] = (count + 1, took_ms)

    def adopt(self, state: State) -> None:
        """Take the figures that an import brought."""
        self.minted.update({letter: number - self.minted[letter] for letter, number in state.minted.items()})
        self.totals = Counter(
            tasks=state.tasks_total, done=state.tasks_done, failed=state.tasks_failed, runs=state.runs_total
        )
        for supervisor in state.supervisors.values():
            self.hand_overs.setdefault(supervisor.id, (supervisor.hand_overs, supervisor.hand_over_ms))
        for task in state.tasks.values():
            if task.begun_ms is not None:
                self.begun_ms.setdefault(task.id, task.begun_ms)
