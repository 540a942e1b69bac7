"""Searches for agents outside a team: where each stands, and who may join because of it."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from engine.core import events
from engine.core.state import State
from engine.simulation.ledger import Ledger


@dataclass(slots=True)
class SearchEntry:
    """The search for one group."""

    group_id: str
    is_asked: bool = True
    """This engine has been told to search."""
    has_ended: bool = False


@dataclass(slots=True)
class Admission:
    """The agents that may join now: right after a search, or after the answer of a person."""

    group_id: str
    ids: list[str]
    by_person: bool


class DiscoveryLedger(Ledger):
    """Every search of an open group, and every reference that is trusted."""

    def __init__(self) -> None:
        self.searches: dict[str, SearchEntry] = {}
        self.admissions: dict[str, Admission] = {}
        """Who may join now, by group."""
        self.joined: Counter[str] = Counter()
        """Number of agents that were found and joined, by run."""
        self.looked_up: set[str] = set()
        """References that the shell has looked up in the list of what the user trusts."""
        self.allowed: set[str] = set()
        """Those of them that have ever been on it."""
        self.trusted: set[str] = set()
        """References that the journal says are trusted."""

    def adopt(self, state: State) -> None:
        """Take the searches of an import from the state."""
        for task in state.tasks.values():
            if task.search is not None:
                entry = SearchEntry(task.id, is_asked=False, has_ended=task.search == "ended")
                self.searches.setdefault(task.id, entry)
        for run in state.runs.values():
            if run.id not in self.joined:
                self.joined[run.id] = run.agents_found

    def _on_engine_started(self, event: events.EngineStarted) -> None:
        for search in self.searches.values():
            search.is_asked = False

    def _on_plan_asked(self, event: events.PlanAsked) -> None:
        if event.words:
            self.searches.setdefault(event.task_id, SearchEntry(event.task_id)).is_asked = True

    def _on_discovered(self, event: events.Discovered) -> None:
        self.searches[event.task_id].has_ended = True
        self.admissions[event.task_id] = Admission(event.task_id, [*event.chosen], by_person=False)

    def _on_escalated(self, event: events.Escalated) -> None:
        if event.kind == "discover":
            self.admissions.pop(event.subject, None)

    def _on_escalation_answered(self, event: events.EscalationAnswered) -> None:
        if event.kind == "discover":
            offers: Any = event.detail["agents"] if event.answer == "add" else []
            self.admissions[event.subject] = Admission(event.subject, [each["id"] for each in offers], by_person=True)

    def _on_references_trusted(self, event: events.ReferencesTrusted) -> None:
        self.trusted.update(event.references)

    def _on_agent_added(self, event: events.AgentAdded) -> None:
        if event.origin is not None and event.origin.kind == "discovery":
            self.joined[event.run_id or ""] += 1

    def _forget(self, event: events.GroupPlanned | events.GroupEnded) -> None:
        self.admissions.pop(event.task_id, None)

    _on_group_planned = _on_group_ended = _forget
