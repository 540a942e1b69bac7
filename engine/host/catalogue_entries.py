"""Fills in the spec of a command that names an entry of the catalogue.

The catalogue of the user who runs the engine counts, whoever sent the command. The core never reads it: it decides on
the spec, which the journal then holds.
"""

from functools import partial

from engine.catalogue.approved import approved_entry
from engine.core.commands import AddAgent, Command
from engine.core.records.records import copy_with
from engine.core.state import Origin
from engine.runtimes.functions.threads import Threads


async def fill_in_spec(command: Command, threads: Threads) -> tuple[Command, Origin | None]:
    """Return a command with the spec of the entry that it names, and the origin of that spec; others as they are.

    Raises:
        CommandRefusedError: If the entry is unknown, removed or not approved, or the catalogue cannot be read.
    """
    # A command that brings a spec of its own gets no origin, so the core refuses it.
    if not isinstance(command, AddAgent) or command.catalogue is None or command.spec is not None:
        return command, None
    entry = await threads.run(partial(approved_entry, command.catalogue))
    return copy_with(command, spec=entry.spec), Origin(kind="catalogue", id=entry.id, hash=entry.hash)
