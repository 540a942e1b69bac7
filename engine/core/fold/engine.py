"""Fold: start and stop of the engine, outcomes of commands, team files, trust, imports."""

from engine.core import events
from engine.core.fold.accounting import discount_time
from engine.core.fold.memory import rehome_insights
from engine.core.fold.slots import mark_stale, refresh_agent
from engine.core.fold.times import count_suspension
from engine.core.queries.people.inverses import IRREVOCABLE, as_command, current_value_of
from engine.core.state import MAX_OUTCOMES, MAX_UNDOABLE, Engine, Irrevocable, Outcome, State, Team, Undoable


def _engine_started(state: State, event: events.EngineStarted) -> None:
    stopped_ms = event.last_ms if state.engine is None else state.engine.stopped_ms or event.last_ms
    if stopped_ms is not None:
        count_suspension(state, stopped_ms)
    state.engine = Engine(
        pid=event.pid, token=event.token, version=event.version, started_ms=event.at_ms, processes=event.processes
    )
    # An import in parts ends with its engine; the next one starts it again from the command.
    state.incoming = None
    mark_stale(state)
    for run in state.runs.values():
        run.suspended = False
    for agent in state.agents.values():
        agent.pace = 0
        agent.away_reason = agent.away_reason if event.away is None else None
        away = agent.away if event.away is None else agent.id in event.away
        # Leftover threads have ended with their process.
        if agent.stuck or away != agent.away:
            agent.stuck, agent.away = 0, away
            agent.stuck_since.clear()
            refresh_agent(state, agent)
        if agent.insights:  # a snapshot of an earlier version does not say whose they are
            rehome_insights(state, agent)
    for queue in state.queues.values():
        queue.pace = 0
    for task in state.tasks.values():
        if task.search == "begun":  # it has ended with its engine; planning the graph starts it again
            task.search = None


def _engine_stopped(state: State, event: events.EngineStopped) -> None:
    if state.engine is not None:
        state.engine.stopped_ms = event.at_ms
    for run in state.runs.values():
        run.suspended = True


def _engine_slept(state: State, event: events.EngineSlept) -> None:
    """Subtract the time that the computer slept from the time at work of attempts that hold a slot."""
    count_suspension(state, state.at_ms - event.slept_ms)
    for agent in state.agents.values():
        for task_id in agent.running:
            task = state.tasks[task_id]
            assert task.attempt is not None
            discount_time(state, task, task.attempt, event.slept_ms)


def _team_loaded(state: State, event: events.TeamLoaded) -> None:
    state.team = Team(path=event.path, folder=event.folder, sha256=event.sha256, seq=state.seq)


def _references_trusted(state: State, event: events.ReferencesTrusted) -> None:
    state.trusted.update(event.references)


def _remember(state: State, command_id: str, outcome: Outcome) -> None:
    """Record the outcome of a command, so that a duplicate is not carried out."""
    state.commands[command_id] = outcome
    while len(state.commands) > MAX_OUTCOMES:
        state.commands.popitem(last=False)


def _command_applied(state: State, event: events.CommandApplied) -> None:
    _remember(state, event.command_id, Outcome(status="applied", seq=state.seq))
    if event.inverse is not None:
        left = current_value_of(state, as_command(event.inverse))
        state.undoable[event.command_id] = Undoable(
            command=event.command,
            summary=event.summary,
            inverse=event.inverse,
            left=left,
            at_ms=event.at_ms,
            seq=state.seq,
        )
        while len(state.undoable) > MAX_UNDOABLE:
            state.undoable.popitem(last=False)
    elif event.command in IRREVOCABLE and event.role == "operator":
        state.irrevocable = Irrevocable(command=event.command, summary=event.summary, at_ms=event.at_ms, seq=state.seq)


def _command_undone(state: State, event: events.CommandUndone) -> None:
    state.undoable.pop(event.command_id, None)


def _command_refused(state: State, event: events.CommandRefused) -> None:
    _remember(state, event.command_id, Outcome(status="refused", seq=state.seq, reason=event.reason))
    if state.incoming is not None and state.incoming.command_id == event.command_id:
        state.incoming = None


def _signal_dropped(state: State, event: events.SignalDropped) -> None:
    """Change nothing: the event only informs readers of the journal."""
