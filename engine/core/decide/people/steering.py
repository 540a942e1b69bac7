"""Decides which tasks get a message (steer). A turn takes it as a recorded step (`runtimes.attempts.steering`)."""

from engine.core.commands import Steer
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, Mint
from engine.core.errors import Refused
from engine.core.events import Steered
from engine.core.queries.team.tree import is_cancelled, tasks_of
from engine.core.queries.work.reach import work_reached_by
from engine.core.records.values import pluralize
from engine.core.state import State, Task


def steer(state: State, command: Steer, ctx: DecisionContext) -> Decided:
    """Store a message for each task that it reaches, until a turn of the task takes it."""
    if not command.text.strip():
        raise Refused("the message is empty; say what should change")
    subjects = work_reached_by(state, command.target, begun=True)
    tasks = [task for subject in subjects for task in tasks_of(state, subject) if _can_receive(state, task)]
    if not tasks:
        raise Refused(f"nothing that {command.target} stands for can receive a message any more")
    event = Steered(
        steer_id=Mint(state)("n"),
        text=command.text,
        sender=ctx.sender,
        tasks=[task.id for task in tasks],
        now=command.now,
    )
    at_work = sum(task.attempt is not None for task in tasks)
    delivery = "models are cut short for it" if command.now else "each hears it at its next turn"
    return Decided(
        events=[event],
        summary=f"said to {pluralize(len(tasks), 'task')}, {at_work} of them at work; {delivery}",
        result={"steer_id": event.steer_id, "tasks": [*event.tasks], "at_work": at_work},
    )


def _can_receive(state: State, task: Task) -> bool:
    """Return whether a task will take messages: it is open, and its agent does not run in a child process."""
    if task.kind != "agent" or task.ended or is_cancelled(state, task):
        return False
    # In a shared queue: a team may take the task as a group, which has no turns.
    if task.attempt is None and task.worker_id is None:
        return False
    agent = state.agents.get(task.attempt.agent_id or "") if task.attempt is not None else None
    return agent is None or state.spec_of(agent).run_in != "process"
