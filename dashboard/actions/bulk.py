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
    """Confirm a change of all marked rows, then send its commands and clear the marks."""
    _open_bulk_dialog(screen, bulk, dialogs.bulk.BulkDialog(bulk))


def ask_line_for_marked(screen: ActionScreen, line: LineQuestion) -> None:
    """Ask for one line, then send its command for each marked row."""
    marked_targets = targets_of(screen.state, screen.marked_keys())
    _open_bulk_dialog(screen, plan_change(marked_targets, ()), dialogs.bulk.BulkLineDialog(line, marked_targets))


def _open_bulk_dialog(screen: ActionScreen, bulk: Bulk, dialog: "BulkDialog") -> None:
    if not bulk.names:
        screen.deck.messages.warn(f"none of the marked rows can be {bulk.done}")
        return

    def send(command: Command | None) -> None:
        if command is not None:
            screen.unmark()
            screen.deck.commands.send_all(bulk, dialog.chosen_commands)

    screen.app.push_screen(dialog, send)
