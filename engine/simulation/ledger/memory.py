"""Independent bookkeeping of the insights of agents."""

from typing import Any

from engine.core import events
from engine.core.records.values import StoredValue
from engine.core.state import MAX_INSIGHTS, State
from engine.simulation.ledger import Ledger


class MemoryLedger(Ledger):
    """Insights of each agent with their importance, the oldest first."""

    def __init__(self, resolve: Any) -> None:
        self._resolve = resolve
        self.insights: dict[str, dict[str, tuple[str, float]]] = {}

    def _on_remembered(self, event: events.Remembered) -> None:
        insights = self.insights.setdefault(event.agent_id, {})
        insights[event.insight_id] = (event.text, event.importance)
        if len(insights) > MAX_INSIGHTS:
            *older_ids, _ = insights
            lowest_importance = min(insights[insight_id][1] for insight_id in older_ids)
            del insights[next(insight_id for insight_id in older_ids if insights[insight_id][1] == lowest_importance)]

    def _on_agent_removed(self, event: events.AgentRemoved) -> None:
        self.insights.pop(event.agent_id, None)

    def adopt(self, state: State) -> None:
        """Take the insights of an import from the state."""
        self.insights = self.insights_in(state)

    def insights_in(self, state: State) -> dict[str, dict[str, tuple[str, float]]]:
        """Convert the insights of the state."""
        return {
            agent.id: {
                insight_id: (self._text(state.insights[insight_id].text), state.insights[insight_id].importance)
                for insight_id in ids
            }
            for agent in state.agents.values()
            if (ids := agent.insights)
        }

    def _text(self, value: StoredValue) -> str:
        return str(self._resolve(value))
