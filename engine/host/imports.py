"""Archives that an order names: read and checked in a thread, before the core hears of them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from pydantic import JsonValue

from engine.core.commands import ImportState, Order
from engine.core.signals import StateReady, StateUnusable
from engine.runtimes.threads import Threads
from engine.runtimes.values import one_line


@dataclass(frozen=True, slots=True)
class Imported:
    """What an archive holds, checked."""

    state: JsonValue
    """The state document; its references to texts are places in `texts`."""
    texts: list[JsonValue]


Importer: TypeAlias = Callable[[Path, str], Imported]
"""Reads the archive at a path, whose file must have this sha256; raises with one line when it is not to be used."""


async def read_state(
    order: Order, command: ImportState, importer: Importer, threads: Threads
) -> StateReady | StateUnusable:
    """Return what the core is to decide about an import."""
    try:
        found = await threads.run(partial(importer, Path(command.path), command.sha256))
    except Exception as error:  # an archive is hostile: whatever reading it runs into is a refusal
        return StateUnusable(order_id=order.id, sender=order.sender, role=order.role, reason=one_line(error))
    return StateReady(
        order_id=order.id,
        sender=order.sender,
        role=order.role,
        path=command.path,
        sha256=command.sha256,
        paused=command.paused,
        state=found.state,
        texts=found.texts,
        trusted=list(command.trusted),
    )
