"""Independent bookkeeping of the state that agents keep for themselves."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from engine.core.events import AgentRemoved, AttemptDone, AttemptFailed, AttemptStarted, Event, StepRecorded
from engine.core.queries.team.recipe_ids import replace_recipe_ids
from engine.core.state import Agent, State

COUNT = "count"
"""The key of a number that every counting attempt of a simulation raises by one."""


class KeptEntry(NamedTuple):
    """A value of an agent's state."""

    value: Any
    seq: int
    """The event that wrote it; 0 if that removed it."""
    task_id: str


class KeptLedger:
    """The state of each agent, by its id and the key."""

    def __init__(self, resolve: Any) -> None:
        self._resolve = resolve
        self.values: dict[str, dict[str, KeptEntry]] = {}
        self.counted: dict[tuple[str, str], int] = {}
        """The last attempt of each task that has counted, by the task and the agent."""

    def take(self, event: Event, seq: int) -> None:
        """Apply an event."""
        match event:
            case AttemptFailed() | StepRecorded() if _is_refused(event):  # the next attempt makes its changes anew
                self.counted.pop((event.task_id, event.agent_id or ""), None)
            case StepRecorded() | AttemptDone():
                for key, change in event.state_changes.items():
                    entry = KeptEntry(change[0], seq, event.task_id) if change else KeptEntry(None, 0, event.task_id)
                    self.values.setdefault(event.agent_id or "", {})[key] = entry
                    if key == COUNT:
                        self.counted[event.task_id, event.agent_id or ""] = event.attempt
            case AttemptStarted():  # what a task has changed for one agent is forgotten once another one tries it
                others = [pair for pair in self.counted if pair[0] == event.task_id and pair[1] != event.agent_id]
                for pair in others:
                    del self.counted[pair]
            case AgentRemoved():
                self.values.pop(event.agent_id, None)

    def adopt(self, state: State) -> None:
        """Take the state of the agents of an import from the folded state."""
        for agent in state.agents.values():
            entries = {key: KeptEntry(*pair, "") for key, pair in self.values_in(agent).items()}
            self.values.setdefault(agent.id, entries)

    def values_in(self, agent: Agent) -> dict[str, tuple[Any, int]]:
        """Convert the values that an agent has in the state; the text of an imported value has other ids."""
        pairs = [(key, self._resolve(entry.value), entry) for key, entry in agent.kept.items()]
        return {key: (replace_recipe_ids(value, entry.recipes), entry.version) for key, value, entry in pairs}

    def present(self, agent_id: str) -> dict[str, tuple[Any, int]]:
        """Return the present values of an agent with their versions."""
        return {key: (each.value, each.seq) for key, each in self.values.get(agent_id, {}).items() if each.seq}

    def references(self, recipe_id: str) -> Iterator[str]:
        """Yield where values refer to a recipe, as `agent:key`."""
        for agent_id in self.values:
            for key, (value, _) in self.present(agent_id).items():
                if recipe_id in re.findall(r'{"\$agent": "(k\d+)"}', json.dumps(value)):
                    yield f"{agent_id}:{key}"


def _is_refused(event: AttemptFailed | StepRecorded) -> bool:
    """Return whether changes were refused that were made from old values."""
    is_applied = isinstance(event, StepRecorded) and event.state_changes
    return not is_applied and min(event.state_versions.values(), default=0) < 0
