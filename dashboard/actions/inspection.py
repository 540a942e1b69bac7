"""Actions that show more of an object: in words, as JSON, or copied to the clipboard."""

from functools import partial

from dashboard.actions.action import Action, ActionScreen, CommandLine, require_target
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.keyed import fill_keys

MAX_COPIED_CHARACTERS = 1_000_000
"""Largest text that is copied; terminals refuse longer ones."""


def _open(kind: str, screen: ActionScreen, line: CommandLine) -> None:
    name = line.word()
    target = require_target(screen, name) if name else None
    key = target.id if target is not None else screen.id_at_cursor(whole=kind == "describe") if not name else ""
    if kind == "describe" and key.isdigit():  # an event has a page of its own
        if getattr(screen, "subject_id", "") == key:
            screen.deck.messages.warn(fill_keys("this is all that is known of the event; <raw:y> shows its JSON"))
        else:
            screen.deck.open("event", key)
    elif key:
        screen.deck.open(kind, key)
    elif not name:
        screen.deck.messages.warn(screen.explain_no_target())


def _copy(screen: ActionScreen, _line: CommandLine) -> None:
    description, text = screen.copyable_text()
    if not text:
        screen.deck.messages.warn("there is nothing to copy here")
        return
    screen.app.copy_to_clipboard(text[:MAX_COPIED_CHARACTERS])
    length = pluralize(min(len(text), MAX_COPIED_CHARACTERS), "character")
    if len(text) > MAX_COPIED_CHARACTERS:
        length += f"; the first {MAX_COPIED_CHARACTERS:,} of {len(text):,}"
    screen.deck.messages.say(f"✓ copied {description}, {length}", "done")


INSPECTION_ACTIONS = (
    Action(
        name="describe",
        key="d",
        run=partial(_open, "describe"),
        arguments="[TARGET]",
        key_help="describe what is under the cursor",
        about="describe something",
    ),
    Action(
        name="raw",
        key="y",
        run=partial(_open, "raw"),
        arguments="[TARGET]",
        key_help="the same as JSON, as the state or the journal has it",
        about="show something as JSON",
    ),
    Action(
        name="copy",
        key="Y",
        run=_copy,
        key_help="copy the rows that are marked, the row under the cursor, or the text of a page",
        about="copy rows, or the text of a page",
    ),
)
