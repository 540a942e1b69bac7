"""Questions that wait for a person: which are alike, and which of them an answer names."""

from engine.core.errors import Refused
from engine.core.queries.targets import id_in
from engine.core.records.records import JsonValue
from engine.core.state import Escalation, State

NAMED = 5
"""Questions that a refusal names."""


def find_question(state: State, target: str) -> Escalation:
    """Return a question by its id, or by that of what it is about.

    Raises:
        Refused: If there is none, or there are several about that.
    """
    an_id = id_in(target)
    if an_id in state.escalations:
        return state.escalations[an_id]
    about = [one for one in state.escalations.values() if one.subject == an_id]
    if len(about) > 1:
        raise Refused(f"{len(about)} questions about {an_id} wait; say which: {_named([one.id for one in about])}")
    if about:
        return about[0]
    raise Refused(f"no question {target!r} waits for an answer; there are: {_named([*state.escalations])}")


def _named(ids: list[str]) -> str:
    more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
    return ", ".join(ids[:NAMED]) + more or "none"


def alike(state: State, found: Escalation) -> list[Escalation]:
    """Return the questions that one answer can be for, `found` among them: of a kind, and about the same."""
    return [one for one in state.escalations.values() if _about(one) == _about(found)]


def _about(one: Escalation) -> tuple[str, list[str], JsonValue]:
    """Return what makes questions alike: the tool; the words where an agent asks; else the kind alone."""
    said = one.question if one.kind == "ask" else one.detail.get("tool")
    return one.kind, one.options, said
