"""Questions that wait for a person: which are alike, and which of them an answer names."""

from engine.core.errors import Refused
from engine.core.queries.targets import id_in
from engine.core.records.records import JsonValue
from engine.core.state import Escalation, State

MAX_NAMED = 5
"""Questions that a refusal names."""


def find_question(state: State, target: str) -> Escalation:
    """Return a question by its id, or by that of what it is about.

    Raises:
        Refused: If there is none, or there are several about that.
    """
    an_id = id_in(target)
    if an_id in state.escalations:
        return state.escalations[an_id]
    questions = [question for question in state.escalations.values() if question.subject == an_id]
    if len(questions) > 1:
        ids = _list_ids([question.id for question in questions])
        raise Refused(f"{len(questions)} questions about {an_id} wait; say which: {ids}")
    if questions:
        return questions[0]
    raise Refused(f"no question {target!r} waits for an answer; there are: {_list_ids([*state.escalations])}")


def _list_ids(ids: list[str]) -> str:
    more = f" and {len(ids) - MAX_NAMED:,} more" if len(ids) > MAX_NAMED else ""
    return ", ".join(ids[:MAX_NAMED]) + more or "none"


def similar_questions(state: State, question: Escalation) -> list[Escalation]:
    """Return the questions that one answer can be for, `question` among them: of a kind, and about the same."""
    return [other for other in state.escalations.values() if _similarity_key(other) == _similarity_key(question)]


def _similarity_key(question: Escalation) -> tuple[str, list[str], JsonValue]:
    """Return what makes questions alike: the tool; the words where an agent asks; else the kind alone."""
    text_or_tool = question.question if question.kind == "ask" else question.detail.get("tool")
    return question.kind, question.options, text_or_tool
