"""What agents remember, in the ledger."""

from typing import Any

from engine.core import events
from engine.core.records.values import StoredValue
from engine.core.state import INSIGHTS, State
from engine.simulation.ledger import Ledger


class MemoryLedger(Ledger):
    """What each agent has to know, with how important it is, the oldest first."""

    def __init__(self, resolve: Any) -> None:
        self._resolve = resolve
        self.known: dict[str, dict[str, tuple[str, float]]] = {}

    def _on_remembered(self, event: events.Remembered) -> None:
        known = self.known.setdefault(event.agent_id, {})
        known[event.insight_id] = (event.text, event.importance)
        if len(known) > INSIGHTS:
            *older, _ = known
            least = min(known[one][1] for one in older)
            del known[next(one for one in older if known[one][1] == least)]

    def _on_agent_removed(self, event: events.AgentRemoved) -> None:
        self.known.pop(event.agent_id, None)

    def adopt(self, state: State) -> None:
        """Take what an import brought."""
        self.known = self.of(state)

    def of(self, state: State) -> dict[str, dict[str, tuple[str, float]]]:
        """Return what a state says that agents know, in the same words."""
        return {
            agent.id: {one: (self._text(state.insights[one].text), state.insights[one].importance) for one in ids}
            for agent in state.agents.values()
            if (ids := agent.insights)
        }

    def _text(self, value: StoredValue) -> str:
        return str(self._resolve(value))
