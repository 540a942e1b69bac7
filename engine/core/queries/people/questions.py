"""Finds open questions to people: by target, and similar ones."""

from engine.core.errors import Refused
from engine.core.queries.targets import id_in
from engine.core.records.records import JsonValue
from engine.core.state import Escalation, State

REPLY = "reply"
"""The answer by a text; the text is its output."""
MAX_NAMED = 5
"""Limit on the questions that a refusal names."""


def find_question(state: State, target: str) -> Escalation:
    """Return the question with an id, or about the object with that id; raises Refused if there is none, or several."""
    an_id = id_in(target)
    if an_id in state.escalations:
        return state.escalations[an_id]
    questions = [question for question in state.escalations.values() if question.subject == an_id]
    if len(questions) > 1:
        ids = _list_ids([question.id for question in questions])
        raise Refused(f"{len(questions)} questions about {an_id} wait; say which: {ids}")
    if questions:
        return questions[0]
    number = an_id.removeprefix("e")
    is_settled = number.isdecimal() and 0 < int(number[:18]) <= state.minted.get("e", 0)
    waits = "waits any more: it was answered or withdrawn" if is_settled else "waits for an answer"
    raise Refused(f"no question {target!r} {waits}; there are: {_list_ids([*state.escalations])}")


def _list_ids(ids: list[str]) -> str:
    more = f" and {len(ids) - MAX_NAMED:,} more" if len(ids) > MAX_NAMED else ""
    return ", ".join(ids[:MAX_NAMED]) + more or "none"


def supervisor_of(state: State, question: Escalation) -> str | None:
    """Return the id of the supervisor in whose team a question arose; None if its subject is gone."""
    subject_id = question.subject
    if subject_id in state.supervisors:
        return subject_id
    subject = state.tasks.get(subject_id) or state.agents.get(subject_id) or state.runs.get(question.run_id or "")
    return None if subject is None else subject.supervisor_id


def takes_text(question: Escalation) -> bool:
    """Return whether a question of an agent can be answered by a text: it has no options, or its agent reads any."""
    return question.kind == "ask" and (REPLY in question.options or question.detail.get("free_text") is True)


def similar_questions(state: State, question: Escalation) -> list[Escalation]:
    """Return the open questions that the answer to `question` fits too, including itself."""
    return [other for other in state.escalations.values() if _similarity_key(other) == _similarity_key(question)]


def _similarity_key(question: Escalation) -> tuple[str, list[str], JsonValue]:
    """Return a key that similar questions share: their kind, options, and the tool, agents or words they are about."""
    return question.kind, question.options, _about(question)


def _about(question: Escalation) -> JsonValue:
    if question.kind == "ask":
        return question.question
    agents = question.detail.get("agents")
    if question.kind == "discover" and isinstance(agents, list):
        return [question.question, *(agent.get("hash") for agent in agents if isinstance(agent, dict))]
    return question.detail.get("tool")
