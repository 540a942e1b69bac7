"""Independent bookkeeping of agents: their insights, their ended attempts, and the usage of their models."""

from collections import Counter
from typing import Any

from typing_extensions import override

from engine.core import events
from engine.core.events import AttemptCancelled, AttemptDone, AttemptFailed, EngineStarted
from engine.core.records.values import NO_USAGE, StoredValue, Usage
from engine.core.state import MAX_CATEGORIES, PRIVATE, State
from engine.simulation.ledger import Ledger
from engine.simulation.ledger.work import JobLedger

ENDS = ("done", "failed", "cancelled")
Key = tuple[str, str]
"""Id of an agent, and a category."""


class MemoryLedger(Ledger):
    """Owner, text and importance of each insight: its agent, or the supervisor at the top for those of a pool."""

    def __init__(self, resolve: Any) -> None:
        self._resolve = resolve
        self._parents: dict[str, str | None] = {}
        self.insights: dict[str, tuple[str, str, float]] = {}

    def _on_remembered(self, event: events.Remembered) -> None:
        owner_id = event.agent_id if event.segment == PRIVATE else event.supervisor_id
        self.insights[event.insight_id] = (owner_id or "", event.text, event.importance)

    def _on_insights_forgotten(self, event: events.InsightsForgotten) -> None:
        for insight_id in event.ids:
            self.insights.pop(insight_id)

    def _on_supervisor_added(self, event: events.SupervisorAdded) -> None:
        self._parents[event.supervisor_id] = event.parent_id

    def _on_member_moved(self, event: events.MemberMoved) -> None:
        if event.member_id in self._parents:
            self._parents[event.member_id] = root_id = event.parent_id
            while (above_id := self._parents[root_id]) is not None:
                root_id = above_id
            for insight_id, (owner_id, text, importance) in self.insights.items():
                if owner_id == event.member_id:
                    self.insights[insight_id] = (root_id, text, importance)

    def _on_agent_removed(self, event: events.AgentRemoved) -> None:
        self._drop_insights_of(event.agent_id)

    def _on_supervisor_removed(self, event: events.SupervisorRemoved) -> None:
        self._drop_insights_of(event.supervisor_id)

    def _drop_insights_of(self, owner_id: str) -> None:
        self.insights = {key: value for key, value in self.insights.items() if value[0] != owner_id}

    def adopt(self, state: State) -> None:
        """Take the insights and teams of an import from the state."""
        self.insights = self.insights_in(state)
        self._parents = {supervisor.id: supervisor.parent_id for supervisor in state.supervisors.values()}

    def insights_in(self, state: State) -> dict[str, tuple[str, str, float]]:
        """Convert the insights of the state."""
        return {
            each.id: (
                (each.agent_id if each.segment == PRIVATE else each.supervisor_id) or "",
                self._text(each.text),
                each.importance,
            )
            for each in state.insights.values()
        }

    def _text(self, value: StoredValue) -> str:
        return str(self._resolve(value))


class TrackRecordLedger:
    """Ends and usage by agent and category; simulated teams have few categories, so that none are merged."""

    def __init__(self) -> None:
        self.ends: dict[Key, Counter[str]] = {}
        self.usage: dict[Key, Usage] = {}

    def take(self, event: Any, work: JobLedger) -> None:
        """Apply an event; the work ledger has not applied it yet."""
        usage = getattr(event, "usage", None)
        if usage is None or getattr(event, "agent_id", None) is None:
            return
        job = work.jobs.get(event.task_id or "")
        key = event.agent_id, "" if job is None else work.runs[job.run_id].category or ""
        self.usage[key] = self.usage.get(key, NO_USAGE).plus(usage)
        if isinstance(event, AttemptDone | AttemptFailed | AttemptCancelled):
            self.ends.setdefault(key, Counter())[event.type.removeprefix("attempt_")] += 1

    def adopt(self, state: State) -> None:
        """Take the track records of an import from the state."""
        for agent in state.agents.values():
            assert len(agent.track_record) <= MAX_CATEGORIES
            for category, record in agent.track_record.items():
                self.usage.setdefault((agent.id, category), record.usage.plus(NO_USAGE))
                ends = Counter({end: getattr(record, end) for end in ENDS})
                self.ends.setdefault((agent.id, category), ends)


class ModelLedger(Ledger):
    """Usage of attempts of model agents, by task and number."""

    def __init__(self) -> None:
        self.reported: dict[tuple[str, int], Usage] = {}
        """Usage reported by events so far."""
        self.charged: dict[tuple[str, int], Usage] = {}
        """Usage counted by the models themselves."""
        self.inexact_attempts: set[tuple[str, int]] = set()
        """Attempts that may count less: other code than that of a model has spent something, before a swap or after, or
        they were at work when their engine was killed."""

    @override
    def take(self, event: Any) -> None:
        """Add the usage of an event."""
        if isinstance(event, EngineStarted):
            self.inexact_attempts.update(self.charged)
        usage, attempt = getattr(event, "usage", None), getattr(event, "attempt", None)
        if usage is not None and attempt is not None and event.task_id:
            key = (event.task_id, attempt)
            self.reported[key] = self.reported.get(key, NO_USAGE).plus(usage)
