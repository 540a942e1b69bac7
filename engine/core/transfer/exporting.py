"""Makes the state document of an archive, of a whole team or of one supervisor's subtree.

A subtree includes the runs submitted to it. Work that such a run has given to members outside is cut off: a delegation
is forgotten, so that the attempt repeats it after the import; a node of a graph is cancelled, and its dependents
continue without it.
"""

from collections.abc import Callable

import msgspec

from engine.core.commands import Cancel, Order
from engine.core.decisions.decision_context import DecisionContext
from engine.core.documents.document import reset_derived, text_places, unique_values
from engine.core.errors import Refused
from engine.core.events import AttemptLost, Event, RunPaused
from engine.core.fold import fold
from engine.core.fold.timers import drop_timer, set_timer
from engine.core.queries.money.spending import total_of
from engine.core.queries.targets import id_target
from engine.core.queries.team.declared import OPTIONS
from engine.core.queries.team.recipes import recipe_id_of
from engine.core.queries.team.tree import inherited_option, subtree_of
from engine.core.records.records import JsonValue, copy_with
from engine.core.records.shared import drop
from engine.core.records.values import TextRef
from engine.core.signals import EngineBegan
from engine.core.state import FOREIGN_VERSION, PRIVATE, Run, RunSummary, State, Task, TaskChanges, TaskStatus
from engine.core.step import step

NOT_INHERITED = frozenset(
    {"lead", "settings", "strategies", "limits", "max_total", "processes", "instructions_template", "memory"}
)
"""Options that supervisors do not inherit."""


def make_document(state: State, resolve: Callable[[TextRef], JsonValue], *, only: str | None = None) -> list[JsonValue]:
    """Turn a state into a document for `encode_state`, and return the texts that it refers to.

    Attempts at work are treated as after the loss of the engine: finished steps are kept, the rest is repeated.

    Args:
        state: A state between two messages; it is modified.
        resolve: Returns the value of a reference.
        only: Id of the supervisor whose subtree to export; None exports everything.

    Raises:
        Refused: If that supervisor is being removed and would be gone once its work has stopped.
    """
    paused = {run.id for run in state.runs.values() if run.paused}
    if only is not None:
        reduce_to_subtree(state, only)
    elif any(_needs_engine(task) for task in state.tasks.values()):
        end_attempts(state)
    _tidy(state, paused)
    texts: list[JsonValue] = []
    lines: dict[tuple[int, str], int] = {}
    places: dict[str | bytes, int] = {}
    for holder, name, ref in text_places(state):
        place = lines.get((ref.seq, ref.path))
        if place is None:
            # By content: an import in parts may have left the same text in the journal twice.
            text = resolve(ref)
            content = text if type(text) is str else msgspec.json.encode(text)
            place = places.setdefault(content, len(texts))
            lines[ref.seq, ref.path] = place
            if place == len(texts):
                texts.append(text)
        stored_ref = TextRef(seq=0, path=f"texts.{place}")
        if isinstance(holder, dict):
            holder[name] = stored_ref
        else:
            setattr(holder, name, stored_ref)
    return texts


def end_attempts(state: State) -> None:
    """End every attempt, without starting others: the runs are paused first."""
    ctx = DecisionContext(now_ms=state.at_ms, jitter=0.0)
    fold(state, [RunPaused(at_ms=ctx.now_ms, run_id=run.id) for run in state.runs.values() if not run.paused])
    step(state, EngineBegan(pid=0, token=0, version=""), ctx, starts_tasks=False)
    _end_built_in_work(state)


def _end_built_in_work(state: State) -> None:
    """End built-in work, which a pause does not stop; the importing engine starts it again."""
    losses: list[Event] = [
        AttemptLost(at_ms=state.at_ms, run_id=task.run_id, task_id=task.id, attempt=task.attempt.number, agent_id=None)
        for task in state.tasks.values()
        if task.attempt is not None
    ]
    fold(state, losses)


def _needs_engine(task: Task) -> bool:
    """Return whether a task is at work, or would be started by an engine at once (planning, joins)."""
    is_startable = task.kind != "agent" and task.status is TaskStatus.WAITING and not task.blockers
    return task.attempt is not None or is_startable


def _tidy(state: State, paused: set[str]) -> None:
    """Reset everything that belongs to this file or engine, or that an import derives."""
    used = {key for agent in state.agents.values() for key in (agent.spec, agent.previous)}
    used.update(state.registry.values())
    for key in state.specs.keys() - used:
        del state.specs[key]
    for run in state.runs.values():
        run.paused = run.id in paused  # `end_attempts` has paused all of them
    for task in state.tasks.values():
        # Built-in work starts over after an import, so its count of attempts means nothing there.
        if task.kind in ("join", "check") and task.ended_ms is None:
            task.attempts, task.started_ms = 0, None
    _renumber_versions(state)
    for timer in list(state.timers.values()):
        timer.due_ms = max(0, timer.due_ms - state.at_ms)
        if timer.kind in ("pool", "grant"):  # idle time starts again at the import; grants stay here
            del state.timers[timer.id]
    for question in state.escalations.values():
        if question.left_ms is not None:  # its run is paused, at the latest by `end_attempts`
            set_timer(state, "escalation", question.id, question.left_ms)
    for summary in state.finished:
        summary.seq = 0
    reset_derived(state)


def _renumber_versions(state: State) -> None:
    """Renumber the versions of kept values in their order: those of this journal could come up in another."""
    changes_of: dict[str, list[TaskChanges]] = {}
    for task in state.tasks.values():
        if task.changes is not None:
            changes_of.setdefault(task.agent_id or "", []).append(task.changes)
    for agent_id in {**state.agents, **changes_of}:
        own = changes_of.get(agent_id, [])
        agent = state.agents.get(agent_id)
        values = unique_values([] if agent is None else [agent.kept], own)
        lists = [versions for changes in own for versions in changes.versions.values()]
        used = {value.version for value in values}.union(*lists) - {0}
        numbers = {0: 0} | {version: FOREIGN_VERSION + place for place, version in enumerate(sorted(used))}
        for value in values:
            value.version = numbers[value.version]
        for versions in lists:
            versions[:] = [numbers[version] for version in versions]


def reduce_to_subtree(part: State, supervisor_id: str) -> None:
    """Reduce a state to the subtree of a supervisor, which becomes its only root.

    Raises:
        Refused: If it is being removed and would be gone once its work has stopped.
    """
    root = part.supervisors[supervisor_id]
    options = {name: inherited_option(part, root, name, None) for name in OPTIONS if name not in NOT_INHERITED}
    ids = {supervisor.id for supervisor in subtree_of(part, root)}
    end_attempts(part)
    _cut_work(part, ids)
    if supervisor_id not in part.supervisors:
        raise Refused(f"supervisor {root.name!r} is being removed: nothing of it would be in the archive")
    _keep_supervisors(part, ids)
    _keep_insights(part, supervisor_id)
    # The new root has no parent to inherit from, so inherited options become its own.
    root = part.supervisors[supervisor_id]
    root.options = copy_with(root.options, **{name: value for name, value in options.items() if value is not None})
    root.parent_id = None


def _cut_work(part: State, ids: set[str]) -> None:
    """Cancel the work that runs of the part have given to members outside, and forget those calls."""
    calls: dict[tuple[str, str], None] = {}
    ctx = DecisionContext(now_ms=part.at_ms, jitter=0.0)
    # One at a time: cancelling a task may cancel others or start follow-ups that create new ones.
    while (task := _first_cut(part, ids)) is not None:
        cut_tasks = [task]
        if task.call_key is not None and task.asker_id is not None:
            calls[task.asker_id, task.call_key] = None
            cut_tasks += _open_siblings(part, task)
        for cut_task in cut_tasks:
            reason = "not part of what was exported"
            step(
                part, Order(id=f"cut {cut_task.id}", command=Cancel(target=id_target(cut_task.id), reason=reason)), ctx
            )
        _end_built_in_work(part)
    for task_id, key in calls:
        if task_id in part.tasks:
            _forget_call(part, part.tasks[task_id], key)
    for task in part.tasks.values():
        queue = part.queues.get(task.queue or "")
        if not task.ended and queue is not None and task.supervisor_id not in ids:
            task.supervisor_id = queue.supervisor_id


def _first_cut(part: State, ids: set[str]) -> Task | None:
    return next((task for task in part.tasks.values() if _is_cut(part, task, ids)), None)


def _open_siblings(part: State, task: Task) -> list[Task]:
    """Return the other open tasks of a call; tasks of a plan may also be for members of the part."""
    call = part.tasks[task.asker_id or ""].calls.get(task.call_key or "")
    siblings = (part.tasks[child_id] for child_id in (call.children if call is not None else ()) if child_id != task.id)
    return [sibling for sibling in siblings if not sibling.ended and sibling.asked_by is None]


def _is_cut(part: State, task: Task, ids: set[str]) -> bool:
    """Return whether an open task of the part's runs is for a member outside, and is not being cancelled yet."""
    if task.ended or part.runs[task.run_id].supervisor_id not in ids or task.cancelling:
        return False
    if task.kind == "group":
        return task.worker_id not in ids
    queue = part.queues.get(task.queue or "")
    return task.kind == "agent" and (queue is None or queue.supervisor_id not in ids)


def _forget_call(part: State, task: Task, key: str) -> None:
    """Forget a call, so that the next attempt makes it again."""
    call, task.calls = task.calls.get(key), drop(task.calls, key)
    for child in (part.tasks[child_id] for child_id in (call.children if call is not None else ())):
        if child.asked_by is not None:  # a switch of strategy has made it a node of the graph
            child.call_key, child.asked_by = None, None
            continue
        task.children = [child_id for child_id in task.children if child_id != child.id] or ()
        _forget(part, child)


def _forget(part: State, task: Task) -> None:
    """Remove an ended task and its descendants from its run."""
    for child_id in task.children:
        _forget(part, part.tasks[child_id])
    del part.tasks[task.id]
    run = part.runs[task.run_id]
    del run.tasks[task.id]
    if task.kind == "agent":
        run.total -= 1
        run.ended -= 1
        run.done -= task.status is TaskStatus.DONE
        run.failed -= task.status is TaskStatus.FAILED


def _keep_recipes(part: State) -> None:
    """Drop the recipes by which no remaining agent, nor a maker of one, was made, and that none can call again."""
    kept: set[str] = set()
    for recipe in sorted(part.recipes.values(), key=lambda each: len(each.path)):
        if recipe.parent_id in part.agents or recipe.parent_id in kept:
            kept.add(recipe.id)
    for agent in part.agents.values():
        above = part.recipes.get(recipe_id_of(agent))
        while above is not None and above.id not in kept:
            kept.add(above.id)
            above = part.recipes.get(above.parent_id)
    for recipe_id in part.recipes.keys() - kept:
        del part.recipes[recipe_id]


def _keep_supervisors(part: State, ids: set[str]) -> None:
    """Drop everything that does not belong to these supervisors."""
    for supervisor_id in [supervisor_id for supervisor_id in part.supervisors if supervisor_id not in ids]:
        del part.supervisors[supervisor_id]
    for agent in [agent for agent in part.agents.values() if agent.supervisor_id not in ids]:
        del part.agents[agent.id]
    _keep_recipes(part)
    for queue in [queue for queue in part.queues.values() if queue.supervisor_id not in ids]:
        del part.queues[queue.key]
    for queue in part.queues.values():
        queue.agents[:] = [agent_id for agent_id in queue.agents if agent_id in part.agents]
    for agent in part.agents.values():
        agent.queues[:] = [key for key in agent.queues if key in part.queues]
    for run in [run for run in part.runs.values() if run.supervisor_id not in ids]:
        del part.runs[run.id]
    for run in part.runs.values():
        run.after[:] = [run_id for run_id in run.after if run_id in part.runs]
        run.before[:] = [run_id for run_id in run.before if run_id in part.runs]
    for task in [task for task in part.tasks.values() if task.run_id not in part.runs]:
        del part.tasks[task.id]
    kinds = (part.supervisors, part.agents, part.runs, part.tasks)
    for escalation in list(part.escalations.values()):
        if not any(escalation.subject in kind for kind in kinds):
            del part.escalations[escalation.id]
    for owner in [owner_id for owner_id in part.ledgers if not any(owner_id in kind for kind in kinds)]:
        del part.ledgers[owner]
    for timer in list(part.timers.values()):
        if not any(timer.subject in kind for kind in (*kinds, part.escalations, part.insights)):
            del part.timers[timer.id]
    for spending in list(part.spending.values()):
        if spending.id not in part.agents and spending.supervisor_id not in ids:
            del part.spending[spending.id]
    part.finished[:] = [run for run in part.finished if run.supervisor_id in ids]
    used = {agent.spec for agent in part.agents.values()}
    for name in [name for name, key in part.registry.items() if key not in used]:
        del part.registry[name]
    _count(part)


def _keep_insights(part: State, root_id: str) -> None:
    """Drop the insights of others; a pool stays only with the supervisor at the top."""
    for insight in [*part.insights.values()]:
        is_private = insight.segment == PRIVATE
        if insight.agent_id in part.agents if is_private else insight.supervisor_id in part.supervisors:
            insight.supervisor_id = root_id
        else:
            del part.insights[insight.id]
            drop_timer(part, "expiry", insight.id)


def _count(part: State) -> None:
    """Recompute the totals from the remaining runs and agents."""
    runs: list[Run | RunSummary] = [*part.runs.values(), *part.finished]
    part.tasks_total = sum(run.total for run in part.runs.values()) + sum(run.tasks for run in part.finished)
    part.tasks_done = sum(run.done for run in runs)
    part.tasks_failed = sum(run.failed for run in runs)
    part.runs_total = len(runs)
    # What the agents of the part spent, for runs from outside too: so the rows of its spending add up to it.
    former = (spending.usage for spending in part.spending.values() if spending.usage is not None)
    part.usage = total_of((*(agent.usage for agent in part.agents.values()), *former))
