"""Independent bookkeeping of insights: what is written, in which version, by whose right, and who has read it."""

from dataclasses import dataclass, field
from typing import Any

from engine.core import events
from engine.core.specs.memory import ALL, MemoryOptions
from engine.core.state import PRIVATE, State
from engine.simulation.ledger import Ledger, make_entry
from engine.simulation.ledger.recipes import RecipeLedger
from engine.simulation.ledger.team import TeamLedger


@dataclass(slots=True)
class InsightEntry:
    """An insight, as of the events."""

    id: str
    owner_id: str
    """Its agent if it is private, else the supervisor at the top of its team."""
    text: str
    tags: list[str]
    segment: str
    importance: float
    version: int
    at_ms: int
    expires_ms: int | None
    reads: int = 0
    chain: str = field(default="", compare=False)
    """Id of the first of its versions."""


class MemoryLedger(Ledger):
    """Every insight that is not forgotten, oldest first."""

    def __init__(self, resolve: Any, team: TeamLedger, recipes: RecipeLedger) -> None:
        self._resolve = resolve
        self._team = team
        self._recipes = recipes
        self.insights: dict[str, InsightEntry] = {}
        self.rights_changed_ms = 0
        """When a right to read or to write may have changed last, UTC milliseconds."""

    def _on_remembered(self, event: events.Remembered) -> None:
        owner_id = event.agent_id if event.segment == PRIVATE else event.supervisor_id
        older = self.insights.get(event.supersedes or "")
        chain = event.insight_id if older is None else older.chain
        self.insights[event.insight_id] = make_entry(
            InsightEntry, event, id=event.insight_id, owner_id=owner_id or "", chain=chain
        )

    def _on_step_recorded(self, event: events.StepRecorded) -> None:
        for insight_id in event.reads:
            if insight_id in self.insights:
                self.insights[insight_id].reads += 1

    def _on_insights_forgotten(self, event: events.InsightsForgotten) -> None:
        for insight_id in event.ids:
            self.insights.pop(insight_id)

    def _on_member_moved(self, event: events.MemberMoved) -> None:
        self._note_rights(event)
        for insight in self.insights.values():
            if insight.owner_id == event.member_id and event.member_id not in self._team.agents:
                insight.owner_id = self.root_id(event.parent_id)

    def _note_rights(self, event: Any) -> None:
        self.rights_changed_ms = event.at_ms

    _on_supervisor_changed = _on_member_renamed = _on_recipe_retired = _on_agent_added = _note_rights

    def _on_agent_removed(self, event: events.AgentRemoved) -> None:
        self._note_rights(event)
        self._drop_insights_of(event.agent_id)

    def _on_supervisor_removed(self, event: events.SupervisorRemoved) -> None:
        self._drop_insights_of(event.supervisor_id)

    def _drop_insights_of(self, owner_id: str) -> None:
        self.insights = {key: insight for key, insight in self.insights.items() if insight.owner_id != owner_id}

    def adopt(self, state: State) -> None:
        """Take the insights of an import from the state."""
        self.insights = self.insights_in(state)
        for insight in self.insights.values():
            older = self.insights.get(state.insights[insight.id].supersedes or "")
            insight.chain = insight.id if older is None else older.chain

    def insights_in(self, state: State) -> dict[str, InsightEntry]:
        """Convert the insights of the state."""
        return {
            each.id: make_entry(
                InsightEntry,
                each,
                owner_id=(each.agent_id if each.segment == PRIVATE else each.supervisor_id) or "",
                text=str(self._resolve(each.text)),
            )
            for each in state.insights.values()
        }

    # Questions

    def root_id(self, supervisor_id: str) -> str:
        """Return the supervisor at the top of a team."""
        *_, root = self._team.lineage(supervisor_id)
        return root.id

    def newest(self, chain: str) -> InsightEntry | None:
        """Return the newest version of a chain that is not forgotten."""
        versions = [insight for insight in self.insights.values() if insight.chain == chain]
        return max(versions, key=lambda insight: insight.version, default=None)

    def options(self, root_id: str) -> MemoryOptions:
        """Return the size and the rights of a team's pool."""
        return self._team.supervisors[root_id].options.memory or MemoryOptions()

    def may(self, agent_id: str, right: str, segment: str) -> bool:
        """Return whether an agent may `read` or `write` a segment; a made one has the rights of its path's first."""
        segments = self.options(self.root_id(self._team.agents[agent_id].supervisor_id)).segments
        top_id = self._recipes.top_of(agent_id)
        top = self._team.agents.get(top_id) or self._team.agents[agent_id]
        names = {ALL, *(supervisor.name for supervisor in self._team.lineage(top.supervisor_id))}
        names |= {top.name} if top.id == top_id else set()
        return not names.isdisjoint(getattr(segments.get(segment), right, (ALL,)))
