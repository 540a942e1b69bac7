"""Decides on questions that attempts ask people, and on grants (standing permissions for tools).

An answer is kept like the output of a step, under the key of the question: a later attempt that asks under the same key
finds the open question or its answer. Open questions of a task are closed when it ends (`fold.completion`).
"""

from collections.abc import Iterator, Mapping

from engine.core.commands import RevokeGrant
from engine.core.decide.people.escalations import answer_event
from engine.core.decide.work.attempts import find_attempt
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, Mint, ask, attempt_event
from engine.core.errors import Refused
from engine.core.events import Escalated, EscalationAnswered, Event, GrantGiven, GrantRevoked, QuestionWithdrawn
from engine.core.queries.people.grants import AskedCall, argument_texts, covers, find_grant, grant_from, grants_of
from engine.core.queries.people.questions import REPLY
from engine.core.queries.targets import id_in
from engine.core.records.records import JsonValue
from engine.core.signals import AskGivenUp, PersonAsked
from engine.core.state import Agent, Escalation, GrantScope, State, Task, Timer

ALLOW_ONCE, ALLOW_ALWAYS, REJECT_ONCE, REJECT_ALWAYS = "allow_once", "allow_always", "reject_once", "reject_always"
ALLOWING_ANSWERS = frozenset({ALLOW_ONCE, ALLOW_ALWAYS})
"""Answers that permit the call of a tool, or the request of a program."""
APPROVE, PERMISSION = "approve:", "permission"
"""Prefixes of the keys of such questions; the name of the tool, or a hash, follows."""
PERMISSION_PREFIXES = (APPROVE, f"{PERMISSION}:")


def person_asked(state: State, signal: PersonAsked, ctx: DecisionContext) -> list[Event]:
    """Ask a person, unless the question is open or answered already."""
    attempt = find_attempt(state, signal)
    if attempt is None or attempt.stopping not in (None, "migrate"):
        return []
    task = state.tasks[signal.task_id]
    if attempt.agent_id is None or signal.key in task.steps or signal.key in task.asks:
        return []
    agent = state.agents[attempt.agent_id]
    detail = {**signal.detail, "key": signal.key, "agent": agent.name, "generation": attempt.generation}
    if signal.options:
        default = signal.default
    else:
        default = None if signal.default is None else REPLY
        detail |= {} if signal.default is None else {"output": signal.default}
    question = ask(
        state,
        ctx,
        kind=signal.kind,
        subject=task.id,
        run_id=task.run_id,
        question=signal.question,
        options=signal.options or [REPLY],
        default=default,
        after_ms=None if signal.due_s is None else max(1, round(signal.due_s * 1000)),
        detail=detail,
    )
    if signal.kind == "ask":
        return [question]
    grant = find_grant(state, _call_of(task, agent, attempt.generation, question), ctx.now_ms)
    if grant is None:
        return [question]
    # The grant was given after the attempt had sent this question: it covers the question as well.
    choice = ALLOW_ONCE if grant.allows else REJECT_ONCE
    return [question, answer_event(question, choice, by="grant")]


def ask_given_up(state: State, signal: AskGivenUp, ctx: DecisionContext) -> list[Event]:
    """Withdraw a question that the code of an attempt no longer waits for."""
    attempt = find_attempt(state, signal)
    if attempt is None or signal.key not in state.tasks[signal.task_id].asks:
        return []
    question_id = state.tasks[signal.task_id].asks[signal.key]
    return [attempt_event(QuestionWithdrawn, attempt, signal, escalation_id=question_id)]


def on_permission_answered(state: State, event: EscalationAnswered, ctx: DecisionContext) -> list[Event]:
    """Record a grant from an "always" answer, and answer the open questions that it covers."""
    if event.answer not in (ALLOW_ALWAYS, REJECT_ALWAYS):
        return []
    task = state.tasks.get(event.subject)
    agent = state.agents.get(task.agent_id or "") if task is not None else None
    if task is None or agent is None or not _is_asked_by(agent, event.detail):
        return []  # the agent or generation that asked no longer works on the task
    call = _call_of(task, agent, agent.generation, event)
    if find_grant(state, call, ctx.now_ms) is not None:
        return []
    scope = event.scope or "always"
    given = GrantGiven(
        grant_id=Mint(state)("g"),
        agent_id=agent.id,
        generation=agent.generation,
        tool=call.tool,
        allows=event.answer == ALLOW_ALWAYS,
        scope=scope,
        scope_id=task.id if scope == "task" else task.run_id if scope == "run" else None,
        until_ms=None if event.minutes is None else ctx.now_ms + max(1, round(event.minutes * 60_000)),
        where=argument_texts(event.where, call.arguments),
    )
    return [given, *_answer_covered(state, event, agent, given, ctx.now_ms)]


def _answer_covered(
    state: State, event: EscalationAnswered, agent: Agent, given: GrantGiven, now_ms: int
) -> Iterator[Event]:
    """Yield the answers to the open questions that a new grant covers."""
    grant, choice = grant_from(given, now_ms), ALLOW_ONCE if given.allows else REJECT_ONCE
    for question in state.escalations.values():
        if question.kind != event.kind or choice not in question.options or not _is_asked_by(agent, question.detail):
            continue
        task = state.tasks[question.subject]
        if task.agent_id == agent.id and covers(grant, _call_of(task, agent, agent.generation, question), now_ms):
            yield answer_event(question, choice, by="grant")


def _call_of(
    task: Task, agent: Agent, generation: int, question: Escalated | EscalationAnswered | Escalation
) -> AskedCall:
    """Return the call that a question is about, as it was shown."""
    return AskedCall(
        agent_id=agent.id,
        generation=generation,
        tool=str(question.detail.get("tool")),
        task_id=task.id,
        run_id=task.run_id,
        arguments=question.detail.get("arguments"),
    )


def grant_due(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """End a grant whose time has passed."""
    grant = state.grants[timer.subject]
    return [GrantRevoked(grant_id=grant.id, agent_id=grant.agent_id, tool=grant.tool, why="time")]


def end_grants(state: State, scope: GrantScope, scope_id: str) -> list[Event]:
    """Return the events that end the grants for a task or a run that has ended."""
    return [
        GrantRevoked(grant_id=grant.id, agent_id=grant.agent_id, tool=grant.tool, why="ended")
        for grant in grants_of(state, scope, scope_id)
    ]


def _is_asked_by(agent: Agent, detail: Mapping[str, JsonValue]) -> bool:
    return (detail.get("agent"), detail.get("generation")) == (agent.name, agent.generation)


def revoke_grant(state: State, command: RevokeGrant, ctx: DecisionContext) -> Decided:
    """Revoke a grant."""
    grant = state.grants.get(id_in(command.grant))
    if grant is None:
        raise Refused(f"there is no grant {command.grant!r}; there are: {', '.join(state.grants) or 'none'}")
    name = state.agents[grant.agent_id].name
    return Decided(
        events=[GrantRevoked(grant_id=grant.id, agent_id=grant.agent_id, tool=grant.tool)],
        summary=f"a person is asked again when {name} calls {grant.tool}",
        result={"grant_id": grant.id, "agent_id": grant.agent_id, "tool": grant.tool},
    )


def on_question_answered(state: State, event: EscalationAnswered, ctx: DecisionContext) -> list[Event]:
    """Decide nothing: `TellAnswer` has told the attempt already."""
    return []
