"""The form of answers that strategies evaluate: approval, score, split, or choice of a branch.

Rule: such an answer is requested as structured output and parsed strictly. A model that answers in another form is told
why and asked once more; then the attempt fails.
"""

from dataclasses import dataclass

from engine.core.records.records import JsonValue
from engine.core.specs.check import Check
from engine.core.specs.guard import describe_guard
from engine.core.state import State, Task


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The form of an answer that a strategy evaluates."""

    instructions: str
    """Instructions for the model."""
    schema: JsonValue = None
    """JSON Schema of the answer; None allows any text."""


_TEXT: JsonValue = {"type": "string"}
APPROVAL_SCHEMA: JsonValue = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reasons": _TEXT},
    "required": ["approved"],
}
SCORE_SCHEMA: JsonValue = {
    "type": "object",
    "properties": {"score": {"type": "number"}, "reasons": _TEXT},
    "required": ["score"],
}
ITEMS_SCHEMA: JsonValue = {"type": "object", "properties": {"items": {"type": "array"}}, "required": ["items"]}
APPROVAL_FORM = AnswerForm(
    "You check the work that you are given."
    ' Answer with JSON alone: {"approved": true or false, "reasons": why it is sent back}.',
    APPROVAL_SCHEMA,
)
ITEMS_FORM = AnswerForm(
    'Split the work into items that can be done independently. Answer with JSON alone: {"items": [...]}.', ITEMS_SCHEMA
)


def answer_form_of(state: State, task: Task) -> AnswerForm | None:
    """Return the form that the strategy requires of the answer to a task; None if it does not evaluate the answer."""
    check = _check_of(state, task)
    if check is None:
        return None
    match check.what:
        case "approved":
            is_reviewer = task.role.partition(":")[0] == "level"  # of `hierarchical_review`
            return _review_form(check.args.get("rejects")) if is_reviewer else APPROVAL_FORM
        case "score":
            return _score_form(check.args.get("until"))
        case "items":
            return ITEMS_FORM
        case "guards":
            return _branch_form(check.args.get("guards"))


def _check_of(state: State, task: Task) -> Check | None:
    """Return the first check after a task that evaluates its answer."""
    for task_id in task.before:
        successor = state.tasks.get(task_id)
        if successor is not None and successor.check is not None:
            evaluated_ids = successor.after if successor.sees is None else successor.sees
            if task.id in evaluated_ids:
                return successor.check
    return None


def _review_form(rejects: JsonValue) -> AnswerForm:
    """Return the form for a reviewer whose answer is passed on if it approves."""
    word = str(rejects[0]).upper() if isinstance(rejects, list) and rejects else "REJECTED"
    return AnswerForm(
        f"You review the work that you are given. To send it back, begin your answer with {word} and say what to"
        " change. Otherwise answer with the work itself, as it should be passed on."
    )


def _score_form(until: JsonValue) -> AnswerForm:
    return AnswerForm(
        f"You judge the work that you are given. Give it a score; {until} or more is good enough."
        ' Answer with JSON alone: {"score": a number, "reasons": what would make it better}.',
        SCORE_SCHEMA,
    )


def _branch_form(guards: JsonValue) -> AnswerForm:
    """Return the form for an agent whose answer chooses a branch by its guards."""
    conditions = "; ".join(describe_guard(guard) for guard in guards) if isinstance(guards, list) else ""
    return AnswerForm(f"The next step is chosen by the first of these conditions that your answer meets: {conditions}.")
