"""From a state to its document: at rest, with its texts; of all there is, or of one supervisor and what is under it.

A part can stand by itself: one supervisor with everything under it, and the runs submitted there. What such a run has
asked of others is not part of it: a call for them is forgotten, so that the attempt makes it again where it goes on; a
node of a graph that is for them is cancelled, and what depends on it goes on without it.
"""

from collections.abc import Callable

import msgspec

from engine.core.commands import Cancel, Order
from engine.core.decision_context import DecisionContext
from engine.core.declared import OPTIONS
from engine.core.errors import Refused
from engine.core.events import AttemptLost, Event, RunPaused
from engine.core.fold import fold
from engine.core.queries.tree import below_of, inherited
from engine.core.records import JsonValue, changed
from engine.core.shared import drop
from engine.core.signals import EngineBegan
from engine.core.state import Run, RunSummary, State, Task, TaskStatus
from engine.core.step import step
from engine.core.transfer.document import not_derived, text_places
from engine.core.values import TextRef, Usage

OWN = frozenset({"lead", "settings", "strategies", "limits", "max_total", "processes"})
"""Options that a supervisor does not take from the one above it."""


def make_document(state: State, resolve: Callable[[TextRef], JsonValue], *, only: str | None = None) -> list[JsonValue]:
    """Turn a state into one that `encode_state` writes as a document, and return the texts that it refers to.

    What is at work is as it would be after the engine was lost: attempts begin again, their finished steps are kept.

    Args:
        state: Any state that stands between two messages; used up.
        resolve: Returns what a reference stands for.
        only: A supervisor, of which alone it is to be with everything under it; None is all there is.

    Raises:
        Refused: If that supervisor is being removed, and nothing of it is left once its work has stopped.
    """
    paused = {run.id for run in state.runs.values() if run.paused}
    if only is not None:
        cut_out(state, only)
    elif any(_is_for_the_engine(task) for task in state.tasks.values()):
        rest(state)
    _tidy(state, paused)
    texts: list[JsonValue] = []
    lines: dict[tuple[int, str], int] = {}
    places: dict[bytes, int] = {}
    for holder, name, ref in text_places(state):
        place = lines.get((ref.seq, ref.path))
        if place is None:
            # By content: what an import brought in parts may stand in the journal twice.
            text = resolve(ref)
            place = places.setdefault(msgspec.json.encode(text), len(texts))
            lines[ref.seq, ref.path] = place
            if place == len(texts):
                texts.append(text)
        named = TextRef(seq=0, path=f"texts.{place}")
        if isinstance(holder, dict):
            holder[name] = named
        else:
            setattr(holder, name, named)
    return texts


def rest(state: State) -> None:
    """Lose every attempt, and begin nothing anew."""
    now = DecisionContext(now_ms=state.at_ms, jitter=0.0)
    fold(state, [RunPaused(at_ms=now.now_ms, run_id=run.id) for run in state.runs.values() if not run.paused])
    step(state, EngineBegan(pid=0, token=0, version=""), now)
    _lose_begun(state)


def _lose_begun(state: State) -> None:
    """Lose the engine's own work, such as joins: it goes on in a pause, and begins anew elsewhere."""
    lost: list[Event] = [
        AttemptLost(at_ms=state.at_ms, run_id=task.run_id, task_id=task.id, attempt=task.attempt.number, agent_id=None)
        for task in state.tasks.values()
        if task.attempt is not None
    ]
    fold(state, lost)


def _is_for_the_engine(task: Task) -> bool:
    """Tell whether a task is at work, or one that an engine would begin at once: a graph to plan, results to join."""
    return task.attempt is not None or (
        task.kind != "agent" and task.status is TaskStatus.WAITING and not task.blockers
    )


def _tidy(state: State, paused: set[str]) -> None:
    """Put everything at its default that is of this file, of this engine, or built anew where it comes in."""
    used = {key for agent in state.agents.values() for key in (agent.spec, agent.previous)}
    used.update(state.registry.values())
    for key in state.specs.keys() - used:
        del state.specs[key]
    for run in state.runs.values():
        run.paused = run.id in paused  # at rest every run is; the document says which were
    for task in state.tasks.values():
        # The engine's own work begins anew wherever it is: how often it has begun says nothing.
        if task.kind in ("join", "check") and task.ended_ms is None:
            task.attempts, task.started_ms = 0, None
    for timer in list(state.timers.values()):
        timer.due_ms = max(0, timer.due_ms - state.at_ms)
        if timer.kind == "pool":  # idle time starts again at the import
            del state.timers[timer.id]
    for summary in state.finished:
        summary.seq = 0
    not_derived(state)


# A part of a state


def cut_out(part: State, supervisor_id: str) -> None:
    """Leave nothing in a state but what stands under a supervisor, its only root; at rest, its runs paused.

    Raises:
        Refused: If it is being removed, and nothing of it is left once its work has stopped.
    """
    root = part.supervisors[supervisor_id]
    options = {name: inherited(part, root, name, None) for name in OPTIONS if name not in OWN}
    ids = {one.id for one in below_of(part, root)}
    rest(part)
    _cut(part, ids)
    if supervisor_id not in part.supervisors:
        raise Refused(f"supervisor {root.name!r} is being removed: nothing of it would be in the archive")
    _keep(part, ids)
    # A root has no parent to inherit from, so inherited settings become its own.
    root = part.supervisors[supervisor_id]
    root.options = changed(root.options, **{name: value for name, value in options.items() if value is not None})
    root.parent_id = None


def _cut(part: State, ids: set[str]) -> None:
    """End what runs of the part have asked of others, and forget the calls."""
    calls: dict[tuple[str, str], None] = {}
    now = DecisionContext(now_ms=part.at_ms, jitter=0.0)
    while (task := next((one for one in part.tasks.values() if _is_cut(part, one, ids)), None)) is not None:
        ends = [task]
        if task.call_key is not None and task.asker_id is not None:
            calls[task.asker_id, task.call_key] = None
            ends += _open_beside(part, task)
        for one in ends:
            reason = "not part of what was exported"
            step(part, Order(id=f"cut {one.id}", command=Cancel(target=one.id, reason=reason)), now)
        _lose_begun(part)
    for task_id, key in calls:
        if task_id in part.tasks:
            _forget_call(part, part.tasks[task_id], key)
    for task in part.tasks.values():
        queue = part.queues.get(task.queue or "")
        if not task.ended and queue is not None and task.supervisor_id not in ids:
            task.supervisor_id = queue.supervisor_id


def _open_beside(part: State, task: Task) -> list[Task]:
    """Return what else of a call has not ended: of a plan, some may be for who is in the part."""
    call = part.tasks[task.asker_id or ""].calls.get(task.call_key or "")
    beside = (part.tasks[one] for one in (call.children if call is not None else ()) if one != task.id)
    return [one for one in beside if not one.ended and one.asked_by is None]


def _is_cut(part: State, task: Task, ids: set[str]) -> bool:
    """Tell whether a task of a run of the part is open, for others, and not being ended with what it is part of."""
    if task.ended or part.runs[task.run_id].supervisor_id not in ids or task.cancelling:
        return False
    if task.kind == "group":
        return task.worker_id not in ids
    queue = part.queues.get(task.queue or "")
    return task.kind == "agent" and (queue is None or queue.supervisor_id not in ids)


def _forget_call(part: State, task: Task, key: str) -> None:
    """Forget that an attempt asked, so that it asks again."""
    call, task.calls = task.calls.get(key), drop(task.calls, key)
    for child in (part.tasks[child_id] for child_id in (call.children if call is not None else ())):
        if child.asked_by is not None:  # it is a node of the graph by now
            child.call_key, child.asked_by = None, None
            continue
        task.children = [one for one in task.children if one != child.id] or ()
        _forget(part, child)


def _forget(part: State, task: Task) -> None:
    """Take a task that has ended, with all below it, out of its run."""
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


def _keep(part: State, ids: set[str]) -> None:
    """Drop everything that is not of these supervisors."""
    for gone in [one for one in part.supervisors if one not in ids]:
        del part.supervisors[gone]
    for agent in [one for one in part.agents.values() if one.supervisor_id not in ids]:
        del part.agents[agent.id]
    for insight in [one for one in part.insights.values() if one.agent_id not in part.agents]:
        del part.insights[insight.id]
    for queue in [one for one in part.queues.values() if one.supervisor_id not in ids]:
        del part.queues[queue.key]
    for queue in part.queues.values():
        queue.agents[:] = [one for one in queue.agents if one in part.agents]
    for agent in part.agents.values():
        agent.queues[:] = [key for key in agent.queues if key in part.queues]
    for run in [one for one in part.runs.values() if one.supervisor_id not in ids]:
        del part.runs[run.id]
    for run in part.runs.values():
        run.after[:] = [one for one in run.after if one in part.runs]
        run.before[:] = [one for one in run.before if one in part.runs]
    for task in [one for one in part.tasks.values() if one.run_id not in part.runs]:
        del part.tasks[task.id]
    kinds = (part.supervisors, part.agents, part.runs, part.tasks)
    for escalation in list(part.escalations.values()):
        if not any(escalation.subject in kind for kind in kinds):
            del part.escalations[escalation.id]
    for owner in [one for one in part.ledgers if not any(one in kind for kind in kinds)]:
        del part.ledgers[owner]
    for timer in list(part.timers.values()):
        if not any(timer.subject in kind for kind in (*kinds, part.escalations)):
            del part.timers[timer.id]
    part.finished[:] = [run for run in part.finished if run.supervisor_id in ids]
    used = {agent.spec for agent in part.agents.values()}
    for name in [name for name, key in part.registry.items() if key not in used]:
        del part.registry[name]
    _count(part)


def _count(part: State) -> None:
    """Let the totals be those of what is in it."""
    runs: list[Run | RunSummary] = [*part.runs.values(), *part.finished]
    part.tasks_total = sum(run.total for run in part.runs.values()) + sum(run.tasks for run in part.finished)
    part.tasks_done = sum(run.done for run in runs)
    part.tasks_failed = sum(run.failed for run in runs)
    part.runs_total = len(runs)
    usage = Usage()
    for run in runs:
        usage = usage.plus(run.usage)
    part.usage = usage
