"""`catalogue`: the agent specs of this user, from packs, for all teams; searched, approved, compared and written out.

Rule: no engine is asked, and approving trusts nothing: code is allowed where a team takes an entry.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from dashboard.cli.group import shared_options
from dashboard.cli.printing.catalogue import (
    entry_item,
    entry_table,
    full_item,
    full_lines,
    spec_differences,
)
from dashboard.cli.printing.items import fields_of
from dashboard.cli.printing.output import DONE, REFUSED, TextTable, emit, fail, quote_path
from dashboard.user.typed_paths import expand_path
from dashboard.views.catalogue import FoundEntry
from dashboard.views.facts.spec_fields import spec_changes
from dashboard.views.words.amounts import moment, pluralize
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.entries import Addition, CatalogueEntry, Pack
from engine.catalogue.finding import find
from engine.catalogue.writer import CatalogueWriter
from engine.core.queries.team.code import references_of
from engine.core.records.records import field_names
from store.wall_clock import wall_ms

MAX_ROWS = 100_000
F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS = [option for option in shared_options() if option.name != "db"]


@click.group("catalogue")
def catalogue() -> None:
    """Keep agents that any team of yours may take: packs are added, looked at, then approved.

    Approving an entry makes it discoverable and trusts no code; a team asks for that when it takes the entry.
    """


_CATALOGUE = click.option(
    "--catalogue",
    "path",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The catalogue; QUARTERDECK_CATALOGUE says the same. By default it is in the data folder.",
)


def _subcommand(group: click.Group, name: str) -> Callable[[F], F]:
    """Register a subcommand with `--catalogue`, whose function is given the path, and with the options of all."""

    def register(function: F) -> F:
        command = click.command(name)(_CATALOGUE(click.pass_context(function)))
        command.params += _OPTIONS
        group.add_command(command)
        return function

    return register


@_subcommand(catalogue, "add")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--component", metavar="NAME", help="The pack of an installed package, by the name of its entry point.")
@click.option("--acp-registry", metavar="FILE", type=click.Path(path_type=Path), help="The ACP registry's own file.")
def add(
    ctx: click.Context, path: Path | None, *, file: Path | None, component: str | None, acp_registry: Path | None
) -> int:
    """Add the agents of a pack.

    FILE is a pack, or a folder with packs *.yaml. What is new or changed is not approved.
    """
    if sum(source is not None for source in (file, component, acp_registry)) != 1:
        fail("usage", "say what to add", "one of FILE, --component NAME, --acp-registry FILE")
    progress = _Progress()
    try:
        progress.say("reading …")
        packs = _read(Catalogue.open(path), file, component, acp_registry)
        with CatalogueWriter(path) as writer:
            additions = writer.add(packs, progress)
    finally:
        progress.end()
    items = [_addition_item(addition) for addition in additions]
    emit(ctx, "packs", {"items": items}, lambda: [line for addition in additions for line in _addition_lines(addition)])
    return DONE


def _read(catalogue: Catalogue, file: Path | None, component: str | None, registry: Path | None) -> Sequence[Pack]:
    """Return the packs to add; they are whole before anything is written."""
    from engine.catalogue import acp_registry, components, pack_files  # pydantic and YAML, 300 ms

    if registry is not None:
        return [acp_registry.read_acp_registry(expand_path(registry))]
    if component is not None:
        return [components.read_component(component, catalogue.keys())]
    assert file is not None
    return pack_files.read_packs(expand_path(file), catalogue.keys())


class _Progress:
    """One changing line on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        self.say(f"{done:,} of {total:,} agents")

    def end(self) -> None:
        """Erase the line."""
        self.say("")

    def say(self, text: str) -> None:
        """Change the line."""
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()


def _addition_item(addition: Addition) -> dict[str, object]:
    return {
        **fields_of(addition.pack, "name version author licence sha256 source"),
        "signed_by": addition.pack.key or None,
        **fields_of(addition, "added changed unchanged absent"),
        "unusable": dict(addition.pack.unusable),
    }


def _addition_lines(addition: Addition) -> list[str]:
    pack = addition.pack
    counts = [
        f"{len(addition.added):,} added",
        f"{len(addition.changed):,} changed" if addition.changed else "",
        f"{addition.unchanged:,} as before" if addition.unchanged else "",
        f"{len(addition.absent):,} that it no longer has stay" if addition.absent else "",
        f"{len(pack.unusable):,} cannot be used" if pack.unusable else "",
    ]
    signature = f"signed by {pack.key}" if pack.key else "not signed"
    lines = [f"✓ {f'{pack.name} {pack.version}'.strip()}, {signature}: {', '.join(filter(None, counts))}"]
    lines += [f"  {name} cannot be used: {reason}" for name, reason in pack.unusable.items()]
    if addition.added or addition.changed:
        lines.append("  look at them, then approve them: quarterdeck catalogue search --all, show ID, approve ID")
    return lines


@_subcommand(catalogue, "search")
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


@_subcommand(catalogue, "show")
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


@_subcommand(catalogue, "approve")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def approve(ctx: click.Context, path: Path | None, *, ids: tuple[str, ...]) -> int:
    """Let teams find and take entries.

    Entries are approved as they are now, all or none; ID@2 only if that is still the revision of now. A later one has
    to be approved again.
    """
    return _change(ctx, path, ids, "approve", "may be found and taken now")


@_subcommand(catalogue, "revoke")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def revoke(ctx: click.Context, path: Path | None, *, ids: tuple[str, ...]) -> int:
    """Take back the approval of entries.

    Teams that took one keep it.
    """
    return _change(ctx, path, ids, "revoke", "is not approved any more")


@_subcommand(catalogue, "remove")
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


@_subcommand(catalogue, "diff")
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


@_subcommand(catalogue, "export")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--pack", "name", metavar="NAME", help="The pack to write, if there are several.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def export(ctx: click.Context, path: Path | None, *, file: Path, name: str | None, force: bool) -> int:
    """Write a pack to a file.

    FILE has the current entries of the pack as YAML, and others can add it.
    """
    from engine.catalogue.pack_files import pack_yaml

    pack, target = _stored_pack(Catalogue.open(path), name), expand_path(file)
    if target.exists() and not force:
        fail("file_exists", f"{target} exists", "give another name, or --force")
    target.write_text(pack_yaml(pack), encoding="utf-8")
    text = f"✓ wrote {pack.name}, {pluralize(len(pack.agents), 'agent')}, to {quote_path(target)}"
    emit(ctx, "pack", {"path": target, "pack": pack.name, "agents": len(pack.agents)}, text)
    return DONE


def _stored_pack(catalogue: Catalogue, name: str | None) -> Pack:
    """Return the pack of a name, or the only one, with its current specs."""
    entries = catalogue.entries(limit=MAX_ROWS, pack=name)
    names = sorted({entry.pack for entry in entries})
    if not names:
        text = "the catalogue is empty" if name is None else f"the catalogue has no pack {name!r}"
        fail("unknown_pack", text, "see: quarterdeck catalogue search --all")
    if len(names) > 1:
        fail("usage", "the catalogue has several packs", f"say which with --pack: {', '.join(names[:10])}")
    return replace(catalogue.last_pack(names[0]), agents=[entry.spec for entry in entries])


@click.group("keys", invoke_without_command=True)
@_CATALOGUE
@click.pass_context
def keys(ctx: click.Context, path: Path | None) -> None:
    """List, add and remove keys of packs.

    Signatures of packs by these keys are verified.
    """
    ctx.default_map = {name: {"path": path} for name in ("add", "remove")}
    if ctx.invoked_subcommand is None:
        _show_keys(ctx, path)


catalogue.add_command(keys)
keys.params += _OPTIONS


@_subcommand(keys, "add")
@click.argument("name")
@click.argument("key")
def add_key(ctx: click.Context, path: Path | None, *, name: str, key: str) -> int:
    """Verify signatures by KEY, the second line of a minisign file .pub, under NAME; a good one approves nothing."""
    with CatalogueWriter(path) as writer:
        writer.add_key(name, key)
    return _show_keys(ctx, path)


@_subcommand(keys, "remove")
@click.argument("name")
def remove_key(ctx: click.Context, path: Path | None, *, name: str) -> int:
    """Verify no signature by the key NAME any more."""
    with CatalogueWriter(path) as writer:
        writer.remove_key(name)
    return _show_keys(ctx, path)


def _show_keys(ctx: click.Context, path: Path | None) -> int:
    keys, now_ms = Catalogue.open(path).keys(), wall_ms()
    rows = [(key.name, key.key, moment(key.added_ms, now_ms)) for key in keys]
    items = [fields_of(key, "name key added_ms") for key in keys]
    empty = "there is no key; signatures of packs are shown but not verified"
    emit(ctx, "keys", {"items": items}, TextTable(("NAME", "KEY", "ADDED"), rows, empty))
    return DONE
