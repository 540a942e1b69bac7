"""What begins next: the supervisor, its queue, the task that has its turn there, and the agent that gets it.

Nothing is searched: the fold keeps the heads of all three in order (`fold.lanes`, `fold.openings`). Choosing among the
free agents of a queue looks at `LOOKED_AT` of them at most.
"""

from itertools import islice

from engine.core.balancing import balance_named
from engine.core.context import Context
from engine.core.decide.budgets import before_start
from engine.core.events import AttemptResumed, AttemptStarted, Event
from engine.core.fold.lanes import next_task
from engine.core.inheritance import inherited
from engine.core.prompts import Dispatch
from engine.core.state import Agent, Queue, State, Task

LOOKED_AT = 32
"""How many free agents, and how many supervisors that can start something, are compared at most."""


def next_supervisor(state: State) -> str:
    """Return the id of the supervisor that starts something next: of those that can, the one with the best queue."""
    startable = state.startable
    if len(startable) == 1:
        return next(iter(startable))
    return min(islice(startable, LOOKED_AT), key=lambda one: state.supervisors[one].order[0])


def dispatch(state: State, prompt: Dispatch, ctx: Context) -> list[Event]:
    """Start, or let go on, what has its turn under a supervisor."""
    queue = state.queues[state.supervisors[prompt.supervisor_id].order[0][2]]
    task = state.tasks[next_task(state, queue)]
    if queue.key.startswith("back:"):
        return [_resumed(task, ctx)]
    agent = agent_for(state, queue)
    return before_start(state, task, agent, ctx) or [started(task, agent, ctx)]


def agent_for(state: State, queue: Queue) -> Agent:
    """Return the free agent of a queue that gets its next task."""
    free = queue.free
    if len(free) == 1:
        return state.agents[next(iter(free))]
    supervisor = state.supervisors[queue.supervisor_id]
    choose = balance_named(inherited(state, supervisor, "balance", "round_robin"))
    return choose(queue, [state.agents[agent_id] for agent_id in islice(free, LOOKED_AT)])


def started(task: Task, agent: Agent, ctx: Context) -> AttemptStarted:
    """Return the beginning of the next attempt of `task` on `agent`."""
    return AttemptStarted(
        at_ms=ctx.now_ms,
        run_id=task.run_id,
        task_id=task.id,
        attempt=task.attempts + 1,
        agent_id=agent.id,
        generation=agent.generation,
    )


def _resumed(task: Task, ctx: Context) -> AttemptResumed:
    attempt = task.attempt
    assert attempt is not None
    assert attempt.agent_id is not None
    return AttemptResumed(
        at_ms=ctx.now_ms,
        run_id=task.run_id,
        task_id=task.id,
        attempt=attempt.number,
        agent_id=attempt.agent_id,
        call_keys=[] if attempt.stopping == "migrate" else list(attempt.owed),
    )
