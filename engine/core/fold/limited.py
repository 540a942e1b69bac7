"""Fold: who has a budget at all: `State.limited`. While nobody has, nobody is asked what an attempt may spend."""

from engine.core.spec import AgentSpec
from engine.core.state import Run, State, Supervisor


def note_spec(state: State, key: str, spec: AgentSpec) -> None:
    """Take a spec that came under its content hash."""
    _note(state, key, spec.limits is not None or spec.task_limits is not None)


def note_supervisor(state: State, supervisor: Supervisor) -> None:
    """Take what is set for a supervisor now."""
    said = supervisor.options
    limits = (said.limits, said.run_limits, said.agent_limits, said.task_limits)
    _note(state, supervisor.id, any(one is not None for one in limits))


def note_run(state: State, run: Run) -> None:
    """Take a run that begins."""
    if run.limits is not None:
        state.limited[run.id] = 0


def _note(state: State, owner: str, has_limits: bool) -> None:
    if has_limits:
        state.limited[owner] = 0
    else:
        state.limited.pop(owner, None)
