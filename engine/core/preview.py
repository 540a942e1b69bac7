"""Previews of commands, by the code that decides them; the state is not changed.

It is the only file of the deciding code that the dashboard may import: `plan_of` and `switch_event` are of `decide`.
"""

from typing import Literal, TypeAlias

from engine.core.commands import Command
from engine.core.decide import carry_out
from engine.core.decide.teams.loading import plan_of
from engine.core.decide.teams.swapping import refusals, swap_mode
from engine.core.decide.work.strategy import switch_event
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided
from engine.core.fold.slots import stronger_reason
from engine.core.fold.swapping import STOP_REASONS
from engine.core.queries.targets import find_agent
from engine.core.queries.team.code import references_in_command
from engine.core.records.records import fact
from engine.core.state import Attempt, State, StopReason, SwapMode, Task

__all__ = ["AttemptPreview", "SwapPreview", "plan_of", "preview", "swap_preview", "switch_event"]


Fate: TypeAlias = Literal["ends", "migrates", "begins again", "stops"]
_FATES: dict[StopReason | None, Fate] = {None: "ends", "migrate": "migrates", "restart": "begins again"}
"""What happens to an attempt, by the reason why it is asked to stop; for other reasons it stops, as without a swap."""


@fact
class AttemptPreview:
    """The effect of a swap on one attempt at work."""

    title: str
    generation: int
    steps: int
    """Number of finished steps."""
    waits: bool
    """The attempt is parked."""
    fate: Fate
    becomes: str
    """The effect of the swap on it, in words."""


@fact
class SwapPreview:
    """The effects of a swap."""

    attempts: list[AttemptPreview]
    """The attempts at work, oldest first."""
    refusals: list[str]
    """Why the agent cannot be swapped now; empty if it can."""


def preview(state: State, command: Command, now_ms: int) -> Decided:
    """Return what a command would do now, as if all code that it names were trusted: a dialog asks for trust later.

    Raises:
        Refused: If the command would be refused.
    """
    granted = {reference: state.trusted.get(reference, "") for reference in references_in_command(command)}
    return carry_out(state, command, DecisionContext(now_ms=max(now_ms, state.at_ms), jitter=0.5, granted=granted))


def swap_preview(state: State, target: str, mode: str, *, is_rollback: bool = False) -> SwapPreview:
    """Return the effects of a swap or a rollback of an agent now.

    Raises:
        Refused: If there is no such agent, or no such mode.
    """
    agent, checked_mode = find_agent(state, target), swap_mode(mode)
    at_work = [state.tasks[task_id] for task_id in (*agent.running, *agent.parked)]
    pairs = [(task, task.attempt) for task in at_work if task.attempt is not None]
    attempts = [
        # A rollback leaves alone what is still at work on the generation that it goes back to.
        _preview_attempt(
            task, attempt, None if is_rollback and attempt.generation != agent.generation else checked_mode
        )
        for task, attempt in sorted(pairs, key=lambda pair: pair[1].started_ms)
    ]
    return SwapPreview(attempts=attempts, refusals=refusals(state, agent, checked_mode))


def _preview_attempt(task: Task, attempt: Attempt, mode: SwapMode | None) -> AttemptPreview:
    """Return the effect on an attempt, also on one that an earlier swap has left to drain; None as `mode` has none."""
    reason = None if mode is None else STOP_REASONS.get(mode)
    fate = _FATES.get(stronger_reason(attempt.stopping, reason), "stops")
    return AttemptPreview(
        title=task.title,
        generation=attempt.generation,
        steps=len(task.steps),
        waits=attempt.parked,
        fate=fate,
        becomes=_describe_fate(task, attempt, fate),
    )


def _describe_fate(task: Task, attempt: Attempt, fate: Fate) -> str:
    if fate == "stops":
        return "stops at its next step, as was asked"
    if fate == "ends":
        return f"ends on g{attempt.generation}"
    done = len(task.steps)
    if fate == "begins again":
        loss = f"; {done} finished step{'' if done == 1 else 's'} thrown away" if done else ""
        return f"is stopped now and begins again from its input{loss}"
    progress = f"after step {done}" if done else "at its first step"
    if attempt.parked:
        return f"goes on with the new code {progress} and joins what it waits for"
    return f"goes on with the new code {progress}, or ends where it takes no more"
