"""Actions that show more of an object: in words, as JSON, or copied to the clipboard."""

from functools import partial

from dashboard.actions.action import Acting, Action, Spoken
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.keyed import keyed

MOST_COPIED = 1_000_000
"""Characters that are given to a terminal at once."""


def _open(kind: str, at: Acting, said: Spoken) -> None:
    name = said.word()
    target = at.asked(name) if name else None
    key = target.id if target is not None else at.looked_at(whole=kind == "describe") if not name else ""
    if kind == "describe" and key.isdigit():  # an event, whose page says all of it
        if getattr(at, "subject_id", "") == key:
            at.warn(keyed("this is all that is known of the event; <raw:y> shows its JSON"))
        else:
            at.deck.open("event", key)
    elif key:
        at.deck.open(kind, key)
    elif not name:
        at.warn(at.no_target())


def _copy(at: Acting, _said: Spoken) -> None:
    what, text = at.copied()
    if not text:
        at.warn("there is nothing to copy here")
        return
    at.app.copy_to_clipboard(text[:MOST_COPIED])
    left = f"; the first {MOST_COPIED:,} of {len(text):,}" if len(text) > MOST_COPIED else ""
    at.deck.say(f"✓ copied {what}, {pluralize(min(len(text), MOST_COPIED), 'character')}{left}", "done")


LOOKING = (
    Action(
        name="describe",
        key="d",
        does=partial(_open, "describe"),
        arguments="[TARGET]",
        told="describe what is under the cursor",
        says="describe something",
    ),
    Action(
        name="raw",
        key="y",
        does=partial(_open, "raw"),
        arguments="[TARGET]",
        told="the same as JSON, as the state or the journal has it",
        says="show something as JSON",
    ),
    Action(
        name="copy",
        key="Y",
        does=_copy,
        told="copy the rows that are marked, the row under the cursor, or the text of a page",
        says="copy rows, or the text of a page",
    ),
)
