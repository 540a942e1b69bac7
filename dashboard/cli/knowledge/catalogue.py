"""`catalogue`: the agent specs of this user, from packs, for all teams; searched, approved, compared and written out.

Rule: no engine is asked, and approving trusts nothing: code is allowed where a team takes an entry.
"""

from pathlib import Path

import click

from dashboard.cli.knowledge.catalogue_command import CATALOGUE_OPTION, OUTPUT_OPTIONS, catalogue_command
from dashboard.cli.knowledge.entries import approve, diff, remove, revoke, search, show
from dashboard.cli.knowledge.packs import add, export
from dashboard.cli.printing.items import fields_of
from dashboard.cli.printing.output import DONE, TextTable, emit
from dashboard.views.words.amounts import moment
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.writer import CatalogueWriter
from store.wall_clock import wall_ms


@click.group("catalogue")
def catalogue() -> None:
    """Keep agents that any team of yours may take: packs are added, looked at, then approved.

    Approving an entry makes it discoverable and trusts no code; a team asks for that when it takes the entry.
    """


@click.group("keys", invoke_without_command=True)
@CATALOGUE_OPTION
@click.pass_context
def keys(ctx: click.Context, path: Path | None) -> None:
    """List, add and remove keys of packs.

    Signatures of packs by these keys are verified.
    """
    ctx.default_map = {name: {"path": path} for name in ("add", "remove")}
    if ctx.invoked_subcommand is None:
        _show_keys(ctx, path)


@catalogue_command("add")
@click.argument("name")
@click.argument("key")
def add_key(ctx: click.Context, path: Path | None, *, name: str, key: str) -> int:
    """Verify signatures by KEY, the second line of a minisign file .pub, under NAME; a good one approves nothing."""
    with CatalogueWriter(path) as writer:
        writer.add_key(name, key)
    return _show_keys(ctx, path)


@catalogue_command("remove")
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


keys.params += OUTPUT_OPTIONS
for command in (add_key, remove_key):
    keys.add_command(command)
for command in (add, search, show, approve, revoke, remove, diff, export, keys):
    catalogue.add_command(command)
