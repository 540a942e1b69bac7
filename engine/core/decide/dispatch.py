"""What begins next: the queue, the task that has its turn there, and the agent that gets it.

Nothing is searched: the schedule keeps the heads of all three in order.
"""

from engine.core.context import Context
from engine.core.decide.budgets import before_start
from engine.core.events import AttemptResumed, AttemptStarted, Event, ItemReturned, ItemTaken
from engine.core.hierarchy import below_of
from engine.core.prompts import Dispatch, ReturnItems
from engine.core.queries.queues import is_shared
from engine.core.queries.takers import is_of_few, not_begun, team_for
from engine.core.queries.work import below
from engine.core.scheduler import Schedule
from engine.core.state import Agent, Queue, State, Task


def dispatch(state: State, prompt: Dispatch, ctx: Context) -> list[Event]:
    """Start, or let go on, what has its turn."""
    schedule: Schedule = state.schedule
    line = schedule.next_line(state)
    assert line is not None
    task = state.tasks[schedule.next_task(line)]
    if line.is_back:
        return [_resumed(task)]
    return begun(state, state.queues[line.key], task, schedule.next_agent(state, line), ctx)


def begun(state: State, queue: Queue, task: Task, agent: Agent, ctx: Context) -> list[Event]:
    """Start `task` on a free agent of its queue, or let the team of that agent take it.

    What an agent has asked for in it goes on for an agent: a graph could not use the answers.
    """
    if instead := before_start(state, task, agent, ctx):
        return instead
    team = team_for(state, queue, agent) if is_shared(queue.key) and is_of_few(queue.key) and not task.calls else None
    if team is None:
        return [started(task, agent)]
    return [ItemTaken(task_id=task.id, supervisor_id=team.id, agent_id=agent.id)]


def return_items(state: State, prompt: ReturnItems, ctx: Context) -> list[Event]:
    """Give back what teams under a supervisor have taken from what they share, and may not begin with now."""
    return [
        ItemReturned(
            at_ms=ctx.now_ms,
            run_id=task.run_id,
            task_id=task.id,
            supervisor_id=team.id,
            queue=task.came_from or "",
            dropped=[one.id for one in below(state, task)[1:]],
        )
        for team in below_of(state, state.supervisors[prompt.supervisor_id])
        for task in not_begun(state, team)
    ]


def started(task: Task, agent: Agent) -> AttemptStarted:
    """Return the beginning of the next attempt of `task` on `agent`."""
    return AttemptStarted(task_id=task.id, attempt=task.attempts + 1, agent_id=agent.id, generation=agent.generation)


def _resumed(task: Task) -> AttemptResumed:
    attempt = task.attempt
    assert attempt is not None
    assert attempt.agent_id is not None
    return AttemptResumed(
        task_id=task.id,
        attempt=attempt.number,
        agent_id=attempt.agent_id,
        call_keys=[] if attempt.stopping == "migrate" else list(attempt.owed),
    )
