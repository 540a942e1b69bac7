"""One action on all marked rows: a dialog that lists the effect on each, and one line with the outcome."""

from dashboard import dialogs
from dashboard.actions.action import Acting
from dashboard.views.bulk import Bulk
from engine.core.commands import Command


def in_bulk(at: Acting, bulk: Bulk) -> None:
    """Ask about all of them, then send them; the marks go with that."""
    if not bulk.commands:
        at.warn("the marked rows no longer exist")
        return
    dialog = dialogs.BulkDialog(bulk)

    def answered(command: Command | None) -> None:
        if command is not None:
            at.unmark()
            at.deck.order_all(bulk, dialog.taken)

    at.app.push_screen(dialog, answered)
