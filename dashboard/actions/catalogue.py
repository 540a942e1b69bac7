"""Actions about entries of the catalogue: approve, remove, add to the team. The catalogue is this user's own file."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from dashboard import dialogs
from dashboard.actions.action import Action, ActionScreen, CommandLine, require_supervisor, show_dialog
from dashboard.views.words.amounts import pluralize
from engine.errors import CommandRefusedError

if TYPE_CHECKING:
    from engine.catalogue.entries import CatalogueEntry

Change: TypeAlias = Literal["approve", "revoke", "remove"]


@runtime_checkable
class EntryScreen(ActionScreen, Protocol):
    """A screen with entries of the catalogue."""

    def chosen_entries(self) -> "Sequence[CatalogueEntry]":
        """Return the marked entries, or the one under the cursor."""
        raise NotImplementedError

    def change_entries(self, change: Change, entries: "Sequence[CatalogueEntry]", outcome: str) -> None:
        """Change entries as they are shown in a thread, then say the outcome and search again."""

    def is_asked_again(self, ids: list[str]) -> bool:
        """Return whether the same removal was asked for just before."""
        raise NotImplementedError


def _entry_screen(screen: ActionScreen) -> EntryScreen | None:
    """Return the Catalogue screen if it is open and an entry is chosen there; else warn."""
    if not isinstance(screen, EntryScreen):
        screen.deck.messages.warn("which entry? choose it on the screen  :catalogue")
    elif not screen.chosen_entries():
        screen.deck.messages.warn("no entry is under the cursor")
    else:
        return screen
    return None


def _describe(entries: "Sequence[CatalogueEntry]") -> str:
    return entries[0].name if len(entries) == 1 else pluralize(len(entries), "entry", "entries")


def _approve(screen: ActionScreen, _line: CommandLine) -> None:
    """Approve the chosen entries; if all of them are approved, take that back."""
    if (entry_screen := _entry_screen(screen)) is None:
        return
    entries = entry_screen.chosen_entries()
    names = _describe(entries)
    if all(entry.is_approved for entry in entries):
        entry_screen.change_entries(
            "revoke", entries, f"{names} cannot be found or taken any more; teams that took it keep it"
        )
    else:
        entry_screen.change_entries("approve", entries, f"{names} may be found and taken now; this trusts no code")


def _remove(screen: ActionScreen, _line: CommandLine) -> None:
    """Remove the chosen entries at the second press; the first one says what it would do."""
    if (entry_screen := _entry_screen(screen)) is None:
        return
    entries = entry_screen.chosen_entries()
    if entry_screen.is_asked_again([entry.id for entry in entries]):
        entry_screen.change_entries("remove", entries, f"removed {_describe(entries)}")
    else:
        text = f"R again removes {_describe(entries)} from the catalogue; teams that took it keep it"
        screen.deck.messages.say(text, "warn")


def _add(screen: ActionScreen, _line: CommandLine) -> None:
    if (entry_screen := _entry_screen(screen)) is None:
        return
    entry, *more = entry_screen.chosen_entries()
    if more:
        screen.deck.messages.warn("one entry is added at a time; esc clears the marks")
        return
    supervisor_id, _ = require_supervisor(screen, None)
    if supervisor_id is not None:
        show_dialog(screen, dialogs.entry.AddEntryDialog(entry, supervisor_id))


def add_entry_by_id(screen: ActionScreen, entry_id: str, *, name: str, under: str | None) -> None:
    """Ask how to add an approved entry that is named by its id."""
    supervisor_id, _ = require_supervisor(screen, under)
    if supervisor_id is None or not screen.deck.access.has_local_access("a catalogue; add agents in a shell"):
        return

    def ask(entry: "CatalogueEntry") -> None:
        show_dialog(screen, dialogs.entry.AddEntryDialog(entry, supervisor_id, name))

    def read() -> "CatalogueEntry":
        return dialogs.entry.read_entry(entry_id)

    screen.deck.background.run_in_thread(read, ask, (CommandRefusedError,))


CATALOGUE_ACTIONS = (
    Action(
        name="add-entry",
        run=_add,
        writes=True,
        about="add the entry under the cursor of :catalogue to the team",
    ),
    Action(
        name="approve-entry",
        label="approve",
        run=_approve,
        writes=True,
        for_marked=True,
        about="approve the entries of :catalogue that are chosen there, or take that back",
    ),
    Action(
        name="remove-entry",
        label="remove",
        run=_remove,
        writes=True,
        for_marked=True,
        about="remove the entries of :catalogue that are chosen there",
    ),
)
