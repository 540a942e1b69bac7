"""What is paused above an attempt."""

from collections.abc import Iterable, Iterator

from engine.core.queries.team.tree import agents_of, lineage_of
from engine.core.state import Agent, Run, State, Supervisor, Task

WITHOUT_STEPS = ("process", "acp")
"""Types of agents whose programs a pause does not hold."""


def pause_of(state: State, run_id: str, agent_id: str) -> Run | Agent | Supervisor | None:
    """Return what is paused: the run, the agent, or the nearest supervisor above it; None if none of them is."""
    run, agent = state.runs.get(run_id), state.agents.get(agent_id)
    if run is not None and run.paused:
        return run
    if agent is None or agent.paused:
        return agent
    supervisors = lineage_of(state, state.supervisors[agent.supervisor_id])
    return next((supervisor for supervisor in supervisors if supervisor.paused), None)


def describe_pause(subject: Run | Agent | Supervisor) -> str:
    """Return what is paused, in words."""
    if isinstance(subject, Run):
        return "its run is paused"
    return f"{'supervisor ' if isinstance(subject, Supervisor) else ''}{subject.name} is paused"


def describe_pausing(state: State, agent: Agent, task: Task) -> str:
    """Return when an attempt under a pause stops; a function that has recorded no step so far may have none."""
    agent_type = state.spec_of(agent).agent_type
    if agent_type in WITHOUT_STEPS:
        return "pauses when it ends"
    has_steps = agent_type != "function" or task.steps or agent.step_ms
    return "pauses at its next step" if has_steps else "pauses at a step or its end"


def attempts_under(state: State, subject: Run | Agent | Supervisor) -> Iterator[Task]:
    """Yield the tasks with an attempt of an agent that a pause of `subject` holds."""
    task_ids: Iterable[str]
    if isinstance(subject, Run):
        task_ids = subject.tasks
    else:
        task_ids = (task_id for agent in agents_of(state, subject.id) for task_id in (*agent.running, *agent.parked))
    for task in map(state.tasks.__getitem__, task_ids):
        if task.attempt is not None and task.attempt.agent_id is not None:
            yield task
