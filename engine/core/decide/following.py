"""Runs that begin after others."""

from collections.abc import Sequence

from engine.core.context import Context
from engine.core.decide.plan import plan_group
from engine.core.errors import Refused, UnknownWork
from engine.core.events import Event, GroupEnded
from engine.core.prompts import FollowRun, PlanGroup
from engine.core.state import RunStatus, State, TaskStatus


def still_open(state: State, wanted: Sequence[str], ctx: Context) -> list[str]:
    """Return which of the runs that a new one is to wait for are open; one that is done is waited for no more.

    Raises:
        UnknownWork: If one was never there.
        Refused: If one has ended otherwise than well.
    """
    found: list[str] = []
    for run_id in dict.fromkeys(wanted):
        if run_id in state.runs:
            found.append(run_id)
            continue
        summary = state.summary(run_id)
        status = ctx.ended.get(run_id) if summary is None else summary.status
        if status is None:
            raise UnknownWork(run_id)
        if status != RunStatus.DONE:
            raise Refused(f"{run_id} {_ended(RunStatus(status))}, and what waits for it would never begin")
    return found


def follow_run(state: State, prompt: FollowRun, ctx: Context) -> list[Event]:
    """Begin a run when all that it waits for is done; end it when one of them ended otherwise."""
    run = state.runs.get(prompt.run_id)
    root = state.tasks[run.root_id] if run is not None else None
    if run is None or root is None or root.status is not TaskStatus.WAITING:
        return []
    if prompt.status is RunStatus.DONE:
        return [] if run.after else plan_group(state, PlanGroup(task_id=root.id), ctx)
    return [
        GroupEnded(
            run_id=run.id,
            task_id=root.id,
            status=TaskStatus.FAILED,
            output=None,
            error=f"{prompt.previous_id} {_ended(prompt.status)}, which this waits for",
        )
    ]


def _ended(status: RunStatus) -> str:
    return "failed" if status is RunStatus.FAILED else f"was {status.value}"
