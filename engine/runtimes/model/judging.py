"""Answers that strategies evaluate: approval, score, split, or choice of a branch.

Rule: what is looked for is asked for in a form that is read strictly, as structured output; a model that answers in
another form is told why and asked once again, and fails then.
"""

from dataclasses import dataclass

from engine.core.records.records import JsonValue
from engine.core.specs.guard import describe_guard
from engine.core.state import State, Task


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The form of an answer that a strategy evaluates."""

    instructions: str
    """For the model."""
    schema: JsonValue = None
    """The form of the answer; None leaves it free."""


_TEXT: JsonValue = {"type": "string"}
APPROVAL: JsonValue = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reasons": _TEXT},
    "required": ["approved"],
}
SCORE: JsonValue = {
    "type": "object",
    "properties": {"score": {"type": "number"}, "reasons": _TEXT},
    "required": ["score"],
}
ITEMS: JsonValue = {"type": "object", "properties": {"items": {"type": "array"}}, "required": ["items"]}


def answer_form_of(state: State, task: Task) -> AnswerForm | None:
    """Return what the strategy of its graph wants of the answer to a task; None where it looks for nothing in it."""
    successors = (state.tasks.get(task_id) for task_id in task.before)
    check = next(
        (
            successor
            for successor in successors
            if successor is not None and successor.check is not None and _inspects(successor, task)
        ),
        None,
    )
    if check is None or check.check is None:
        return None
    check_kind, args, role = check.check.what, check.check.args, task.role.partition(":")[0]
    if check_kind == "approved":
        return _review_form(args.get("rejects")) if role == "level" else _APPROVAL_FORM
    if check_kind == "score":
        return AnswerForm(
            f"You judge the work that you are given. Give it a score; {args.get('until')} and more is good enough."
            ' Answer with JSON alone: {"score": a number, "reasons": what would make it better}.',
            SCORE,
        )
    if check_kind == "items":
        return AnswerForm(
            "Split the work into items that can be done apart from each other."
            ' Answer with JSON alone: {"items": [...]}.',
            ITEMS,
        )
    guards = args.get("guards")
    conditions = "; ".join(describe_guard(guard) for guard in guards) if isinstance(guards, list) else ""
    return AnswerForm(f"How it goes on is read from your answer, by the first of these that holds: {conditions}.")


def _inspects(check: Task, task: Task) -> bool:
    return task.id in (check.after if check.sees is None else check.sees)


_APPROVAL_FORM = AnswerForm(
    "You check the work that you are given."
    ' Answer with JSON alone: {"approved": true or false, "reasons": why it is sent back}.',
    APPROVAL,
)


def _review_form(rejects: JsonValue) -> AnswerForm:
    """Return what a reviewer is asked for whose answer goes on where it approves."""
    word = str(rejects[0]).upper() if isinstance(rejects, list) and rejects else "REJECTED"
    return AnswerForm(
        f"You review the work that you are given. To send it back, begin your answer with {word} and say what is to"
        " be changed. Otherwise give the work as it is to go on."
    )
