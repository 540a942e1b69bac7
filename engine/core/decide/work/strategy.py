"""Switches coordination strategies, also of graphs in progress, and tunes supervisors with `optimize`.

See docs/semantics/coordination.md.
"""

from typing import Literal

from engine.core.commands import ChangeSupervisor, SwitchStrategy
from engine.core.decide.teams.settings import change_supervisor
from engine.core.decide.work.rewiring import rewire
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, Mint
from engine.core.errors import Refused, UnknownWork
from engine.core.events import CoordinationTuned, Event, StrategySwitched
from engine.core.followups import Tune
from engine.core.policies.auto_tuning import TuningChange, figures_of, next_change, runs_of
from engine.core.queries.targets import find_supervisor, id_in, id_target, member_name
from engine.core.queries.team.participants import aggregator_of, lead_of, members_in
from engine.core.queries.team.tree import is_cancelled
from engine.core.records.records import JsonValue, copy_with
from engine.core.specs.options import SupervisorOptions
from engine.core.state import State, Supervisor, Task, TaskStatus
from engine.core.strategies import STRATEGIES, check_settings, settings_for, strategy_named


def switch_strategy(state: State, command: SwitchStrategy, ctx: DecisionContext) -> Decided:
    """Validate the whole change, then record it as one event."""
    event = switch_event(state, command)
    name = state.supervisors[event.supervisor_id].name
    kept_count = sum(len(change.kept) for change in event.groups)
    planned_count = sum(len(change.after) for change in event.groups)
    where = f" in {event.run_id}" if event.run_id is not None else ""
    summary = f"switched {name} from {event.previous} to {event.mode}{where}"
    if event.mode == event.previous:
        summary = f"changed how {name} works in {event.mode}{where}"
    return Decided(
        events=[event],
        summary=summary,
        result={
            "supervisor_id": event.supervisor_id,
            "mode": event.mode,
            "kept": kept_count,
            "replanned": planned_count,
        },
    )


def switch_event(state: State, command: SwitchStrategy) -> StrategySwitched:
    """Return the switch of a supervisor and of its graphs in progress."""
    future_supervisor = _future_supervisor(state, find_supervisor(state, command.supervisor), command)
    return switch_event_for(state, future_supervisor, command)


def switch_event_for(state: State, supervisor: Supervisor, command: SwitchStrategy) -> StrategySwitched:
    """Return the event that makes a supervisor coordinate like `supervisor`, rewiring graphs as the command says.

    Raises:
        Refused: If a graph in progress cannot be rewired.
    """
    current = state.supervisors[supervisor.id]
    mint = Mint(state)
    if command.run is not None:
        command = copy_with(command, run=id_in(command.run))
    in_progress = _groups(state, current, command)
    if in_progress and supervisor.mode == "delegate" and _lead(supervisor) is None:
        raise Refused(_NO_LEAD.format(current.name))
    groups = [rewire(state, supervisor, task, mint, preserve=command.preserve_agent_states) for task in in_progress]
    return StrategySwitched(
        supervisor_id=current.id,
        mode=supervisor.mode,
        previous=_previous_mode(current, in_progress, command),
        aggregation=supervisor.aggregation,
        aggregator=supervisor.aggregator,
        scope=command.scope,
        groups=groups,
        settings=dict(supervisor.options.settings),
        lead=supervisor.options.lead,
        run_id=command.run if command.scope == "run" else None,
    )


def _previous_mode(current: Supervisor, in_progress: list[Task], command: SwitchStrategy) -> str:
    """Return the strategy to switch from: for one run that of its graph, which may have been switched before."""
    run_mode = in_progress[0].mode if command.scope == "run" and in_progress else None
    return run_mode or current.mode


def _future_supervisor(state: State, current: Supervisor, command: SwitchStrategy) -> Supervisor:
    """Return the supervisor as it will be; raises Refused if the strategy or its settings are invalid for it."""
    mode = strategy_named(command.mode or current.mode).name
    settings = _settings(current, mode) if command.settings is None else dict(command.settings)
    member_names = [member_name(state, member_id) for member_id in members_in(state, current)] if settings else ()
    check_settings(mode, settings, member_names)
    lead = command.lead or current.options.lead
    supervisor = copy_with(
        current,
        mode=mode,
        aggregation=command.aggregation or current.aggregation,
        aggregator=command.aggregator or current.aggregator,
        options=copy_with(current.options, settings=settings, lead=lead),
    )
    lead = _lead(supervisor)
    if lead is not None and (mode == "delegate" or command.lead is not None):
        lead_of(state, supervisor, lead)
    if mode == "delegate" and lead is None:
        raise Refused(_NO_LEAD.format(current.name))
    aggregator_of(state, supervisor, settings=settings_for(mode, settings, mode))  # raises if the aggregator is missing
    return supervisor


def _settings(current: Supervisor, mode: str) -> dict[str, JsonValue]:
    """Return the settings to keep: all if the strategy stays, else only those under the name of a strategy."""
    settings = current.options.settings
    if mode == current.mode:
        return dict(settings)
    return {key: value for key, value in settings.items() if key in STRATEGIES and isinstance(value, dict)}


def _lead(supervisor: Supervisor) -> str | None:
    """Return the name of the lead that is set, as an option or in the settings of the strategy."""
    value = settings_for(supervisor.mode, supervisor.options.settings, supervisor.mode).get("lead")
    return supervisor.options.lead or (value if isinstance(value, str) else None)


_NO_LEAD = "supervisor {!r} has no lead to delegate; name one of its agents as lead"


def _groups(state: State, supervisor: Supervisor, command: SwitchStrategy) -> list[Task]:
    """Return the graphs in progress that are to be rewired."""
    if command.scope == "new":
        return []
    if command.scope == "run" and command.run not in state.runs:
        raise UnknownWork(command.run or "")
    groups = [
        task
        for task in state.tasks.values()
        if task.kind == "group"
        and task.worker_id == supervisor.id
        and task.status is TaskStatus.RUNNING
        and not is_cancelled(state, task)
        and (command.scope == "open" or task.run_id == command.run)
    ]
    if command.scope == "run" and not groups:
        raise Refused(f"run {command.run} has no graph of {supervisor.name} in progress")
    return groups


def tune(state: State, followup: Tune, ctx: DecisionContext) -> list[Event]:
    """Adjust the coordination of a supervisor after one of its runs has ended."""
    supervisor = state.supervisors.get(followup.supervisor_id)
    change = None if supervisor is None else next_change(state, supervisor)
    if supervisor is None or change is None:
        return []
    try:
        change_events = _carry_out(state, supervisor, change, ctx)
    except Refused:
        return []  # try again after a later run
    figures = figures_of(runs_of(state, supervisor))
    event = CoordinationTuned(
        supervisor_id=supervisor.id,
        kind=change.kind,
        mode=supervisor.mode,
        balance=supervisor.options.balance,
        metric=change.metric,
        before=change.before,
        expected=change.expected,
        runs=change.runs,
        success=figures.success,
        median_ms=figures.median_ms,
        why=change.reason,
    )
    return [event, *change_events]


def _carry_out(state: State, supervisor: Supervisor, change: TuningChange, ctx: DecisionContext) -> list[Event]:
    kind: Literal["parallel", "selection"]
    if change.kind == "back":
        tuning = supervisor.tuning
        assert tuning is not None
        kind, mode, balance = tuning.kind, tuning.mode, tuning.balance
    else:
        kind, mode, balance = change.kind, "parallel", "performance"
    if kind == "parallel":
        # `new`: open runs keep the old strategy, with whose figures the new one is compared.
        command = SwitchStrategy(supervisor=id_target(supervisor.id), mode=mode, scope="new")
        return switch_strategy(state, command, ctx).events
    options = SupervisorOptions(balance=balance or "round_robin")
    return change_supervisor(state, ChangeSupervisor(supervisor=id_target(supervisor.id), options=options), ctx).events
