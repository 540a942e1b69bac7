"""One action on all marked rows: a dialog that lists the effect on each, and one line with the outcome."""

from typing import TYPE_CHECKING

from dashboard import dialogs
from dashboard.actions.action import ActionScreen
from dashboard.views.changes.bulk import Bulk, plan_change, targets_of
from dashboard.views.words.parsers import LineQuestion
from engine.core.commands import Command

if TYPE_CHECKING:
    from dashboard.dialogs.bulk import BulkDialog


def confirm_bulk(screen: ActionScreen, bulk: Bulk) -> None:
    """Ask about all of them, then send them; the marks go with that."""
    _open_bulk_dialog(screen, bulk, dialogs.bulk.BulkDialog(bulk))


def ask_line_for_marked(screen: ActionScreen, line: LineQuestion) -> None:
    """Ask one line about all of them, then send what it means for each."""
    marked_targets = targets_of(screen.state, screen.marked_keys())
    _open_bulk_dialog(screen, plan_change(marked_targets, ()), dialogs.bulk.BulkLineDialog(line, marked_targets))


def _open_bulk_dialog(screen: ActionScreen, bulk: Bulk, dialog: "BulkDialog") -> None:
    if not bulk.names:
        screen.warn(f"none of the marked rows can be {bulk.done}")
        return

    def answered(command: Command | None) -> None:
        if command is not None:
            screen.unmark()
            screen.deck.send_commands(bulk, dialog.chosen_commands)

    screen.app.push_screen(dialog, answered)
