"""Decides on questions that attempts ask people, and on grants (standing permissions for tools).

An answer is kept like the output of a step, under the key of the question: a later attempt that asks under the same key
finds the open question or its answer. Open questions of a task are closed when it ends (`fold.completion`).
"""

from collections.abc import Mapping

from engine.core.commands import RevokeGrant
from engine.core.decide.people.escalations import REPLY, answer_event
from engine.core.decide.work.attempts import find_attempt
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, Mint, ask, attempt_event
from engine.core.errors import Refused
from engine.core.events import EscalationAnswered, Event, GrantGiven, GrantRevoked, QuestionWithdrawn
from engine.core.queries.targets import id_in
from engine.core.records.records import JsonValue
from engine.core.signals import AskGivenUp, PersonAsked
from engine.core.state import Agent, Grant, State

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
    grant = find_grant(state, agent.id, attempt.generation, str(signal.detail.get("tool")))
    if grant is None or signal.kind == "ask":
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
    tool, allows = str(event.detail.get("tool")), event.answer == ALLOW_ALWAYS
    if agent is None or not _is_asked_by(agent, event.detail):
        return []  # the agent or generation that asked no longer works on the task
    if find_grant(state, agent.id, agent.generation, tool) is not None:
        return []
    grant = GrantGiven(
        grant_id=Mint(state)("g"), agent_id=agent.id, generation=agent.generation, tool=tool, allows=allows
    )
    choice = ALLOW_ONCE if allows else REJECT_ONCE
    others = [
        question
        for question in state.escalations.values()
        if question.kind == event.kind
        and question.detail.get("tool") == tool
        and choice in question.options
        and _is_asked_by(agent, question.detail)
        and state.tasks[question.subject].agent_id == agent.id
    ]
    return [grant, *(answer_event(question, choice, by="grant") for question in others)]


def _is_asked_by(agent: Agent, detail: Mapping[str, JsonValue]) -> bool:
    return (detail.get("agent"), detail.get("generation")) == (agent.name, agent.generation)


def find_grant(state: State, agent_id: str, generation: int, tool: str) -> Grant | None:
    """Return the grant for a tool of an agent's generation, if there is one."""
    key = (agent_id, generation, tool)
    return next(
        (grant for grant in state.grants.values() if (grant.agent_id, grant.generation, grant.tool) == key), None
    )


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
