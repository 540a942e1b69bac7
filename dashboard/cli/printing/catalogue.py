"""Entries of the catalogue as `--json` objects, in tables, and in full."""

from collections.abc import Sequence

from msgspec import to_builtins

from dashboard.cli.printing.items import Item, fields_of
from dashboard.cli.printing.output import TextTable
from dashboard.views.facts.spec_fields import spec_lines
from dashboard.views.knowledge.catalogue import FoundEntry, approval_text, pack_text, server_references
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.entries import CatalogueEntry
from engine.core.queries.differences import Difference
from engine.core.queries.team.code import references_of
from store.wall_clock import wall_ms


def entry_item(row: FoundEntry) -> Item:
    """Return an entry; without words to match it has no score."""
    entry, match = row
    return {
        **fields_of(entry, "id name pack revision hash"),
        "type": entry.spec.agent_type,
        "specialties": list(entry.spec.specialties),
        "references": references_of(entry.spec),
        "approved_by": entry.approved_by if entry.is_approved else None,
        "score": None if match is None else match.score,
        "matched": [] if match is None else match.matched,
        "missing": [] if match is None else match.missing,
    }


def entry_table(rows: Sequence[FoundEntry], empty: str) -> TextTable:
    """Return entries with what of the words they match, the best first."""
    cells = [
        (
            None if match is None else f"{match.score:.2f}",
            entry.name,
            entry.pack,
            entry.spec.agent_type,
            ", ".join(match.matched if match is not None else entry.spec.specialties),
            "" if match is None else ", ".join(match.missing),
            entry.approved_by if entry.is_approved else "–",
            entry.id,
        )
        for entry, match in rows
    ]
    has_words = any(match is not None for _, match in rows)
    titles = (
        "SCORE",
        "NAME",
        "PACK",
        "TYPE",
        "MATCHED" if has_words else "SPECIALTIES",
        "MISSING",
        "APPROVED BY",
        "ID",
    )
    if not has_words:
        return TextTable([*titles[1:5], *titles[6:]], [(*row[1:5], *row[6:]) for row in cells], empty)
    return TextTable(titles, cells, empty, frozenset({"SCORE"}))


def full_item(catalogue: Catalogue, entry: CatalogueEntry) -> Item:
    """Return all that is known of an entry, with its revisions."""
    pack = catalogue.pack_of(entry)
    return {
        **entry_item(FoundEntry(entry)),
        **fields_of(entry, "source added_by added_ms approved_ms removed_ms"),
        "spec": to_builtins(entry.spec),
        "servers": server_references(entry, pack),
        "signed_by": pack.key or None,
        **fields_of(pack, "version author licence"),
        "revisions": [
            fields_of(revision, "revision hash added_by added_ms approved_by approved_ms removed_ms")
            for revision in catalogue.revisions(entry.id)
        ],
    }


def full_lines(catalogue: Catalogue, entry: CatalogueEntry) -> list[str]:
    """Return the same for a person."""
    now_ms, pack = wall_ms(), catalogue.pack_of(entry)
    rows = [
        ("id", f"{entry.id}, revision {entry.revision}, content {entry.hash}"),
        ("pack", pack_text(pack)),
        ("signed by", pack.key or "nobody"),
        ("approved", approval_text(entry, now_ms)),
        *(("reference", reference) for reference in references_of(entry.spec)),
        *((f"server {name}", text) for name, text in server_references(entry, pack).items()),
        *spec_lines(entry.spec)[1:],
    ]
    lines = [entry.name]
    for label, text in rows:
        first, *more = str(text).splitlines() or [""]
        lines += [f"  {label:<14} {first}", *(f"  {'':<14} {line}" for line in more)]
    revisions = catalogue.revisions(entry.id)
    if len(revisions) > 1:
        texts = [f"{each.revision}: content {each.hash}, approved: {approval_text(each, now_ms)}" for each in revisions]
        lines += [f"  {'revisions' if at == 0 else '':<14} {text}" for at, text in enumerate(texts)]
    return lines


def spec_differences(entry: CatalogueEntry, other: CatalogueEntry) -> list[Difference]:
    """Return the fields in which two specs differ."""
    fields, other_fields = to_builtins(entry.spec), to_builtins(other.spec)
    return [
        Difference(subject="spec", id=other.id, name=other.name, change="changed", field=name, a=value, b=other_value)
        for name, value in fields.items()
        if value != (other_value := other_fields[name])
    ]
