"""Entries that may be used: current and approved. What is unknown, removed or not approved is refused in one line."""

import os

from engine.catalogue.catalogue import Catalogue
from engine.catalogue.entries import CatalogueEntry
from engine.errors import CatalogueError, CommandRefusedError


def approved_entry(entry_id: str, path: str | os.PathLike[str] | None = None) -> CatalogueEntry:
    """Return an approved entry of a catalogue, by default that of this process's user; blocks.

    Raises:
        CommandRefusedError: If it cannot be used, or the catalogue cannot; the reason says what to do.
    """
    catalogue = Catalogue.open(path)
    try:
        entry = catalogue.entry(entry_id)
    except CatalogueError as error:
        raise CommandRefusedError("unusable_catalogue", str(error)) from error
    if entry is None:
        where = catalogue.path or "the catalogue"
        text = f"no entry {entry_id!r} in {where}; look for others with: quarterdeck catalogue search"
        raise CommandRefusedError("unknown_entry", text)
    if entry.removed_ms is not None:
        raise CommandRefusedError("entry_removed", f"{entry.id} ({entry.name}) was removed from the catalogue")
    if not entry.is_approved:
        text = f"{entry.id} ({entry.name}) is not approved; look at it, then: quarterdeck catalogue approve {entry.id}"
        raise CommandRefusedError("not_approved", text)
    return entry
