"""`catalogue add` and `export`: packs of agents, read whole before anything is written."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from dashboard.cli.knowledge.catalogue_command import catalogue_command
from dashboard.cli.printing.items import fields_of
from dashboard.cli.printing.output import DONE, emit, fail, quote_path
from dashboard.user.typed_paths import expand_path
from dashboard.views.words.amounts import pluralize
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.entries import Addition, Pack
from engine.catalogue.writer import CatalogueWriter

MAX_ENTRIES = 100_000


@catalogue_command("add")
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


@catalogue_command("export")
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
    entries = catalogue.entries(limit=MAX_ENTRIES, pack=name)
    names = sorted({entry.pack for entry in entries})
    if not names:
        text = "the catalogue is empty" if name is None else f"the catalogue has no pack {name!r}"
        fail("unknown_pack", text, "see: quarterdeck catalogue search --all")
    if len(names) > 1:
        fail("usage", "the catalogue has several packs", f"say which with --pack: {', '.join(names[:10])}")
    return replace(catalogue.last_pack(names[0]), agents=[entry.spec for entry in entries])
