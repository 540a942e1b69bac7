"""The state that agents keep for themselves: conflicts of changes with those of other attempts."""

import json
from collections.abc import Iterable, Mapping, Sequence

from engine.core.entities.recipes import KEY
from engine.core.queries.team.recipe_ids import recipe_ids_in
from engine.core.records.records import JsonValue
from engine.core.state import MAX_KEPT_BYTES, MAX_KEPT_KEYS, Agent, Task


def has_conflict(
    agent: Agent, task: Task, changes: Mapping[str, Sequence[JsonValue]], versions: Mapping[str, int]
) -> bool:
    """Return whether a change does not know of another attempt's, or the state has no room for these changes.

    Args:
        task: The task whose attempt makes them; it knows its own changes by recorded steps.
        changes: For each key `[value]`, or `[]` to remove it.
        versions: The version of each value that the attempt has seen, 0 if there was none; as its complement (`~`) if
            the attempt has not repeated all steps with changes.
    """
    for key, change in changes.items():
        if not _is_known(agent, task, key, versions.get(key, 0)) and not _is_present(agent, key, change):
            return True
    sizes = {key: value.size_bytes for key, value in agent.kept.items() if key not in changes}
    sizes |= {key: size_of(key, change[0]) for key, change in changes.items() if change}
    # An attempt checks this itself, so only the keys of others can have filled it.
    return len(sizes) > MAX_KEPT_KEYS or sum(sizes.values()) > MAX_KEPT_BYTES


def _is_known(agent: Agent, task: Task, key: str, seen: int) -> bool:
    present, seen = version_of(agent, key), max(seen, ~seen)
    own_versions = [] if task.changes is None else task.changes.versions.get(key, [])
    return present == seen or (seen in own_versions and present == own_versions[-1])


def _is_present(agent: Agent, key: str, change: Sequence[JsonValue]) -> bool:
    """Return whether another attempt has kept the same made agent already, which both have found by one recipe.

    Other equal values conflict: a counter that two attempts raise from 1 is 2 for both, and must become 3.
    """
    value, recipe_ids = agent.kept.get(key), recipe_ids_in([*change])
    if value is None or [*change] != [{KEY: recipe_id} for recipe_id in recipe_ids] or not recipe_ids:
        return False
    return value.recipes == recipe_ids and value.size_bytes == size_of(key, change[0])


def version_of(agent: Agent, key: str) -> int:
    """Return the version of a kept value; 0 if there is none."""
    value = agent.kept.get(key)
    return 0 if value is None else value.version


def size_of(key: str, value: JsonValue) -> int:
    """Return the size of a key with its value, in bytes of JSON; as `runtimes.functions.agent_state` counts it."""
    return len(json.dumps({key: value}, ensure_ascii=False, separators=(",", ":")).encode())


def describe_conflict(keys: Iterable[str]) -> str:
    """Return the error of changes of these keys that were refused."""
    names = ", ".join(map(repr, keys))
    return f"its changes of {names} in ctx.state were refused: another attempt of the agent has changed them since"
