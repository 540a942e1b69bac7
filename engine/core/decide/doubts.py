"""Tool calls in doubt: begun, and cut off before their end. Only a person says whether they happened.

Rule 5 of the architecture. A tool that declares itself idempotent is never in doubt: it is simply called again.
"""

from engine.core.context import Context
from engine.core.decide.attempts import live
from engine.core.decide.escalations import ask
from engine.core.events import DoubtSettled, Event, TaskFailed, ToolFailed, ToolStarted
from engine.core.prompts import Answered, AskDoubt
from engine.core.queries.work import is_cancelled
from engine.core.signals import ToolBegan, ToolRaised
from engine.core.state import State

OPTIONS = ["again", "ran", "fail"]
"""It did not happen, and is called again; it happened, and its output is the one given; or the task fails."""


def tool_began(state: State, signal: ToolBegan, ctx: Context) -> list[Event]:
    """Write down that a tool is about to be called."""
    found = live(state, signal)
    if found is None:
        return []
    task, attempt = found
    return [
        ToolStarted(
            task_id=task.id, attempt=attempt.number, agent_id=attempt.agent_id, name=signal.name, key=signal.key
        )
    ]


def tool_raised(state: State, signal: ToolRaised, ctx: Context) -> list[Event]:
    """Write down that a call has ended, though badly."""
    found = live(state, signal)
    if found is None or signal.key not in found[0].calling:
        return []
    task, attempt = found
    return [
        ToolFailed(
            task_id=task.id,
            attempt=attempt.number,
            agent_id=attempt.agent_id,
            name=task.calling[signal.key],
            key=signal.key,
            error=signal.error,
        )
    ]


def ask_doubt(state: State, prompt: AskDoubt, ctx: Context) -> list[Event]:
    """Ask a person about the first tool call of a task that has no end."""
    task = state.tasks.get(prompt.task_id)
    if task is None or task.ended or task.attempt is not None or not task.calling or task.escalation_id is not None:
        return []
    if is_cancelled(state, task):
        return []
    key, name = next(iter(task.calling.items()))
    return [
        ask(
            state,
            ctx,
            kind="doubt",
            subject=task.id,
            run_id=task.run_id,
            question=f"{task.title} was cut off while it called {name}; did that happen?",
            options=OPTIONS,
            detail={"key": key, "name": name},
        )
    ]


def settled(state: State, prompt: Answered, ctx: Context) -> list[Event]:
    """Do with a task in doubt what a person says."""
    task, key = state.tasks.get(prompt.subject), str(prompt.detail.get("key"))
    if task is None or task.ended or key not in task.calling:
        return []
    name = task.calling[key]
    if prompt.answer == "fail":
        error = f"nobody knows whether {name} happened"
        return [TaskFailed(task_id=task.id, error=error)]
    ran = prompt.answer == "ran"
    return [DoubtSettled(task_id=task.id, name=name, key=key, ran=ran)]
