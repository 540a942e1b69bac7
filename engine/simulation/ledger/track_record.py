"""Independent bookkeeping of ended attempts and usage of each agent, by category of work."""

from collections import Counter
from typing import Any

from engine.core.events import AttemptCancelled, AttemptDone, AttemptFailed
from engine.core.records.values import NO_USAGE, Usage
from engine.core.state import MAX_CATEGORIES, State
from engine.simulation.ledger.work import WorkBook

ENDS = ("done", "failed", "cancelled")
Key = tuple[str, str]
"""Id of an agent, and a category."""


class TrackRecordLedger:
    """Ends and usage by agent and category; simulated teams have few categories, so that none are merged."""

    def __init__(self) -> None:
        self.ends: dict[Key, Counter[str]] = {}
        self.usage: dict[Key, Usage] = {}

    def take(self, event: Any, work: WorkBook) -> None:
        """Apply an event; the work ledger has not applied it yet."""
        usage = getattr(event, "usage", None)
        if usage is None or event.agent_id is None:
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
