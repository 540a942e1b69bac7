"""Fold: import of a state, in one piece or in parts."""

from engine.core.documents.document import KINDS
from engine.core.documents.ids import last_numbers
from engine.core.documents.importing import part_from, state_from
from engine.core.events import ImportBegan, PartImported, StateImported, SummariesImported
from engine.core.fold.accounting import follow_deadline, note_run, note_spec, note_supervisor
from engine.core.fold.escalation import start_clock
from engine.core.fold.memory import rehome_insights
from engine.core.fold.queues import enqueue, is_ready
from engine.core.fold.slots import mark_stale, refresh_agent
from engine.core.fold.spending import take_spending
from engine.core.fold.team import note_code
from engine.core.fold.times import count_suspended
from engine.core.state import MAX_SUMMARIES, Incoming, State, timer_id


def begin_import(state: State, event: ImportBegan) -> None:
    """Reserve the ids of an archive whose parts follow."""
    for letter, number in event.last.items():
        highest = event.above.get(letter, 0) + number
        state.minted[letter] = max(highest, state.minted.get(letter, 0))
    state.incoming = Incoming(command_id=event.command_id, above=dict(event.above))


def add_part(state: State, event: PartImported) -> None:
    """Add a part to those received so far; the team is not changed yet."""
    incoming = state.incoming
    assert incoming is not None
    if event.texts:
        incoming.texts.append((incoming.texts_total, state.seq))
        incoming.texts_total += len(event.texts)
    _merge_entities(incoming.state, part_from(event.state, incoming.texts))


def add_summaries(state: State, event: SummariesImported) -> None:
    """Add finished runs to the parts received so far."""
    assert state.incoming is not None
    state.incoming.state.finished += state_from(event.state, state.seq).finished


def end_import(state: State, event: StateImported) -> None:
    """Add all parts, and the state that this event carries, to the team."""
    last = state_from(event.state, state.seq)
    if state.incoming is not None:
        _merge_entities(last, state.incoming.state)
        last.finished += state.incoming.state.finished
    state.incoming = None
    fold_import(state, last, paused=event.paused)


def _merge_entities(target: State, part: State) -> None:
    for kind in KINDS:
        getattr(target, kind).update(getattr(part, kind))


def fold_import(state: State, imported: State, *, paused: bool) -> None:
    """Add all entities of `imported`, whose ids are not in use, to `state`; open runs may be paused."""
    for letter, number in last_numbers(imported).items():
        if number > state.minted.get(letter, 0):
            state.minted[letter] = number
    _take_specs(state, imported)
    state.supervisors.update(imported.supervisors)
    state.agents.update(imported.agents)
    state.queues.update(imported.queues)
    state.runs.update(imported.runs)
    state.tasks.update(imported.tasks)
    state.insights.update(imported.insights)
    state.recipes.update(imported.recipes)
    take_spending(state, imported)
    state.finished[:] = sorted([*imported.finished, *state.finished], key=lambda run: run.ended_ms)[-MAX_SUMMARIES:]
    for agent in imported.agents.values():
        note_code(state, agent)
    _add_totals(state, imported)
    _activate(state, imported, paused=paused)


def _take_specs(state: State, imported: State) -> None:
    """Add specs; names that are in the registry keep their present spec."""
    for name, key in imported.registry.items():
        state.registry.setdefault(name, key)
    used = {key for agent in imported.agents.values() for key in (agent.spec, agent.previous)}
    used.update(state.registry.values())
    for key, spec in imported.specs.items():
        if key in used:
            state.specs[key] = spec
            note_spec(state, key, spec)


def _add_totals(state: State, imported: State) -> None:
    state.tasks_total += imported.tasks_total
    state.tasks_done += imported.tasks_done
    state.tasks_failed += imported.tasks_failed
    state.runs_total += imported.runs_total
    state.usage = state.usage.plus(imported.usage)


def _activate(state: State, imported: State, *, paused: bool) -> None:
    """Set timers relative to the present time, rebuild derived fields, and queue ready tasks."""
    for timer in imported.timers.values():
        timer.due_ms = state.at_ms + timer.due_ms
        if timer.kind == "retry":
            state.tasks[timer.subject].retry_at_ms = timer.due_ms
        elif timer.kind == "escalation":
            imported.escalations[timer.subject].due_ms = timer.due_ms
        elif timer.kind == "expiry":
            imported.insights[timer.subject].expires_ms = timer.due_ms
        state.timers[timer.id] = timer
    state.escalations.update(imported.escalations)
    state.ledgers.update(imported.ledgers)
    has_deadlines = any(timer.kind == "deadline" for timer in imported.timers.values())
    for run in imported.runs.values():
        deadline = state.timers.get(timer_id("deadline", run.id))
        run.deadline_ms = deadline.due_ms if deadline is not None else None
        if has_deadlines:
            follow_deadline(state, state.tasks[run.root_id], run.deadline_ms)
    for run in imported.runs.values():
        run.paused = run.paused or paused
        note_run(state, run)
    for question in imported.escalations.values():
        start_clock(state, question)
    state.leaving.update(
        (supervisor.id, 0) for supervisor in imported.supervisors.values() if supervisor.leaving is not None
    )
    state.leaving.update((agent.id, 0) for agent in imported.agents.values() if agent.removing is not None)
    for supervisor in imported.supervisors.values():
        note_supervisor(state, supervisor)
    for agent in imported.agents.values():
        agent.created_seq = state.seq
        agent.idle_since_ms = state.at_ms
        agent.drained = agent.generation
        rehome_insights(state, agent)
        if state.specs[agent.spec].pool is not None:
            state.pools[agent.id] = 0
        refresh_agent(state, agent)
    for task in imported.tasks.values():
        if not task.ended:
            # A document has no times: what lies before the import counts as without an engine.
            count_suspended(state, task, task.created_ms)
        if task.kind == "group" and not task.ended:
            task.begun_ms = task.created_ms  # measured by another clock, so it must not count as overhead
            task.search = None if task.search == "begun" else task.search
        if task.kind == "agent" and is_ready(task):
            enqueue(state, task)
    mark_stale(state)
