"""What an attempt reads and changes of the state of its agent (`ctx.state`).

Each change is applied once, although attempts are repeated, and none overwrites one that it does not know:

- Changes are kept locally, and carried by the next event of the attempt, a recorded step or its end, with the versions
  that the attempt has seen. If another attempt has changed one of the values since, none of them is applied.
- A repeated attempt sees the state as the attempt that it repeats, until it has repeated the steps of that one which
  carried changes; there it drops the repeated changes. So code that takes the same way makes the same changes in the
  same steps, also where their input depends on the state. After the last such step it sees the present state.
- Where it takes another way, its changes replace those of its task, unless another attempt has changed the values. Then
  they are refused, and the next attempt makes them from the present values.
- A conflict that the code caught is raised again at the same step.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.core.entities.kept import KeptValue
from engine.core.queries.team.recipe_ids import replace_recipe_ids
from engine.core.records.records import JsonValue
from engine.errors import StateConflict
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.functions.agent_state import AgentState
from engine.runtimes.values import json_value


@dataclass(frozen=True, slots=True)
class _View:
    """The state as an earlier attempt began with it, or as it is at present."""

    values: Mapping[str, JsonValue]
    versions: dict[str, int]
    unrepeated: set[str]
    """Keys of the steps of that attempt that carried changes, and are not repeated yet; empty for the present."""


class StateChanges:
    """The changes of the agent's state by one attempt."""

    _mapping: AgentState | None = None

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._effect = attempt.effect

    async def load(self) -> None:
        """Read the state of the agent, as it was when the attempt began, so that `ctx.state` need not wait."""
        self._views: list[_View] = []
        self._seen: dict[str, int] = {}
        """The version of each value that the code has read."""
        own = self._effect.changes
        for step_key in own.steps if own is not None else ():
            if own is not None and step_key in own.views:
                self._views.append(await self._read(own.views[step_key]))
            self._views[-1].unrepeated.add(step_key)
        self._views.append(await self._read(self._effect.agent_state))

    def open(self, decode: Callable[[JsonValue], Any]) -> AgentState:
        """Return the loaded state; `decode` of the first call copies values that are read."""
        if self._mapping is None:
            self._mapping = AgentState(self._views[0].values, json_value, decode)
        return self._mapping

    def take(self) -> dict[str, Any]:
        """Return the fields by which a signal carries the changes since the last one; empty if there are none."""
        mapping = self._mapping
        if mapping is None or not mapping.pending:
            return {}
        self._note_reads(mapping)
        changes, view = mapping.take_changes(), self._views[0]
        versions = {key: self._seen.get(key, view.versions.get(key, 0)) for key in changes}
        if view.unrepeated:
            versions = {key: ~version for key, version in versions.items()}
        return {"state_changes": changes, "state_versions": versions}

    async def repeat(self, step_key: str) -> None:
        """Drop the changes that were carried by a step of an earlier attempt.

        Raises:
            StateConflict: If they were refused then, and the code went on.
        """
        own, mapping = self._effect.changes, self._mapping
        if own is None:
            return
        refused = own.conflicts.get(step_key)
        if mapping is not None:
            self._note_reads(mapping)
            if refused is None:
                mapping.drop_changes(own.steps.get(step_key, ()))
            else:
                self._reset(mapping, refused, self._views[0] if len(self._views) == 1 else await self._read(refused))
        if refused is not None:
            raise StateConflict(refused)
        for view in self._views:
            view.unrepeated.discard(step_key)
        while len(self._views) > 1 and not self._views[0].unrepeated:
            del self._views[0]
            if mapping is not None:
                self._reset(mapping, {*mapping, *self._views[0].values} - {*mapping.pending}, self._views[0])

    async def settle(self, step_key: str, keys: Iterable[str]) -> None:
        """Find out whether the changes of these keys, which a recorded step carried, were applied.

        Raises:
            StateConflict: If they were refused; the mapping has the present values then.
        """
        task, mapping = self._attempt.state.tasks.get(self._effect.task_id), self._mapping
        own = None if task is None else task.changes
        refused = None if own is None else own.conflicts.get(step_key)
        if mapping is None or refused is None:
            return
        self._note_reads(mapping)
        await self._attempt.wait_state_written()
        # A value that other code of the attempt has set meanwhile stays: its own report will be refused.
        self._reset(mapping, [key for key in refused if key not in mapping.pending], await self._read(refused))
        raise StateConflict(keys)

    def close(self) -> None:
        """Forget the mapping, which may refer to the attempt."""
        self._mapping = None

    def _note_reads(self, mapping: AgentState) -> None:
        versions = self._views[0].versions
        self._seen.update((key, versions.get(key, 0)) for key in mapping.take_reads())

    def _reset(self, mapping: AgentState, keys: Iterable[str], view: _View) -> None:
        """Show the values of a view, without a change."""
        for key in keys:
            mapping.reset(key, view.values)
            self._views[0].versions[key] = view.versions.get(key, 0)

    async def _read(self, view: Mapping[str, KeptValue | None]) -> _View:
        text, values = self._attempt.services.text, {}
        for key, item in view.items():
            if item is not None:
                value = await text(item.value)
                values[key] = replace_recipe_ids(value, item.recipes) if item.recipes else value
        return _View(values, {key: item.version for key, item in view.items() if item is not None}, set())
