"""One action on all marked rows: a dialog that lists the effect on each, and one line with the outcome."""

from typing import TYPE_CHECKING

from dashboard import dialogs
from dashboard.actions.action import Acting
from dashboard.views.changes.bulk import Bulk, changing, targets
from dashboard.views.words.parsers import Line
from engine.core.commands import Command

if TYPE_CHECKING:
    from dashboard.dialogs.bulk import BulkDialog


def in_bulk(at: Acting, bulk: Bulk) -> None:
    """Ask about all of them, then send them; the marks go with that."""
    _ask(at, bulk, dialogs.bulk.BulkDialog(bulk))


def ask_of_all(at: Acting, line: Line) -> None:
    """Ask one line about all of them, then send what it means for each."""
    found = targets(at.state, at.marked())
    _ask(at, changing(found, ()), dialogs.bulk.BulkLineDialog(line, found))


def _ask(at: Acting, bulk: Bulk, dialog: "BulkDialog") -> None:
    if not bulk.names:
        at.warn(f"none of the marked rows can be {bulk.done}")
        return

    def answered(command: Command | None) -> None:
        if command is not None:
            at.unmark()
            at.deck.order_all(bulk, dialog.taken)

    at.app.push_screen(dialog, answered)
