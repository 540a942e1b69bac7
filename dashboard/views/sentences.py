"""One sentence for every kind of event, in the words of the interface: the subject first, then what it did.

Where a sentence is the same for every event of a kind it is written down in `SENTENCES`, with the fields that stand in
it; an id is told as the name that `Names` knows, a time as a person reads it.
"""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from dashboard.views.amounts import counted, duration
from dashboard.views.names import Names
from engine.core import events as on
from engine.core.events import Event
from engine.core.fact import JsonValue
from engine.core.values import preview


class Sentence(NamedTuple):
    """What happened, and how loud it is said."""

    text: str
    tone: str


class _Fields(dict[str, Any]):
    """The fields of an event as a sentence tells them."""

    def __init__(self, event: Any, names: Names) -> None:
        super().__init__()
        self._event, self._names = event, names

    def __missing__(self, field: str) -> Any:
        if field == "work":
            return self._names.work(self._event)
        value = getattr(self._event, field)
        if field.endswith("_id"):
            return self._names.of(value)
        return duration(value) if field.endswith("_ms") else value


def sentence(event: Event, names: Names) -> Sentence:
    """Say in one line what happened."""
    told, tone = SENTENCES[type(event)]
    return Sentence(told.format_map(_Fields(event, names)) if isinstance(told, str) else told(event, names), tone)


_NOUNS = {"registry": "name of a spec", "finished": "finished run"}
_LEAVES = {
    "drain": "once its work is done",
    "requeue": "its work goes to others",
    "abort": "its work is stopped",
}
_GOES = {"drain": "once its work is done", "abort": "its work is stopped"}
_ENDED = {"done": "is done", "failed": "has failed", "cancelled": "was cancelled", "skipped": "was skipped"}
_NOTHING: tuple[JsonValue, ...] = (None, [], {}, [[], {}])
"""Inputs of steps that say nothing."""
_UNITS = {"attempts": "attempts", "time_s": "s of work", "tokens": "tokens", "cost_usd": "USD", None: ""}
_THEN = {"stop": "it stops", "ask": "a person is asked", "fail": "it ends now"}


def _started(event: on.EngineStarted, names: Names) -> str:
    lost = f"; {counted(event.lost, 'acknowledged event')} before it are lost" if event.lost else ""
    return f"engine {event.pid} started (version {event.version}, token {event.token}){lost}"


def _trusted(event: on.ReferencesTrusted, names: Names) -> str:
    return f"{counted(len(event.references), 'reference')} trusted: {', '.join(event.references)}"


def _applied(event: on.CommandApplied, names: Names) -> str:
    return f"{event.sender or 'somebody'}: {event.summary or event.command}"


def _refused(event: on.CommandRefused, names: Names) -> str:
    return f"{event.sender or 'somebody'}: {event.command} refused: {event.reason}"


def _dropped(event: on.SignalDropped, names: Names) -> str:
    about = f" of {names.of(event.task_id)}" if event.task_id else ""
    return f"a {event.signal} signal{about} could not be decided, a defect: {event.error}"


def _part(event: on.PartImported | on.SummariesImported, names: Names) -> str:
    kinds = msgspec.json.decode(event.state).items()
    found = [counted(len(each), _NOUNS.get(kind, kind[:-1])) for kind, each in kinds if isinstance(each, dict | list)]
    return f"a part of an archive came in: {', '.join(found) or counted(len(event.texts), 'text')}"


def _imported(event: on.StateImported, names: Names) -> str:
    return f"a state came in from {event.path}{', paused' if event.paused else ''}"


def _supervisor_added(event: on.SupervisorAdded, names: Names) -> str:
    under = f" under {names.of(event.parent_id)}" if event.parent_id else ""
    return f"supervisor {event.name} came to the team{under}, {event.mode}"


def _removing(event: on.AgentRemoving, names: Names) -> str:
    return f"{names.of(event.agent_id)} is leaving: {_LEAVES[event.mode]}"


def _removed(event: on.AgentRemoved, names: Names) -> str:
    why = ": idle for longest, it made room for another" if event.evicted else ""
    return f"{names.of(event.agent_id)} left the team{why}"


def _broke(event: on.AgentBroke, names: Names) -> str:
    how = "waits" if event.away else "cannot work"
    return f"{names.of(event.agent_id)} {how}: {event.error}"


def _queue(event: on.QueueMade, names: Names) -> str:
    able = ", ".join(names.of(agent_id) for agent_id in event.agent_ids[:5]) or "nobody"
    more = f" and {counted(len(event.agent_ids) - 5, 'other')}" if len(event.agent_ids) > 5 else ""
    return f"asked for the first time: who can {event.capability}? {able}{more}"


def _set(event: on.PrioritySet, names: Names) -> str:
    what = f"run {names.of(event.run_id)}" if event.task_id is None else f"task {names.of(event.task_id)}"
    return f"{what} has priority {event.priority}, before {event.previous}"


def _asked(event: on.PreemptionAsked, names: Names) -> str:
    when = "at once" if event.now else "at its next step"
    return f"{names.of(event.task_id)} stops {when}: its slot is for {names.of(event.for_task_id)}, which is urgent"


def _preempted(event: on.AttemptPreempted, names: Names) -> str:
    whom = f" for {names.of(event.for_task_id)}" if event.for_task_id is not None else ""
    return f"{names.of(event.task_id)} made way{whom} and waits again; its finished steps are kept"


def _rolled_back(event: on.SwapRolledBack, names: Names) -> str:
    itself = " by itself" if event.by_itself else ""
    return (
        f"{names.of(event.agent_id)} went back{itself} to {event.spec.name} as g{event.generation} "
        f"({event.mode}): {event.why}"
    )


def _hurried(event: on.SwapHurried, names: Names) -> str:
    how = "begins again on it" if event.mode == "abort" else "goes on with it"
    return f"{names.of(event.agent_id)} waits no more for work before g{event.generation}: it {how}"


def _capabilities(event: on.CapabilitiesChanged, names: Names) -> str:
    said = [
        f"can {', '.join(event.added)} now" if event.added else "",
        f"no longer does {', '.join(event.removed)}" if event.removed else "",
    ]
    return f"{names.of(event.agent_id)} {' and '.join(one for one in said if one)}"


def _reassigned(event: on.TaskReassigned, names: Names) -> str:
    when = "" if event.stopping is None else "; it is stopped now" if event.now else ", from its next step on"
    return f"{names.of(event.task_id)} was given to {names.of(event.agent_id)}{when}"


def _moved(event: on.MemberMoved, names: Names) -> str:
    before = f"from {names.of(event.previous_id)} " if event.previous_id else ""
    return f"{names.of(event.member_id)} went {before}under {names.of(event.parent_id)}"


def _ordered(event: on.MembersOrdered, names: Names) -> str:
    return f"{names.of(event.supervisor_id)} has its members in this order: {', '.join(map(names.of, event.members))}"


def _declared(event: on.MembersDeclared, names: Names) -> str:
    declared = len(event.same) + len(event.different)
    said = f"{counted(declared, 'member is', 'members are')} declared"
    return f"{said}, {len(event.dropped):,} no longer" if event.dropped else said


def _changed(event: on.SupervisorChanged, names: Names) -> str:
    return f"{names.of(event.supervisor_id)} has other settings: {', '.join(event.fields)}"


def _leaving(event: on.SupervisorLeaving, names: Names) -> str:
    return f"supervisor {names.of(event.supervisor_id)} is leaving with all under it: {_GOES[event.mode]}"


def _resized(event: on.PoolResized, names: Names) -> str:
    how = "grew" if event.size > event.previous else "shrank"
    return f"{names.of(event.agent_id)} {how} from {event.previous:,} to {event.size:,}: {event.reason}"


def _watched(event: on.PoolWatched, names: Names) -> str:
    if event.due_ms is None:
        return f"every instance of {names.of(event.agent_id)} is at work: none goes"
    left_s = (event.due_ms - event.at_ms) / 1000
    return f"an instance of {names.of(event.agent_id)} has nothing to do; it goes in {left_s:g} s if that stays so"


def _tuned(event: on.CoordinationTuned, names: Names) -> str:
    does = {"parallel": "works in parallel from now on", "selection": "asks those first that did well before"}
    what = does.get(event.kind, "takes back what it changed by itself")
    return f"{names.of(event.supervisor_id)} {what}: {event.why}"


def _submitted(event: on.RunSubmitted, names: Names) -> str:
    return f"{names.of(event.supervisor_id)} was asked: {preview(event.request, 80)}"


def _cancel(event: on.CancelRequested, names: Names) -> str:
    what = f"task {names.of(event.task_id)}" if event.task_id else f"run {names.of(event.run_id)}"
    return f"{what} is being cancelled: {len(event.cancelled)} ended, {len(event.stopping)} stopping; {event.reason}"


def _switched(event: on.StrategySwitched, names: Names) -> str:
    kept = sum(len(group.kept) for group in event.groups)
    planned = sum(len(group.after) for group in event.groups)
    graphs = f", {kept} kept, {planned} re-planned" if event.groups else ""
    return f"{names.of(event.supervisor_id)} went from {event.previous} to {event.mode}{graphs}"


def _finished(event: on.RunFinished, names: Names) -> str:
    tail = f": {event.error}" if event.error else ""
    return f"run {names.of(event.run_id)} {_ENDED.get(event.status.value, 'has ended')}{tail}"


def _planned(event: on.GroupPlanned, names: Names) -> str:
    why = f": {event.explanation}" if event.explanation else ""
    return f"{names.of(event.task_id)} became {counted(len(event.nodes), 'task')}, {event.mode}{why}"


def _grown(event: on.GroupGrown, names: Names) -> str:
    parts = [f"{counted(len(event.added), 'task')} added"] if event.added else []
    parts += [f"{len(event.skipped)} left out"] if event.skipped else []
    tail = f" ({', '.join(parts)})" if parts else ""
    return f"{names.of(event.check_id)}: {event.failed or event.why}{tail}"


def _need_met(event: on.NeedMet, names: Names) -> str:
    answers = ", ".join(names.of(task_id) for task_id in event.answers)
    return f"{names.of(event.task_id)} has the answers that it needs: {answers}"


def _group_ended(event: on.GroupEnded, names: Names) -> str:
    tail = f": {event.error}" if event.error else ""
    return f"the graph of {names.of(event.task_id)} {_ENDED.get(event.status.value, 'has ended')}{tail}"


def _delegated(event: on.Delegated, names: Names) -> str:
    first = event.children[0].title if event.children else "nothing"
    more = f" and {len(event.children) - 1:,} more" if len(event.children) > 1 else ""
    return f"{names.of(event.agent_id)} delegated {first}{more}"


def _reopened(event: on.TaskReopened, names: Names) -> str:
    more = f", with {counted(len(event.reopened) - 1, 'other')}" if len(event.reopened) > 1 else ""
    return f"{names.of(event.task_id)} is to be tried again{more}"


def _begun(event: on.AttemptStarted, names: Names) -> str:
    if event.agent_id is None:
        return f"the engine began {names.of(event.task_id)}"
    generation = f", g{event.generation}" if event.generation > 1 else ""
    return f"{names.of(event.agent_id)} took {names.work(event)} (attempt {event.attempt}{generation})"


def _step(event: on.StepRecorded, names: Names) -> str:
    took = duration(event.duration_ms)
    given = "" if event.input in _NOTHING else f" {preview(json.dumps(event.input, ensure_ascii=False), 60)}"
    what = {"code": "step ", "tool": ""}.get(event.what, f"{event.what} ")
    return f"{names.of(event.agent_id)} finished {what}{event.name}{given} of {names.work(event)} in {took}"


def _done(event: on.AttemptDone, names: Names) -> str:
    who = names.of(event.agent_id) if event.agent_id is not None else "the engine"
    return f"{who} finished {names.work(event)} in {duration(event.duration_ms)}"


def _failed(event: on.AttemptFailed, names: Names) -> str:
    stuck = "; its thread still runs" if event.stuck else ""
    return f"{names.of(event.agent_id)} failed at {names.work(event)}: {event.error_type}: {event.error}{stuck}"


def _cancelled(event: on.AttemptCancelled, names: Names) -> str:
    back = "; the task begins again from its input" if event.restarted else "; the task waits again"
    back = back if event.requeued else ""
    return f"{names.of(event.agent_id)} stopped {names.work(event)}{back}"


def _answered(event: on.EscalationAnswered, names: Names) -> str:
    about = f"{event.escalation_id} about {names.of(event.subject)}"
    if event.by == "default":
        return f"nobody answered {about} in time, so its default holds: {event.answer}"
    return f"a person answered {about}: {event.answer}"


def _tried_anew(event: on.TaskTriedAnew, names: Names) -> str:
    who = "nobody answered, so" if event.by == "default" else "a person says that"
    return f"{who} {names.of(event.task_id)} is tried again"


def _opened(event: on.CircuitOpened, names: Names) -> str:
    times = counted(event.failures, "failure")
    return f"{names.of(event.agent_id)} gets nothing to do for {duration(round(event.cool_s * 1000))}: {times} in a row"


def _restarted(event: on.AgentsRestarted, names: Names) -> str:
    who = ", ".join(names.of(agent_id) for agent_id in event.agent_ids[:3])
    more = f" and {counted(len(event.agent_ids) - 3, 'other')}" if len(event.agent_ids) > 3 else ""
    return f"{event.because}; {names.of(event.supervisor_id)} started {who}{more} anew ({event.strategy})"


def _given_up(event: on.SupervisorFailed, names: Names) -> str:
    graphs = f"; {counted(len(event.groups), 'graph')} with it" if event.groups else ""
    return f"{event.error}{graphs}; the last: {event.because}"


def _settled(event: on.DoubtSettled, names: Names) -> str:
    happened = "happened" if event.ran else "did not happen, and is called again"
    return f"a person says that {event.name} of {names.of(event.task_id)} {happened}"


def _what(run_id: str, task_id: str | None, names: Names) -> str:
    return f"run {names.of(run_id)}" if task_id is None else f"task {names.of(task_id)}"


def _deadline(event: on.DeadlineSet, names: Names) -> str:
    what = _what(event.run_id, event.task_id, names)
    if event.after_ms is None:
        return f"{what} has no deadline of its own any more"
    return f"{what} has to have ended in {duration(event.after_ms)}"


def _warned(event: on.DeadlineWarned, names: Names) -> str:
    left_ms = max(0, event.deadline_ms - event.at_ms)
    return f"{_what(event.run_id, event.task_id, names)} has {duration(left_ms)} left until its deadline"


def _passed(event: on.DeadlinePassed, names: Names) -> str:
    what = _what(event.run_id, event.task_id, names)
    return f"{what}: {event.error}; {len(event.ended)} ended, {len(event.stopping)} stopping"


def _grace(event: on.GraceEnded, names: Names) -> str:
    what = _what(event.run_id, event.task_id, names)
    if not event.stopping:
        return f"{what} has come to rest after its deadline"
    return f"{what} did not stop in time: {counted(len(event.stopping), 'attempt')} ended where it was"


def _amount(amount: Decimal | None, unit: str | None) -> str:
    return "" if amount is None else f"{amount.normalize():,f} {_UNITS[unit]}".rstrip()


def _budget_warned(event: on.BudgetWarned, names: Names) -> str:
    spent = f"{event.spent.normalize():,f} of {_amount(event.limit, event.amount)}"
    return f"{names.of(event.subject)} has spent {spent}"


def _budget_exhausted(event: on.BudgetExhausted, names: Names) -> str:
    return f"{names.of(event.subject)}: {event.error}; {_THEN[event.then]}"


def _budget_extended(event: on.BudgetExtended, names: Names) -> str:
    if event.amount is None:
        return f"{names.of(event.subject)} goes on: its budget was changed"
    return f"{names.of(event.subject)} goes on: it may spend {_amount(event.limit, event.amount)} in all"


def _budget_timed(event: on.BudgetTimed, names: Names) -> str:
    if event.due_ms is None:
        return f"{names.of(event.subject)} spends no time now"
    left_ms = max(0, event.due_ms - event.at_ms)
    return f"{names.of(event.subject)} has spent its time in {duration(left_ms)}, as it works now"


SENTENCES: dict[type, tuple[str | Callable[[Any, Names], str], str]] = {
    # The engine, commands, and what was loaded or imported.
    on.EngineStarted: (_started, ""),
    on.EngineStopped: ("the engine stopped: {reason}", ""),
    on.TeamLoaded: ("team file {path} was read", ""),
    on.ReferencesTrusted: (_trusted, ""),
    on.CommandApplied: (_applied, "accent"),
    on.CommandRefused: (_refused, "error"),
    on.SignalDropped: (_dropped, "error"),
    on.ImportBegan: ("{path} is being taken in", ""),
    on.PartImported: (_part, ""),
    on.SummariesImported: (_part, ""),
    on.StateImported: (_imported, ""),
    # Who is in the team.
    on.SupervisorAdded: (_supervisor_added, ""),
    on.SupervisorRemoved: ("supervisor {supervisor_id} left the team", ""),
    on.SupervisorPaused: ("supervisor {supervisor_id} was paused: its agents start nothing new", ""),
    on.SupervisorResumed: ("supervisor {supervisor_id} goes on", ""),
    on.SpecRegistered: ("spec {spec.name} is in the registry", ""),
    on.SpecUnregistered: ("spec {name} left the registry", ""),
    on.AgentAdded: ("{name} came to {supervisor_id}", ""),
    on.AgentRemoving: (_removing, ""),
    on.AgentRemoved: (_removed, ""),
    on.AgentSwapped: ("{agent_id} was swapped to g{generation}, {spec.name} ({mode})", "accent"),
    on.SwapDrained: ("{agent_id} works on g{generation} alone now", ""),
    on.AgentPaused: ("{agent_id} was paused: it takes nothing new", ""),
    on.AgentResumed: ("{agent_id} takes tasks again", ""),
    on.AgentBroke: (_broke, "error"),
    on.AgentMended: ("{agent_id} can work again", ""),
    on.ThreadReturned: ("a thread of {agent_id} came back, its slot is free", ""),
    on.QueueMade: (_queue, "muted"),
    # Priorities, and about slots that are taken from what is less urgent.
    on.PrioritySet: (_set, "accent"),
    on.PreemptionAsked: (_asked, "draining"),
    on.AttemptPreempted: (_preempted, "draining"),
    # Agents and tasks that change while they work.
    on.AttemptMigrated: ("{task_id} goes on with g{generation} of {agent_id}", "accent"),
    on.SwapRolledBack: (_rolled_back, "warn"),
    on.SwapHurried: (_hurried, "warn"),
    on.CapabilitiesChanged: (_capabilities, "accent"),
    on.TaskReassigned: (_reassigned, "accent"),
    # Where members stand, what is set for supervisors, and how large pools are.
    on.CoordinationTuned: (_tuned, ""),
    on.MemberMoved: (_moved, "accent"),
    on.MemberRenamed: ("{previous} is called {member_id}", ""),
    on.MembersDeclared: (_declared, ""),
    on.MembersOrdered: (_ordered, ""),
    on.SupervisorChanged: (_changed, "accent"),
    on.SupervisorLeaving: (_leaving, ""),
    on.PoolResized: (_resized, ""),
    on.PoolWatched: (_watched, "muted"),
    # Runs, tasks and attempts.
    on.RunSubmitted: (_submitted, "strong"),
    on.RunPaused: ("run {run_id} was paused", ""),
    on.RunResumed: ("run {run_id} goes on", ""),
    on.CancelRequested: (_cancel, ""),
    on.StrategySwitched: (_switched, "accent"),
    on.RunFinished: (_finished, "strong"),
    on.PlanAsked: ("{task_id} is to be planned, once its whole text was read", ""),
    on.GroupPlanned: (_planned, ""),
    on.GroupGrown: (_grown, ""),
    on.NeedMet: (_need_met, ""),
    on.GroupEnded: (_group_ended, ""),
    on.Delegated: (_delegated, ""),
    on.CallRejoined: ("{agent_id} asked again what it had asked before, for {task_id}", ""),
    on.CallAnswered: ("{task_id} has its answers", ""),
    on.CallRefused: ("{task_id} asked in vain: {reason}", "warn"),
    on.RetryScheduled: ("{task_id}: retry {retry} in {delay_ms}", "draining"),
    on.RetryDue: ("{task_id} is ready for its retry", ""),
    on.TaskFailed: ("{task_id} failed for good: {error}", "error"),
    on.TaskSkipped: ("{task_id} is skipped: {reason}", "muted"),
    on.ItemTaken: ("{supervisor_id} took {task_id}", ""),
    on.ItemReturned: ("{supervisor_id} gave {task_id} back: it is paused and had not begun", ""),
    on.TaskRequeued: ("{task_id} waits again: {reason}", ""),
    on.TaskReopened: (_reopened, ""),
    on.AttemptStarted: (_begun, ""),
    on.AttemptResumed: ("{agent_id} goes on with {work}", ""),
    on.StepRecorded: (_step, "muted"),
    on.AttemptDone: (_done, "done"),
    on.AttemptFailed: (_failed, "error"),
    on.AttemptCancelled: (_cancelled, ""),
    on.AttemptLost: ("{task_id} was cut off with the engine; its finished steps are kept", "warn"),
    # What happened between the team and a person.
    on.Escalated: ("a person is asked ({escalation_id}): {question}", "error"),
    on.EscalationAnswered: (_answered, ""),
    # Failures: who takes over, what a person said, circuits and restarts.
    on.TaskFailedOver: ("{task_id} went to {to_id}: {reason}", "draining"),
    on.TaskTriedAnew: (_tried_anew, "accent"),
    on.TaskAnswered: ("{task_id} is done: a person gave its output", "accent"),
    on.CircuitOpened: (_opened, "warn"),
    on.CircuitHalfOpened: ("{agent_id} has cooled down: one attempt is let through", ""),
    on.CircuitClosed: ("{agent_id} takes tasks as before: {reason}", ""),
    on.AgentsRestarted: (_restarted, "warn"),
    on.SupervisorFailed: (_given_up, "error"),
    on.SupervisorMended: ("supervisor {supervisor_id} takes requests again", "accent"),
    on.AgentCheckAsked: ("{agent_id} is looked at again", ""),
    on.ToolStarted: ("{agent_id} calls {name} for {task_id}", "muted"),
    on.ToolFailed: ("{name} failed for {task_id}: {error}", "warn"),
    on.DoubtSettled: (_settled, "accent"),
    # Deadlines and budgets.
    on.DeadlineSet: (_deadline, ""),
    on.DeadlineWarned: (_warned, "warn"),
    on.DeadlinePassed: (_passed, "error"),
    on.GraceEnded: (_grace, "warn"),
    on.BudgetWarned: (_budget_warned, "warn"),
    on.BudgetExhausted: (_budget_exhausted, "error"),
    on.BudgetExtended: (_budget_extended, "accent"),
    on.BudgetTimed: (_budget_timed, "muted"),
    on.AttemptSetAside: ("{agent_id} laid {task_id} aside: a budget is spent", "warn"),
}
"""By class of event, with the tone; a test holds the keys against the union and the fields against the classes."""
