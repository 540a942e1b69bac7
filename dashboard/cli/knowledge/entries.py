"""`catalogue search`, `show`, `diff`, and what changes whether entries may be taken."""

from collections.abc import Iterable
from pathlib import Path

import click

from dashboard.cli.knowledge.catalogue_command import catalogue_command
from dashboard.cli.printing.catalogue import entry_item, entry_table, full_item, full_lines, spec_differences
from dashboard.cli.printing.items import fields_of
from dashboard.cli.printing.output import DONE, REFUSED, emit, fail
from dashboard.views.facts.spec_fields import spec_changes
from dashboard.views.knowledge.catalogue import FoundEntry
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.entries import CatalogueEntry
from engine.catalogue.finding import find
from engine.catalogue.writer import CatalogueWriter
from engine.core.queries.team.code import references_of
from engine.core.records.records import field_names

MAX_ROWS = 100_000


@catalogue_command("search")
@click.argument("words", nargs=-1)
@click.option("--all", "with_unapproved", is_flag=True, help="Also entries that are not approved.")
@click.option("--limit", type=click.IntRange(1, MAX_ROWS), default=20, show_default=True, help="The most entries.")
def search(ctx: click.Context, path: Path | None, *, words: tuple[str, ...], with_unapproved: bool, limit: int) -> int:
    """Find entries by words, or list them.

    The entries that match WORDS best come first; without words, entries are listed by name.
    """
    catalogue, text = Catalogue.open(path), " ".join(words)
    if text.strip():
        found = find(catalogue, text, min(limit, 50), approved_only=not with_unapproved)
        rows = [FoundEntry(entry, match) for match, entry in found]
    else:
        rows = [FoundEntry(entry) for entry in catalogue.entries(limit=limit, approved_only=not with_unapproved)]
    empty = "" if rows else _describe_nothing(catalogue, text, with_unapproved=with_unapproved)
    cut = [f"only the first {limit:,} are shown; --limit allows more"] if len(rows) == limit else []
    items = [entry_item(row) for row in rows]
    emit(ctx, "catalogue", {"items": items}, lambda: [*entry_table(rows, empty).lines(), *cut])
    return DONE


def _describe_nothing(catalogue: Catalogue, text: str, *, with_unapproved: bool) -> str:
    count = catalogue.count()
    if catalogue.path is None:
        return "this user has no home folder, so no catalogue; set XDG_DATA_HOME or give --catalogue"
    if not count:
        return f"the catalogue is empty ({catalogue.path}); add a pack: quarterdeck catalogue add FILE"
    kind = "entry" if with_unapproved else "approved entry"
    more = "" if with_unapproved else f"; --all looks through all {count:,}"
    return (f"no {kind} matches {text!r}" if text.strip() else f"there is no {kind}") + more


@catalogue_command("show")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def show(ctx: click.Context, path: Path | None, *, ids: tuple[str, ...]) -> int:
    """Show entries in full.

    Their specs, the code and programs that they use, their revisions, and who approved them.
    """
    catalogue = Catalogue.open(path)
    entries = [_entry(catalogue, entry_id) for entry_id in ids]
    items = [full_item(catalogue, entry) for entry in entries]
    emit(ctx, "entries", {"items": items}, [line for entry in entries for line in full_lines(catalogue, entry)])
    return DONE


def _entry(catalogue: Catalogue, entry_id: str) -> CatalogueEntry:
    """Return an entry, or a revision of it: `ID@REVISION`."""
    name, _, revision = entry_id.partition("@")
    entries = [entry for entry in catalogue.revisions(name) if revision in ("", str(entry.revision))]
    if not entries:
        hint = "look for others with: quarterdeck catalogue search --all"
        fail("unknown_entry", f"no entry {entry_id!r} in {catalogue.path or 'the catalogue'}", hint, REFUSED)
    return entries[-1]


@catalogue_command("approve")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def approve(ctx: click.Context, path: Path | None, *, ids: tuple[str, ...]) -> int:
    """Let teams find and take entries.

    Entries are approved as they are now, all or none; ID@2 only if that is still the revision of now. A later one has
    to be approved again.
    """
    return _change(ctx, path, ids, "approve", "may be found and taken now")


@catalogue_command("revoke")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def revoke(ctx: click.Context, path: Path | None, *, ids: tuple[str, ...]) -> int:
    """Take back the approval of entries.

    Teams that took one keep it.
    """
    return _change(ctx, path, ids, "revoke", "is not approved any more")


@catalogue_command("remove")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def remove(ctx: click.Context, path: Path | None, *, ids: tuple[str, ...]) -> int:
    """Remove entries.

    Teams that took one keep it. Adding their pack again makes new entries.
    """
    return _change(ctx, path, ids, "remove", "is removed")


def _change(ctx: click.Context, path: Path | None, ids: Iterable[str], method: str, outcome: str) -> int:
    """Change entries, and print what holds of each now."""
    ids = list(dict.fromkeys(ids))
    with CatalogueWriter(path) as writer:
        getattr(writer, method)(ids)
    entries = [*writer.catalogue.last_revisions([entry_id.partition("@")[0] for entry_id in ids]).values()]
    lines = [f"✓ {entry.name} ({entry.id}, revision {entry.revision}) {outcome}" for entry in entries]
    named = {reference: None for entry in entries for reference in references_of(entry.spec)}
    if method == "approve" and named:
        lines += ["  this trusts nothing of what they use; each team that takes one asks for it:"]
        lines += [f"    {reference}" for reference in named]
    emit(ctx, "catalogue", {"items": [entry_item(FoundEntry(entry)) for entry in entries]}, lines)
    return DONE


@catalogue_command("diff")
@click.argument("a", metavar="A[@REVISION]")
@click.argument("b", metavar="B[@REVISION]")
def diff(ctx: click.Context, path: Path | None, *, a: str, b: str) -> int:
    """Compare two entries or revisions.

    A and B are ids; ID@2 is the second revision of an entry.
    """
    catalogue = Catalogue.open(path)
    entry, other = _entry(catalogue, a), _entry(catalogue, b)
    differences = spec_differences(entry, other)
    items = [{name: getattr(each, name) for name in field_names(each)} for each in differences]
    sides = {name: fields_of(side, "id name revision hash") for name, side in (("a", entry), ("b", other))}

    def lines() -> list[str]:
        changes = [f"{cell.lead}{cell.text}" for cell in spec_changes(entry.spec, other.spec)]
        texts = [f"{side.name} ({side.id}, revision {side.revision})" for side in (entry, other)]
        return [f"from {texts[0]}", f"to   {texts[1]}", *(changes if differences else ["their specs are equal"])]

    emit(ctx, "diff", {**sides, "items": items}, lines)
    return DONE
