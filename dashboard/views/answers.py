"""Answers to questions: which there are, what each means, and what has to be typed for it. Pure."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from dashboard.views.words.amounts import unit
from engine.core.queries.people.questions import REPLY, takes_text
from engine.core.state import Escalation, GrantScope

TypedInput: TypeAlias = Literal["", "text", "json", "amount", "minutes"]
"""What an answer needs besides: nothing, a text, an output as text or JSON, an amount, a number of minutes."""
DEFAULT_MINUTES = 10
MAX_DIGIT = 9
"""Answers beyond have no key of their own."""
_MEANINGS: dict[tuple[str, str], str] = {
    ("ask", REPLY): "tells the agent what you write",
    ("approval", "allow_once"): "this call may happen",
    ("approval", "allow_always"): "this and every later call of the tool by this generation of the agent",
    ("approval", "reject_once"): "this call does not happen; the agent is told so",
    ("approval", "reject_always"): "nor does any later one by this generation of the agent",
    ("permission", "allow_once"): "the program may do it",
    ("permission", "allow_always"): "it may do this and everything of the same kind",
    ("permission", "reject_once"): "the program may not do it",
    ("permission", "reject_always"): "it may not do this, nor anything of the same kind",
    ("failure", "retry"): "tries it again; its failure policies start over",
    ("failure", "reject"): "goes on to the next failure policy; without one the task fails",
    ("failure", "skip"): "skips it; tasks that wait for it go on without it",
    ("failure", "use"): "marks it done, with the output that you give",
    ("doubt", "again"): "it did not happen: call the tool again",
    ("doubt", "ran"): "it happened: do not call the tool again; you give its output",
    ("doubt", "fail"): "the task fails",
    ("drain", "wait"): "the attempts end in their own time",
    ("drain", "abort"): "the attempts stop now and begin again on the new generation",
    ("budget", "continue"): "allows the same amount again",
    ("budget", "stop"): "ends it at its next step; what is done is kept",
    ("budget", "fail"): "ends it now, as failed",
    ("discover", "add"): "they join the team, and take part in the request",
    ("discover", "skip"): "the team does the request as it is",
    ("nobody", "wait"): "the task waits until somebody can take it",
    ("nobody", "retry"): "looks again for somebody who can take it",
    ("nobody", "fail"): "the task fails",
}
"""The meaning of an answer, by kind of question and answer."""
WITH_OUTPUT = frozenset({("ask", REPLY), ("failure", "use"), ("doubt", "ran")})
"""Answers that come with an output, by kind of question and answer."""
_SCOPES: tuple[tuple[GrantScope, str, str], ...] = (
    ("task", "allow in this task", "this and every later call of the tool in this task"),
    ("run", "allow in this run", "this and every later call of the tool in this run"),
    ("until", "allow for a time", f"the same for as many minutes as you write; {DEFAULT_MINUTES} if you write nothing"),
)


class AnswerChoice(NamedTuple):
    """One way to answer."""

    answer: str
    label: str
    meaning: str = ""
    needs: TypedInput = ""
    scope: GrantScope | None = None
    is_default: bool = False

    @property
    def gives_grant(self) -> bool:
        """Whether it is for later calls too."""
        return self.answer.endswith("_always") and bool(self.meaning)


def common_options(questions: Sequence[Escalation]) -> list[str]:
    """Return the answers that all of these questions accept, in the order of the first question."""
    if not questions:
        return []
    return [option for option in questions[0].options if all(option in other.options for other in questions)]


def answer_choices(questions: Sequence[Escalation]) -> list[AnswerChoice]:
    """Return the ways to answer all of these questions at once."""
    options, kinds = common_options(questions), {question.kind for question in questions}
    choices: list[AnswerChoice] = []
    for option in options:
        if option == "allow_always" and "allow_once" in options and kinds <= {"approval", "permission"}:
            choices += [AnswerChoice(option, label, meaning, "minutes" if scope == "until" else "", scope)
                        for scope, label, meaning in _SCOPES]  # fmt: skip
        choices.append(_make_choice(questions, option, kinds))
        if option == "continue" and kinds == {"budget"}:
            choices.append(AnswerChoice(option, "raise it by …", _describe_raise(questions), "amount"))
    if questions and REPLY not in options and all(map(takes_text, questions)):
        choices.append(AnswerChoice(REPLY, "answer in words", meaning_of("ask", REPLY), "text"))
    return choices


def _make_choice(questions: Sequence[Escalation], option: str, kinds: set[str]) -> AnswerChoice:
    meanings = dict.fromkeys(meaning_of(question.kind, option) for question in questions)
    needs_output = any((kind, option) in WITH_OUTPUT for kind in kinds)
    return AnswerChoice(
        option,
        answer_label(option) if any(meanings) else option,
        "; ".join(meaning for meaning in meanings if meaning),
        ("text" if kinds == {"ask"} else "json") if needs_output else "",
        is_default=all(question.default == option for question in questions),
    )


def answer_label(option: str) -> str:
    """Return an answer of the engine in words."""
    return "answer" if option == REPLY else option.replace("_", " ")


def meaning_of(kind: str, option: str) -> str:
    """Return what an answer means; empty for the options of an agent, which only it understands."""
    return _MEANINGS.get((kind, option), "")


def _describe_raise(questions: Sequence[Escalation]) -> str:
    names = {unit(str(question.detail["amount"])) for question in questions}
    return f"raises it by what you write, in {', '.join(sorted(names))}; 50k and 10m are understood"
