"""Fold: the state that agents keep for themselves, called by the fold of attempts."""

from collections.abc import Mapping, Sequence

from engine.core.events import AttemptFailed, StepRecorded
from engine.core.queries.team.kept import size_of, version_of
from engine.core.queries.team.recipe_ids import recipe_ids_in
from engine.core.records.records import JsonValue
from engine.core.records.values import stored_value
from engine.core.state import Agent, Attempt, KeptValue, State, Task, TaskChanges


def keep_values(state: State, agent: Agent, changes: Mapping[str, Sequence[JsonValue]]) -> None:
    """Apply the `state_changes` of the present event."""
    for key, change in changes.items():
        if change:
            (value,) = change
            agent.kept[key] = KeptValue(
                value=stored_value(value, state.seq, "state_changes", key, 0),
                version=state.seq,
                size_bytes=size_of(key, value),
                recipes=recipe_ids_in(value),
            )
        else:
            agent.kept.pop(key, None)


def keep_values_of_step(state: State, task: Task, agent: Agent, event: StepRecorded) -> None:
    """Apply the changes that a step carries, or note that they were refused."""
    if not event.state_changes:
        _start_over(task, event.state_versions)
        own = task.changes = task.changes or TaskChanges()
        own.conflicts[event.key] = {key: agent.kept.get(key) for key in event.state_versions}
        return
    attempt, own = task.attempt, task.changes or TaskChanges()
    assert attempt is not None
    task.changes = own
    if not attempt.has_carried or not own.views:
        attempt.has_carried = True
        own.views[event.key] = dict(_view_of(attempt, own, event.state_versions))
    own.steps[event.key] = [*event.state_changes]
    for key, change in event.state_changes.items():
        present, versions = version_of(agent, key), own.versions.setdefault(key, [])
        if not versions or versions[-1] != present:
            versions[:] = [present]
        versions.append(state.seq if change else 0)
    keep_values(state, agent, event.state_changes)


def _view_of(attempt: Attempt, own: TaskChanges, versions: Mapping[str, int]) -> Mapping[str, KeptValue]:
    """Return the state from which an attempt has made changes: an older one if it has not repeated all steps.

    A later attempt has to begin with the same, or its changes come on top of these.
    """
    older = {key: ~version for key, version in versions.items() if version < 0}
    views = (view for view in own.views.values() if all(_version_in(view, key) == older[key] for key in older))
    return next(views, attempt.agent_state) if older else attempt.agent_state


def _version_in(view: Mapping[str, KeptValue], key: str) -> int:
    return view[key].version if key in view else 0


def note_conflict(task: Task, event: AttemptFailed) -> None:
    """Let the next attempt go on after a conflict: at the end of this one, or in a step whose error it did not catch.

    A conflict that it caught stays: an attempt that repeats its steps has to take the same way.
    """
    own = task.changes
    if event.state_versions:
        _start_over(task, event.state_versions)
    elif own is not None and own.conflicts and "StateConflict" in event.error_types:
        own.conflicts.popitem()


def forget_dropped_conflicts(task: Task) -> None:
    """Forget the refused changes of steps that are dropped: once such a step runs again, its changes may be applied."""
    if task.changes is not None:
        conflicts = task.changes.conflicts
        task.changes.conflicts = {key: refused for key, refused in conflicts.items() if key in task.steps}


def _start_over(task: Task, refused: Mapping[str, int]) -> None:
    """Forget the changes of a task that does not repeat its steps, and were thus made anew from old values.

    Otherwise every further attempt would do the same, and be refused.
    """
    if any(version < 0 for version in refused.values()):
        task.changes = None
