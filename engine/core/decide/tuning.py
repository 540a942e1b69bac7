"""A supervisor changes how it coordinates by itself, where it was told to, and takes back what made things worse."""

from typing import Literal

from engine.core.commands import ChangeSupervisor, SwitchStrategy
from engine.core.context import Context
from engine.core.decide.settings import change_supervisor
from engine.core.decide.strategy import switch_strategy
from engine.core.errors import Refused
from engine.core.events import CoordinationTuned, Event
from engine.core.options import Balance, SupervisorOptions
from engine.core.prompts import Tune
from engine.core.queries.targets import at
from engine.core.state import State, Supervisor
from engine.core.tuning import Change, figures_of, next_change, runs_of


def tune(state: State, prompt: Tune, ctx: Context) -> list[Event]:
    """Look at a supervisor after one of its runs has ended."""
    supervisor = state.supervisors.get(prompt.supervisor_id)
    change = None if supervisor is None else next_change(state, supervisor)
    if supervisor is None or change is None:
        return []
    try:
        followed = _carried_out(state, supervisor, change, ctx)
    except Refused:
        return []  # what cannot be switched to now may be at the end of a later run
    now = figures_of(runs_of(state, supervisor))
    said = CoordinationTuned(
        supervisor_id=supervisor.id,
        kind=change.kind,
        mode=supervisor.mode,
        balance=supervisor.options.balance,
        metric=change.metric,
        before=change.before,
        expected=change.expected,
        runs=change.runs,
        success=now.success,
        median_ms=now.median_ms,
        why=change.why,
    )
    return [said, *followed]


def _carried_out(state: State, supervisor: Supervisor, change: Change, ctx: Context) -> list[Event]:
    kind: Literal["parallel", "selection"]
    if change.kind == "back":
        tuning = supervisor.tuning
        assert tuning is not None
        kind, mode, balance = tuning.kind, tuning.mode, tuning.balance
    else:
        kind, mode, balance = change.kind, "parallel", "performance"
    if kind == "parallel":
        # Runs that are open go on as they are: what they are like is what the figures are compared with.
        command = SwitchStrategy(supervisor=at(supervisor.id), mode=mode, scope="new")
        return switch_strategy(state, command, ctx).events
    return change_supervisor(state, _balanced(supervisor, balance), ctx).events


def _balanced(supervisor: Supervisor, balance: Balance | None) -> ChangeSupervisor:
    return ChangeSupervisor(supervisor=at(supervisor.id), options=SupervisorOptions(balance=balance or "round_robin"))
