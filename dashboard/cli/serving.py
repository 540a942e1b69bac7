"""An engine in this process: opened, told its team, ended by a signal, a command, or the end of whoever started it."""

import logging
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import TaskGroup, TaskStatus

from dashboard.cli.up import is_loaded
from engine.archive.hosting import importer
from engine.core.commands import LoadTeam
from engine.garbage import collect_rarely
from engine.host import Host
from store import Durability
from store.opening import open_store

END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    """What an engine is started with."""

    db: Path
    load: LoadTeam | None
    """The team to load before anything else; None takes what the database holds."""
    takeover: bool
    durability: Durability
    while_fd: int | None
    """The engine ends when this pipe is closed at its other end."""


class Serving:
    """One engine from its beginning to its end.

    Args:
        terms: What it is started with.
        ready: Called once it takes commands.
    """

    def __init__(self, terms: Terms, ready: Callable[[], None]) -> None:
        self._terms = terms
        self._ready = ready
        self.ended_by: signal.Signals | None = None
        """The signal that ended it, if one did."""

    async def serve(self) -> None:
        """Be the engine until it is stopped.

        Raises:
            StoreError: If the database cannot be held or used.
            EngineError: If the team is refused, or the engine has to give up.
        """
        async with (
            open_store(self._terms.db, takeover=self._terms.takeover, durability=self._terms.durability) as store,
            anyio.create_task_group() as group,
        ):
            host = Host(store, folder=Path.cwd(), importer=importer)
            group.start_soon(self._watch_signals, host)
            await group.start(self._live, host, group)
            if self._terms.while_fd is not None:
                group.start_soon(self._watch_starter, host, self._terms.while_fd)
            if self._terms.load is not None and not is_loaded(host.state, self._terms.load):
                applied = await host.order(self._terms.load, sender="cli")
                log.info("%s", applied.summary)
            collect_rarely()
            self._ready()

    async def _live(self, host: Host, group: TaskGroup, *, task_status: TaskStatus[None]) -> None:
        await host.run(task_status=task_status)
        group.cancel_scope.cancel()

    async def _watch_signals(self, host: Host) -> None:
        with anyio.open_signal_receiver(*END_SIGNALS) as signals:
            async for number in signals:
                if self.ended_by is not None:
                    # The journal loses nothing by it, and whatever hangs hangs no more.
                    sys.stderr.flush()
                    os._exit(128 + number)
                self.ended_by = signal.Signals(number)
                log.info("%s: the engine ends; again ends it at once", self.ended_by.name)
                await host.stop(self.ended_by.name)

    async def _watch_starter(self, host: Host, descriptor: int) -> None:
        await anyio.wait_readable(descriptor)
        await host.stop("whoever started it has ended")
