"""One sentence for every kind of event, in the words of the interface: the subject first, then what it did.

`SENTENCES` has a template, or a function of the formatted fields and the event, for each kind. A template names fields
of the event: an id is replaced by its name from `Names`, a duration is formatted.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from dashboard.views.facts.steps import EMPTY_INPUTS, calls_in
from dashboard.views.words.amounts import amount, duration, pluralize, spent_text
from dashboard.views.words.answers import grant_limits
from dashboard.views.words.field_names import field_label
from dashboard.views.words.names import Names, short_id, without_title
from engine.core import events as on
from engine.core.events import Event
from engine.core.records.values import preview
from engine.core.scheduler.waiting import WAITS_FOR
from engine.core.state import NOBODY, PRIVATE, RunStatus


class Sentence(NamedTuple):
    """The description of an event, and its tone."""

    text: str
    tone: str


class _SentenceFields:
    """The fields of an event, formatted for a sentence."""

    def __init__(self, event: Any, names: Names) -> None:
        self._event, self._names = event, names

    def __getattr__(self, field: str) -> Any:
        value = getattr(self._event, field)
        if field.endswith("_id"):
            return self._names.of(value)
        return duration(value) if field.endswith("_ms") else value

    def __getitem__(self, field: str) -> Any:
        return getattr(self, field)

    @property
    def work(self) -> str:
        return self._names.work(self._event)

    @property
    def what(self) -> str:
        """The task, or the run if the event has no task."""
        event = self._event
        return f"run {self.run_id}" if event.task_id is None else f"task {self.task_id}"

    @property
    def tail(self) -> str:
        return f": {self._event.error}" if self._event.error else ""

    @property
    def reason_alone(self) -> str:
        """The error without the title of its task, which the sentence has already."""
        return without_title(self._event.error, self.task_id)

    def names_of(self, ids: Sequence[str], limit: int = 1_000) -> str:
        """List the names of the first `limit` ids, and count the others."""
        more = f" and {pluralize(len(ids) - limit, 'other')}" if len(ids) > limit else ""
        return ", ".join(map(self._names.of, ids[:limit])) + more


def sentence(event: Event, names: Names) -> Sentence:
    """Describe an event in one line."""
    template, tone = SENTENCES[type(event)]
    fields = _SentenceFields(event, names)
    if isinstance(event, on.SwapRolledBack) and not event.by_itself:
        tone = "accent"  # requested by a person: no warning
    if isinstance(event, on.RunFinished) and event.status is RunStatus.FAILED:
        tone = "error"
    return Sentence(template.format_map(fields) if isinstance(template, str) else template(fields, event), tone)


_NOUNS = {"registry": "registered spec", "finished": "finished run"}
_LEAVES = {"drain": "once its work is done", "requeue": "its work goes to others", "abort": "its work is stopped"}
_ENDINGS = {"done": "is done", "failed": "has failed", "cancelled": "was cancelled", "skipped": "was skipped"}
_CONSEQUENCES = {"stop": "it stops", "ask": "a person is asked", "fail": "it ends now"}
_TUNED = {"parallel": "works in parallel from now on", "selection": "prefers agents that did well before"}


def _aside(stopping: Sequence[str]) -> str:
    return f"; {pluralize(len(stopping), 'attempt')} set aside at once" if stopping else ""


def _describe_part(fields: _SentenceFields, event: on.PartImported | on.SummariesImported) -> str:
    kinds = msgspec.json.decode(event.state).items()
    listed = [(kind, each) for kind, each in kinds if each and (kind in _NOUNS or kind.endswith("s"))]
    imported = [pluralize(len(each), _NOUNS.get(kind, kind[:-1])) for kind, each in listed]
    texts = pluralize(len(event.texts), "text") if event.texts else "its totals"
    return f"part of an archive was imported: {', '.join(imported) or texts}"


def _describe_capabilities(fields: _SentenceFields, event: on.CapabilitiesChanged) -> str:
    can = [f"can now do {', '.join(event.added)}"] if event.added else []
    can += [f"no longer does {', '.join(event.removed)}"] if event.removed else []
    return f"{fields.agent_id} {' and '.join(can)}"


def _describe_watch(fields: _SentenceFields, event: on.PoolWatched) -> str:
    if event.due_ms is None:
        return f"every instance of {fields.agent_id} is at work: none is removed"
    left_s = (event.due_ms - event.at_ms) / 1000
    return f"an instance of {fields.agent_id} is idle; it is removed in {left_s:g} s if that stays so"


def _describe_discovery(fields: _SentenceFields, event: on.Discovered) -> str:
    """Return whom a search outside the team found, and what could not be searched."""
    names = {match.id: f"{match.name} ({match.source})" for match in event.matches}
    chosen = ", ".join(names.get(an_id, an_id) for an_id in event.chosen)
    result = f"{chosen} found for {fields.task_id}" if chosen else f"nobody found outside the team for {fields.task_id}"
    return "; ".join([result, *event.faults])


def _describe_growth(fields: _SentenceFields, event: on.GroupGrown) -> str:
    parts = [f"{pluralize(len(event.added), 'task')} added"] if event.added else []
    parts += [f"{len(event.skipped)} left out"] if event.skipped else []
    return f"{fields.check_id}: {event.failed or event.why}" + (f" ({', '.join(parts)})" if parts else "")


def _describe_begin(fields: _SentenceFields, event: on.AttemptStarted) -> str:
    if event.agent_id is None:
        return f"the engine began {fields.task_id}"
    generation = f", g{event.generation}" if event.generation > 1 else ""
    return f"{fields.agent_id} began {fields.work} (attempt {event.attempt}{generation})"


def _describe_step(fields: _SentenceFields, event: on.StepRecorded) -> str:
    arguments = "" if event.input in EMPTY_INPUTS else f" {preview(json.dumps(event.input, ensure_ascii=False), 60)}"
    if event.what == "model" and isinstance(event.input, dict):
        answer = _describe_answer(event.output if isinstance(event.output, dict) else {})
        return (
            f"{fields.agent_id} got {answer} from {event.input.get('model')} for {fields.work} in {fields.duration_ms}"
        )
    if event.what == "tool":
        tool = event.name.removeprefix("tool:")
        return f"{fields.agent_id} called {tool}{arguments} for {fields.work} in {fields.duration_ms}"
    step_kind = "step " if event.what == "code" else f"{event.what} "
    return f"{fields.agent_id} finished {step_kind}{event.name}{arguments} of {fields.work} in {fields.duration_ms}"


def _describe_answer(answer: dict[str, Any]) -> str:
    """Summarize the answer of a model: the tools that it calls, else its text."""
    calls = [str(call.get("name")) for call in calls_in(answer)]
    if calls:
        return f"{pluralize(len(calls), 'call')} ({preview(', '.join(calls), 60)})"
    text = preview(str(answer.get("text") or ""), 60)
    return f"the answer “{text}”" if text else "an empty answer"


def _describe_parking(fields: _SentenceFields, event: on.AttemptParked) -> str:
    return f"{fields.agent_id} gave its slot back: {fields.work} waits for {WAITS_FOR[event.why]}"


def _describe_insight(fields: _SentenceFields, event: on.Remembered) -> str:
    author = event.author if event.agent_id is None else fields.agent_id
    where = "" if event.segment == PRIVATE else f" in {event.segment}"
    instead = "" if event.supersedes is None else f" in place of {event.supersedes}"
    return f"{author or 'somebody'} remembers{where}{instead}: {preview(event.text, 60)}"


_FORGOTTEN = {"expired": "expired", "room": "to make room", "person": "by a person"}


def _describe_steer(fields: _SentenceFields, event: on.Steered) -> str:
    return f"{event.sender or 'somebody'} says to {fields.names_of(event.tasks)}: {preview(event.text, 200)}"


def _describe_grant(fields: _SentenceFields, event: on.GrantGiven) -> str:
    verb = "calls" if event.allows else "is refused"
    return f"{fields.agent_id} {verb} {event.tool} without asking{grant_limits(event) or ' from now on'}"


_GRANT_ENDS = {"person": "", "time": ": the time of the permission has passed", "ended": ": what it was for has ended"}


def _describe_answered(fields: _SentenceFields, event: on.EscalationAnswered) -> str:
    about = f"{event.escalation_id} about {fields.names_of([event.subject])}"
    if event.by == "grant":
        return f"an answer for all calls of the tool answered {about}: {event.answer}"
    if event.by == "default":
        return f"nobody answered {about} in time, so its default holds: {event.answer}"
    return f"a person answered {about}: {event.answer}"


_Says = str | Callable[[Any, Any], str]
SENTENCES: dict[type, tuple[_Says, str]] = {
    # The engine, commands, and what was loaded or imported.
    on.EngineStarted: (
        lambda t, e: f"engine {e.pid} started (version {e.version}, token {e.token})"
        + (f"; {pluralize(e.lost, 'acknowledged event')} before it are lost" if e.lost else ""),
        "",
    ),
    on.EngineStopped: ("the engine stopped: {reason}", ""),
    on.EngineSlept: (lambda t, e: f"the computer slept for {duration(e.slept_ms)}, which is no time at work", ""),
    on.TeamLoaded: ("team file {path} was loaded", ""),
    on.ReferencesTrusted: (
        lambda t, e: f"{pluralize(len(e.references), 'reference')} trusted: {', '.join(e.references)}", ""
    ),
    on.CommandApplied: (lambda t, e: f"{e.sender or 'somebody'}: {e.summary or e.command}", "accent"),
    on.CommandUndone: (
        lambda t, e: "undone: "
        + (e.summary.removeprefix("undone: ") or f"{e.command.replace('_', ' ')} {short_id(e.command_id)}"),
        "",
    ),
    on.CommandRefused: (lambda t, e: f"{e.sender or 'somebody'}: {e.command} refused: {e.reason}", "error"),
    on.SignalDropped: (
        lambda t, e: f"a {e.signal} signal{f' of {t.task_id}' if e.task_id else ''} could not be handled, a defect: "
        f"{e.error}",
        "error",
    ),
    on.ImportBegan: (lambda t, e: f"the import of {PurePath(e.path).name} began", ""),
    on.PartImported: (_describe_part, ""),
    on.SummariesImported: (_describe_part, ""),
    on.StateImported: (lambda t, e: f"{PurePath(e.path).name} was imported{', paused' if e.paused else ''}", ""),
    # Members of the team.
    on.SupervisorAdded: (
        lambda t, e: (
            f"supervisor {t.supervisor_id} joined the team{f' under {t.parent_id}' if e.parent_id else ''}, {e.mode}"
        ),
        "",
    ),
    on.SupervisorRemoved: ("supervisor {supervisor_id} left the team", ""),
    on.SupervisorPaused: (
        lambda t, e: f"supervisor {t.supervisor_id} was paused: its agents start nothing new{_aside(e.stopping)}", ""
    ),
    on.SupervisorResumed: ("supervisor {supervisor_id} was resumed", ""),
    on.SpecRegistered: ("spec {spec.name} was registered", ""),
    on.SpecUnregistered: ("spec {name} left the registry", ""),
    on.AgentAdded: ("{agent_id} joined {supervisor_id}", ""),
    on.AgentRemoving: (lambda t, e: f"{t.agent_id} is leaving: {_LEAVES[e.mode]}", ""),
    on.AgentRemoved: (
        lambda t, e: f"{t.agent_id} left the team"
        + (": it was idle longest and made room for another agent" if e.evicted else ""),
        "",
    ),
    on.AgentSwapped: ("{agent_id} was swapped to g{generation}, {spec.name} ({mode})", "accent"),
    on.SwapDrained: ("{agent_id} works on g{generation} only", ""),
    on.AgentPaused: (lambda t, e: f"{t.agent_id} was paused: it starts nothing new{_aside(e.stopping)}", ""),
    on.AgentResumed: ("{agent_id} was resumed and takes tasks again", ""),
    on.AgentBroke: (lambda t, e: f"{t.agent_id} {'waits' if e.away else 'cannot work'}: {e.error}", "error"),
    on.AgentMended: ("{agent_id} can work again", ""),
    on.ThreadReturned: ("a thread of {agent_id} has ended, its slot is free", ""),
    on.QueueMade: (
        lambda t, e: f"first request for {e.capability}; able agents: {t.names_of(e.agent_ids, 5) or 'none'}", "muted"
    ),
    # Priorities and preemption.
    on.PrioritySet: (lambda t, e: f"{t.what} has priority {e.priority}, before {e.previous}", "accent"),
    on.PreemptionAsked: (
        lambda t, e: f"{t.task_id} stops {'at once' if e.now else 'at its next step'}: its slot is for "
        f"{t.for_task_id}, which is urgent",
        "draining",
    ),
    on.AttemptPreempted: (
        lambda t, e: f"{t.task_id} was preempted{f' by {t.for_task_id}' if e.for_task_id is not None else ''} "
        "and waits again; its finished steps are kept",
        "draining",
    ),
    # Changes of agents and tasks at work.
    on.AttemptMigrated: ("{task_id} continues on g{generation} of {agent_id}", "accent"),
    on.SwapRolledBack: (
        lambda t, e: f"{t.agent_id} was rolled back{' by itself' if e.by_itself else ''} to {e.spec.name} as "
        f"g{e.generation} ({e.mode}): {e.why}",
        "warn",
    ),
    on.SwapHurried: (
        lambda t, e: f"{t.agent_id} no longer waits for work before g{e.generation}: it "
        + ("begins again on it" if e.mode == "abort" else "continues on it"),
        "warn",
    ),
    on.CapabilitiesChanged: (_describe_capabilities, "accent"),
    on.TaskReassigned: (
        lambda t, e: f"{t.task_id} was given to {t.agent_id}"
        + ("" if e.stopping is None else "; it is stopped now" if e.now else ", from its next step on"),
        "accent",
    ),
    # The tree of members, settings of supervisors, sizes of pools.
    on.CoordinationTuned: (
        lambda t, e: f"{t.supervisor_id} {_TUNED.get(e.kind, 'takes back what it changed by itself')}: {e.why}", ""
    ),
    on.MemberMoved: (
        lambda t, e: f"{t.member_id} moved {f'from {t.previous_id} ' if e.previous_id else ''}to {t.parent_id}",
        "accent",
    ),
    on.MemberRenamed: ("{previous} was renamed to {name}", ""),
    on.MembersDeclared: (
        lambda t, e: f"{pluralize(len(e.same) + len(e.different), 'member is', 'members are')} declared"
        + (f", {len(e.dropped):,} no longer" if e.dropped else ""),
        "",
    ),
    on.MembersOrdered: (lambda t, e: f"{t.supervisor_id} has its members in this order: {t.names_of(e.members)}", ""),
    on.SupervisorChanged: (
        lambda t, e: f"{t.supervisor_id} has new settings: {', '.join(map(field_label, e.fields))}", "accent"
    ),
    on.SupervisorLeaving: (
        lambda t, e: f"supervisor {t.supervisor_id} is leaving with all under it: {_LEAVES[e.mode]}", ""
    ),
    on.PoolResized: (
        lambda t, e: f"{t.agent_id} {'grew' if e.size > e.previous else 'shrank'} from {e.previous:,} to {e.size:,}: "
        f"{e.reason}",
        "",
    ),
    on.PoolWatched: (_describe_watch, "muted"),
    # Runs, tasks and attempts.
    on.RunSubmitted: (lambda t, e: f"request for {t.supervisor_id}: {preview(e.request, 80)}", "strong"),
    on.RunPaused: (lambda t, e: f"run {t.run_id} was paused{_aside(e.stopping)}", ""),
    on.RunResumed: ("run {run_id} was resumed", ""),
    on.CancelRequested: (
        lambda t, e: f"{t.what} is being {'failed' if e.failed else 'cancelled'}: {len(e.cancelled)} ended, "
        f"{len(e.stopping)} stopping; {e.reason}",
        "",
    ),
    on.StrategySwitched: (
        lambda t, e: f"{t.supervisor_id} was switched from {e.previous} to {e.mode}"
        + (
            f", {sum(len(group.kept) for group in e.groups)} kept, {sum(len(group.after) for group in e.groups)} "
            "re-planned" if e.groups else ""
        ),
        "accent",
    ),
    on.RunFinished: (lambda t, e: f"run {t.run_id} {_ENDINGS.get(e.status.value, 'has ended')}{t.tail}", "strong"),
    on.PlanAsked: (
        lambda t, e: f"agents are looked for who know {', '.join(e.words[:6])}" + ("…" if len(e.words) > 6 else "")
        if e.words else f"{t.task_id} is planned once its whole text is read",
        "",
    ),
    on.Discovered: (_describe_discovery, "accent"),
    on.RecipeMade: (lambda t, e: f"recipe {e.recipe.id} written: {'/'.join(e.recipe.path)}", "accent"),
    on.RecipeChanged: (
        lambda t, e: f"recipe {e.recipe.id} changed: {'/'.join(e.recipe.path)}, revision {e.recipe.revision}", "accent"
    ),
    on.RecipeRetired: (
        lambda t, e: f"recipe {e.recipe_id} retired" + (", nothing referred to it" if e.why == "unused" else ""), ""
    ),
    on.GroupPlanned: (
        lambda t, e: f"{t.task_id} was planned as {pluralize(len(e.nodes), 'task')}, {e.mode}"
        + (f": {e.explanation}" if e.explanation else ""),
        "",
    ),
    on.GroupGrown: (_describe_growth, ""),
    on.NeedMet: (lambda t, e: f"{t.task_id} has the answers that it needs: {t.names_of(e.answers)}", ""),
    on.GroupEnded: (
        lambda t, e: f"the graph of {t.task_id} {_ENDINGS.get(e.status.value, 'has ended')}{t.tail}", ""
    ),
    on.Delegated: (
        lambda t, e: f"{t.agent_id} delegated {e.children[0].title if e.children else 'nothing'}"
        + (f", and {pluralize(len(e.children) - 1, 'other task')}" if len(e.children) > 1 else ""),
        "",
    ),
    on.CallRejoined: ("{agent_id} repeated an earlier call for {task_id}", ""),
    on.CallAnswered: ("{task_id} has its answers", ""),
    on.CallRefused: ("a call of {task_id} was refused: {reason}", "warn"),
    on.RetryScheduled: ("{task_id}: retry {retry} in {delay_ms}", "draining"),
    on.RetryDue: ("{task_id} is ready for its retry", ""),
    on.TaskFailed: (lambda t, e: f"{t.task_id} failed for good: {t.reason_alone}", "error"),
    on.TaskSkipped: ("{task_id} is skipped: {reason}", "muted"),
    on.ItemTaken: ("{supervisor_id} took {task_id}", ""),
    on.ItemReturned: ("{supervisor_id} returned {task_id}: it may not go on and had not begun", ""),
    on.TaskRequeued: ("{task_id} waits again: {reason}", ""),
    on.TaskReopened: (
        lambda t, e: f"{t.task_id} is retried"
        + (f", with {pluralize(len(e.reopened) - 1, 'other')}" if len(e.reopened) > 1 else ""),
        "",
    ),
    on.AttemptStarted: (_describe_begin, ""),
    on.AttemptParked: (_describe_parking, "muted"),
    on.SlotWanted: ("{agent_id} waits for a slot to continue {work}", "muted"),
    on.AttemptResumed: ("{agent_id} continues {work}", ""),
    on.StepRecorded: (_describe_step, "muted"),
    on.ModelFailed: ("the model {model} failed {agent_id} at {work}: {error_type}: {error}", "error"),
    on.StepStopped: (
        lambda t, e: f"{t.agent_id} was cut off at {t.work} in its call of {e.name.removeprefix('tool:')}"
        f", after {t.duration_ms}",
        "muted",
    ),
    on.Remembered: (_describe_insight, "muted"),
    on.InsightsForgotten: (
        lambda t, e: f"{pluralize(len(e.ids), 'insight')} forgotten ({_FORGOTTEN[e.why]}): {', '.join(e.ids[:5])}"
        + ("…" if len(e.ids) > 5 else ""),
        "muted",
    ),
    on.PartRecorded: ("a part of prompts was written, {hash}", "muted"),
    on.AttemptDone: (
        lambda t, e: f"{'the engine' if e.agent_id is None else t.agent_id} finished {t.work} in {t.duration_ms}",
        "done",
    ),
    on.AttemptFailed: (
        lambda t, e: f"{t.agent_id} failed at {t.work}: {e.error_type}: {t.reason_alone}"
        + ("; its thread still runs" if e.stuck else ""),
        "error",
    ),
    on.AttemptCancelled: (
        lambda t, e: f"{t.agent_id} stopped {t.work}"
        + ("" if not e.requeued else "; the task begins again from its input" if e.restarted else "; it waits again"),
        "",
    ),
    on.AttemptLost: ("{task_id} was cut off with the engine; its finished steps are kept", "warn"),
    # Questions, answers and messages between the team and a person.
    on.Escalated: ("a person is asked ({escalation_id}): {question}", "attention"),
    on.EscalationAnswered: (_describe_answered, ""),
    on.Steered: (_describe_steer, "strong"),
    on.GrantGiven: (_describe_grant, ""),
    on.GrantRevoked: (
        lambda t, e: f"a person is asked again when {t.agent_id} calls {e.tool}{_GRANT_ENDS[e.why]}",
        "",
    ),
    on.QuestionWithdrawn: (
        lambda t, e: f"{t.work} waits for somebody no more: {t.escalation_id} needs no answer" if e.key == NOBODY
        else f"{t.agent_id} waits for no answer to {t.escalation_id} any more",
        "muted",
    ),
    # Failures: failover, decisions of a person, circuits and restarts.
    on.TaskFailedOver: ("{task_id} went to {to_id}: {reason}", "draining"),
    on.TaskTriedAnew: (
        lambda t, e: f"{t.task_id} is retried: "
        + ("nobody answered in time" if e.by == "default" else "a person asked for it"),
        "accent",
    ),
    on.TaskAnswered: ("{task_id} is done: a person gave its output", "accent"),
    on.CircuitOpened: (
        lambda t, e: f"the circuit of {t.agent_id} opened for {duration(round(e.cool_s * 1000))}: "
        f"{pluralize(e.failures, 'failure')} in a row",
        "warn",
    ),
    on.CircuitHalfOpened: ("the circuit of {agent_id} is half open: one attempt is let through", ""),
    on.CircuitClosed: ("the circuit of {agent_id} closed: {reason}", ""),
    on.AgentsRestarted: (
        lambda t, e: f"{e.because}; {t.supervisor_id} restarted {t.names_of(e.agent_ids, 3)} ({e.strategy})", "warn"
    ),
    on.SupervisorFailed: (
        lambda t, e: e.error
        + (f"; {pluralize(len(e.groups), 'graph')} with it" if e.groups else "")
        + f"; the last: {e.because}",
        "error",
    ),
    on.SupervisorMended: ("supervisor {supervisor_id} takes requests again", "accent"),
    on.AgentCheckAsked: ("{agent_id} is checked again", ""),
    on.ToolStarted: ("{agent_id} calls {name} for {task_id}", "muted"),
    on.ToolFailed: ("{name} failed for {task_id}: {error}", "warn"),
    on.DoubtSettled: (
        lambda t, e: f"a person says that {e.name} of {t.task_id} "
        + ("happened" if e.ran else "did not happen: it is called again"),
        "accent",
    ),
    # Deadlines and budgets.
    on.DeadlineSet: (
        lambda t, e: f"{t.what} has no deadline of its own any more" if e.after_ms is None
        else f"{t.what} has to end within {t.after_ms}",
        "",
    ),
    on.DeadlineWarned: (
        lambda t, e: f"{t.what} has {duration(max(0, e.deadline_ms - e.at_ms))} left until its deadline", "warn"
    ),
    on.DeadlinePassed: (
        lambda t, e: f"{t.what}: {e.error}; {len(e.ended)} ended, {len(e.stopping)} stopping", "error"
    ),
    on.GraceEnded: (
        lambda t, e: f"{t.what} has stopped after its deadline" if not e.stopping
        else f"{t.what} did not stop in time: {pluralize(len(e.stopping), 'attempt')} ended where "
        f"{'it was' if len(e.stopping) == 1 else 'they were'}",
        "warn",
    ),
    on.BudgetWarned: (
        lambda t, e: f"{t.names_of([e.subject])} has spent {spent_text(e.spent, e.limit, e.amount)}", "warn"
    ),
    on.BudgetReached: (
        lambda t, e: f"{t.names_of([e.subject])} has spent {spent_text(e.spent, e.limit, e.amount)}; "
        f"what is at work stops{'' if e.then == 'fail' else ' at its next step'}",
        "warn",
    ),
    on.BudgetExhausted: (lambda t, e: f"{t.names_of([e.subject])}: {e.error}; {_CONSEQUENCES[e.then]}", "error"),
    on.BudgetExtended: (
        lambda t, e: f"{t.names_of([e.subject])} continues: "
        + ("its budget was changed" if e.amount is None else f"it may spend {amount(e.limit, e.amount)} in all"),
        "accent",
    ),
    on.BudgetTimed: (
        lambda t, e: f"{t.names_of([e.subject])} spends no time now" if e.due_ms is None
        else f"{t.names_of([e.subject])} has spent its time in {duration(max(0, e.due_ms - e.at_ms))}, as it works now",
        "muted",
    ),
    on.AttemptSetAside: (
        lambda t, e: f"{t.agent_id} set {t.task_id} aside: {'it is paused' if e.paused else 'a budget is spent'}",
        "warn",
    ),
}  # fmt: skip
"""By class of event, with the tone; a test checks the keys against the union and the fields against the classes."""
