"""Work that was asked for goes to the next ring when nobody who serves its queue is able any more."""

from collections.abc import Iterator

from engine.core.context import Context
from engine.core.errors import NoAgentMatches
from engine.core.events import Event, TaskRequeued
from engine.core.prompts import PlaceAgain
from engine.core.queries.able import is_able, why_not_able
from engine.core.queries.placement import Place, capability_of, place_for
from engine.core.queries.stand_in import asker_of, home_of
from engine.core.queries.takers import FEW, few_of
from engine.core.scheduler import Schedule
from engine.core.state import Queue, State, Task


def place_again(state: State, prompt: PlaceAgain, ctx: Context) -> list[Event]:
    """Look again for somebody able, for what is ready in queues that nobody able serves."""
    events: list[Event] = []
    made: set[str] = set()
    for queue in _left(state, prompt.queue):
        places: dict[tuple[str, str | None], Place | None] = {}
        for task in _movable(state, queue):
            key = home_of(state, task).id, asker_of(state, task)
            if key not in places:
                places[key] = _elsewhere(state, task, queue)
            place = places[key]
            if place is None or place.queue is None:
                continue
            if place.made is not None and place.queue not in made:
                made.add(place.queue)
                events.append(place.made)
            if place.queue == queue.key:
                continue  # others serve it from now on
            events.append(TaskRequeued(task_id=task.id, queue=place.queue, reason=_reason(state, queue)))
    return events


def can_be_placed(state: State, task: Task) -> bool:
    """Return True where somebody serves the queue by capability of a task, or there is another place for it."""
    queue = state.queues.get(task.queue or "")
    if queue is None or any(state.agents[agent_id].removing is None for agent_id in queue.agents):
        return queue is not None
    try:
        place_for(state, home_of(state, task), _target(state, queue), asker=None)
    except NoAgentMatches:
        return False
    return True


def _left(state: State, key: str | None) -> Iterator[Queue]:
    """Yield queues in which something is ready that was asked for, and which nobody able serves.

    What is for a few members waits for them, unless none of them is there any more.
    """
    keys = state.queues if key is None else (key,)
    for queue in [state.queues[one] for one in keys if one in state.queues]:
        if not queue.ready or queue.key.startswith("back:"):
            continue
        if queue.agents and _target(state, queue).startswith(FEW):
            continue
        if not any(is_able(state, state.agents[agent_id]) for agent_id in queue.agents):
            yield queue


def _target(state: State, queue: Queue) -> str:
    """Return the name or the capability that was asked for; of several who may do it, that of their queue."""
    if queue.key.startswith("agent:"):
        return state.agents[queue.agents[0]].name
    names = few_of(capability_of(queue))
    return names[0] if len(names) == 1 else capability_of(queue)


def _reason(state: State, queue: Queue) -> str:
    if queue.key.startswith("able:"):
        target = _target(state, queue)
        if target.startswith(FEW):
            return f"none of {target.removeprefix(FEW)} is there any more"
        return f"nobody near by can {target} now"
    agent = state.agents[queue.agents[0]]
    return f"{agent.name} {why_not_able(state, agent)}"


def _movable(state: State, queue: Queue) -> Iterator[Task]:
    """Yield what is ready in a queue and may go elsewhere.

    Of what is for one agent that is what was asked for by its name, and has not failed; who leaves does it yet.
    """
    tasks = [state.tasks[task_id] for task_id in Schedule.of(state).ready(state, queue.key)]
    if queue.key.startswith("able:"):
        yield from tasks
    elif state.agents[queue.agents[0]].removing is None:
        yield from (task for task in tasks if task.call_key is not None and not task.failed_on)


def _elsewhere(state: State, task: Task, queue: Queue) -> Place | None:
    """Return where a task goes; None where it stays as it is, because nobody else is able either."""
    asker = state.agents.get(asker_of(state, task) or "")
    try:
        place = place_for(state, home_of(state, task), _target(state, queue), asker=asker)
    except NoAgentMatches:
        return None
    return None if place.waits else place
