"""Entries of the user's catalogue: the rows of the Catalogue screen, and an entry in full. Pure."""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from types import MappingProxyType
from typing import Any, NamedTuple

from dashboard.views.drawing.lines import Line
from dashboard.views.drawing.row_pane import RowDetails, labelled_paragraphs
from dashboard.views.drawing.rows import Cell, Column, Listing, labelled_cell, make_cells
from dashboard.views.facts.spec_fields import spec_lines
from dashboard.views.words.amounts import moment
from engine.catalogue.entries import CatalogueEntry, Pack
from engine.core.discovery.match import Match
from engine.core.queries.team.code import reference_of_server, references_of

SOURCES = {"file": "a file", "entry_point": "an installed package", "acp_registry": "the ACP registry"}
"""Where a pack came from, in words."""
NO_CATALOGUE_HERE = "a browser has no catalogue; look at it in a terminal: quarterdeck catalogue search"
_LABEL = 14
FAULT_WIDTH = 72
"""Width of the lines that say why there are no rows: the narrowest screen has 80 cells."""


class FoundEntry(NamedTuple):
    """An entry, and how it matches if it was found by words."""

    entry: CatalogueEntry
    match: Match | None = None


class CatalogueRows(NamedTuple):
    """What a search of the catalogue returned."""

    words: str = ""
    found: Mapping[str, FoundEntry] = MappingProxyType({})
    """Entries by id, the best first."""
    total: int = 0
    """All current entries."""
    fault: str = ""
    """Why the catalogue cannot be read; empty if it can."""


class EntryHistory(NamedTuple):
    """What is known of an entry besides its current revision."""

    pack: Pack
    revisions: Sequence[CatalogueEntry]


def _approved_cell(row: FoundEntry) -> Cell:
    entry = row.entry
    return Cell(f"✓ {entry.approved_by}", "done") if entry.is_approved else Cell("–", "muted")


def _matched_cell(row: FoundEntry) -> Cell:
    entry, match = row
    if match is None:
        return Cell(", ".join(entry.spec.specialties) or entry.spec.description.partition("\n")[0], "muted")
    missing = f"  not {', '.join(match.missing)}" if match.missing else ""
    return Cell(f"{', '.join(match.matched)}{missing}")


def _score_cell(row: FoundEntry) -> Cell:
    match = row.match
    if match is None:
        return Cell("")
    return Cell(f"{match.score:.2f}", "muted" if match.is_weak else "", rank=match.score)


COLUMNS: tuple[Column[FoundEntry, Any], ...] = (
    Column("NAME", 16, grow=1, max_width=34, named=True, meaning="of the agent's spec",
           cell=lambda row: Cell(row.entry.name, "strong")),
    Column("SCORE", 5, right=True, drop=2, meaning="how well it matches, from 0 to 1", cell=_score_cell),
    Column("MATCHED", 18, grow=3, meaning="words of the search that it matches; without a search its specialties",
           cell=_matched_cell),
    Column("TYPE", 10, drop=3, meaning="what executes it", cell=lambda row: Cell(row.entry.spec.agent_type or "")),
    Column("PACK", 10, grow=1, max_width=24, drop=1, meaning="the pack that it came with",
           cell=lambda row: Cell(row.entry.pack, "muted")),
    Column("APPROVED BY", 12, grow=1, max_width=20, meaning="who lets teams find and take it", cell=_approved_cell),
)  # fmt: skip


def catalogue_listing(rows: CatalogueRows, *, is_loaded: bool, in_browser: bool) -> Listing:
    """Return the entries that were found; keys are ids."""

    def make(key: str) -> tuple[Cell, ...]:
        return make_cells(COLUMNS, rows.found[key]) if key in rows.found else ()

    empty = _describe_empty(rows, is_loaded=is_loaded, in_browser=in_browser)
    return Listing(columns=COLUMNS, keys=list(rows.found), make=make, empty=empty, total=rows.total)


def _describe_empty(rows: CatalogueRows, *, is_loaded: bool, in_browser: bool) -> tuple[str, ...]:
    if in_browser:
        return (NO_CATALOGUE_HERE,)
    if not is_loaded:
        return ("looking …",)
    if rows.fault:
        return tuple(wrap(rows.fault, FAULT_WIDTH))
    if rows.words:
        return (f"no entry matches {rows.words!r}", "esc shows all")
    return ("the catalogue is empty", "quarterdeck catalogue add FILE adds a pack of agents")


def describe_entry(
    row: FoundEntry | None, history: EntryHistory | None, *, now_ms: int, width: int, height: int
) -> RowDetails | None:
    """Describe an entry in full: what it may run and reach, who approved it, its revisions, its spec."""
    if row is None:
        return None
    cells = [labelled_cell(label, text, tone, wide=_LABEL) for label, text, tone in _facts(row, history, now_ms)]
    cells += [labelled_cell(label, str(text), wide=_LABEL) for label, text in spec_lines(row.entry.spec)[1:]]
    lines: list[Line] = labelled_paragraphs(cells, width)
    right = "enter adds it to the team" if row.entry.is_approved else "A approves it"
    return RowDetails(f"ENTRY {row.entry.id}", lines[:height], right)


def _facts(row: FoundEntry, history: EntryHistory | None, now_ms: int) -> list[tuple[str, str, str]]:
    entry, match = row
    facts = [("name", f"{entry.name}, revision {entry.revision}, content {entry.hash}", "strong")]
    if match is not None:
        missing = f"; missing: {', '.join(match.missing)}" if match.missing else ""
        facts.append(("match", f"{match.score:.2f}: {', '.join(match.matched)}{missing}", ""))
    facts.append(("approved", approval_text(entry, now_ms), "done" if entry.is_approved else "warn"))
    facts += [("reference", reference, "warn") for reference in references_of(entry.spec)]
    if history is not None:
        pack = history.pack
        facts += [(f"server {name}", text, "warn") for name, text in server_references(entry, pack).items()]
        facts.append(("pack", f"{pack_text(pack)}; signed by {pack.key or 'nobody'}", ""))
        if len(history.revisions) > 1:
            facts += [
                (f"revision {each.revision}", f"{each.hash}, approved: {approval_text(each, now_ms)}", "muted")
                for each in reversed(history.revisions)
            ]
    return facts


def pack_text(pack: Pack) -> str:
    """Return who made a pack and where it came from."""
    made = ", ".join(filter(None, (f"{pack.name} {pack.version}".strip(), pack.author, pack.licence)))
    return f"{made}, from {SOURCES[pack.source]}"


def approval_text(entry: CatalogueEntry, now_ms: int) -> str:
    """Return who approved a revision and when, and whether it is gone."""
    text = "no" if entry.approved_ms is None else f"by {entry.approved_by}, {moment(entry.approved_ms, now_ms)}"
    return text if entry.removed_ms is None else f"{text}; removed or replaced {moment(entry.removed_ms, now_ms)}"


def server_references(entry: CatalogueEntry, pack: Pack) -> dict[str, str]:
    """Return the references of the tool servers that an agent names, as its pack describes them.

    They do not come with the agent: the team that takes it needs servers of these names.
    """
    names = dict.fromkeys(name.partition("/")[0] for name in entry.spec.mcp)
    return {name: reference_of_server(pack.mcp[name]) for name in names if name in pack.mcp}
