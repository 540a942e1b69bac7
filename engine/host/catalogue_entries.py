"""Looks up the entries of the catalogue that commands name, or answer to add.

The catalogue of the user who runs the engine counts, whoever sent the command. The core never reads it: it decides on
the spec, which the journal then holds.
"""

from functools import partial

from engine.catalogue import Catalogue, CatalogueEntry
from engine.catalogue.approved import approved_entry
from engine.core.commands import AddAgent, Command
from engine.core.queries.people.offers import offers_accepted
from engine.core.records.records import copy_with
from engine.core.specs.discovery import AgentDiscoveryMode
from engine.core.state import Origin
from engine.errors import CommandRefusedError
from engine.runtimes.attempts.services import Services


class NamedEntries:
    """Entries that are named by the commands of one engine.

    Args:
        catalogue: Where they are; None opens that of the user who runs the engine.
    """

    def __init__(self, services: Services, catalogue: Catalogue | None) -> None:
        self._services = services
        self._path = None if catalogue is None else catalogue.path

    async def fill_in_spec(self, command: Command) -> tuple[Command, Origin | None]:
        """Return a command with the spec of the entry that it names, and the origin of that spec; others as they are.

        Raises:
            CommandRefusedError: If an entry that it names, or answers to add, is unknown, removed, not approved, or
                another than was offered, or if the catalogue cannot be read.
        """
        for offer in offers_accepted(self._services.state, command):
            is_entry = offer.source in (AgentDiscoveryMode.CATALOGUE, AgentDiscoveryMode.COMPONENT)
            if is_entry and (await self._approved(offer.id)).hash != offer.hash:
                text = f"{offer.id} ({offer.spec.name}) has changed since it was offered; answer skip, then ask again"
                raise CommandRefusedError("entry_changed", text)
        # A command that brings a spec of its own gets no origin, so the core refuses it.
        if not isinstance(command, AddAgent) or command.catalogue is None or command.spec is not None:
            return command, None
        entry = await self._approved(command.catalogue)
        return copy_with(command, spec=entry.spec), Origin(kind="catalogue", id=entry.id, hash=entry.hash)

    async def _approved(self, entry_id: str) -> CatalogueEntry:
        return await self._services.threads.run(partial(approved_entry, entry_id, self._path))
