"""Independent bookkeeping of agents: their ended attempts, and the usage of their models."""

from collections import Counter
from typing import Any

from typing_extensions import override

from engine.core.events import AttemptCancelled, AttemptDone, AttemptFailed, EngineStarted
from engine.core.records.values import NO_USAGE, Usage
from engine.core.state import MAX_CATEGORIES, State
from engine.simulation.ledger import Ledger
from engine.simulation.ledger.work import JobLedger

ENDS = ("done", "failed", "cancelled")
Key = tuple[str, str]
"""Id of an agent, and a category."""


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
