"""Reads the catalogue of this user for the screen, and changes it as `quarterdeck catalogue` does; all of it blocks."""

from collections.abc import Sequence

from dashboard.views.knowledge.catalogue import CatalogueRows, EntryHistory, FoundEntry
from engine.catalogue.approved import approved_entry
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.entries import CatalogueEntry
from engine.catalogue.finding import find
from engine.catalogue.writer import CatalogueWriter
from engine.errors import CatalogueError

MAX_FOUND = 50
"""Entries that a search by words returns."""
MAX_LISTED = 1_000
"""Entries that are listed without a search."""


def search_catalogue(words: str) -> CatalogueRows:
    """Return the entries that match words best, or the first by name; approved or not."""
    catalogue = Catalogue.open()
    try:
        if words.strip():
            found = [
                FoundEntry(entry, match) for match, entry in find(catalogue, words, MAX_FOUND, approved_only=False)
            ]
        else:
            found = [FoundEntry(entry) for entry in catalogue.entries(limit=MAX_LISTED)]
        return CatalogueRows(words.strip(), {row.entry.id: row for row in found}, catalogue.count())
    except CatalogueError as error:
        return CatalogueRows(words.strip(), fault=str(error))


def history_of(entry: CatalogueEntry) -> EntryHistory | None:
    """Return the pack and the revisions of an entry; None if it cannot be read."""
    catalogue = Catalogue.open()
    try:
        return EntryHistory(catalogue.pack_of(entry), catalogue.revisions(entry.id))
    except CatalogueError:
        return None


def read_entry(entry_id: str) -> CatalogueEntry:
    """Return an approved entry; raises CommandRefusedError."""
    return approved_entry(entry_id)


def approve(entries: Sequence[CatalogueEntry]) -> None:
    """Approve entries as they were shown; raises CatalogueError, and approves none, if one has changed since."""
    hashes = {entry.id: entry.hash for entry in entries}
    with CatalogueWriter() as writer:
        writer.approve(hashes, expected_hashes=hashes)


def revoke(entries: Sequence[CatalogueEntry]) -> None:
    """Take back approvals; raises CatalogueError."""
    with CatalogueWriter() as writer:
        writer.revoke(entry.id for entry in entries)


def remove(entries: Sequence[CatalogueEntry]) -> None:
    """Remove entries; raises CatalogueError."""
    with CatalogueWriter() as writer:
        writer.remove(entry.id for entry in entries)
