"""Keeps a standby engine warm: imported code, and a state that is at most a second old.

Rule: it only reads. Faults of the file are reported by the engine that opens it. What is trusted is imported in a
daemon thread: a module that hangs must not keep the team without an engine.
"""

import logging
import os
import threading
from collections.abc import Set
from contextlib import suppress
from pathlib import Path

import anyio

from engine.core.commands import Ping
from engine.core.errors import CoreError
from engine.core.events import EngineStarted, EngineStopped, Event
from engine.core.fold import fold
from engine.core.queries.team.code import is_imported, references_of
from engine.core.state import State
from engine.errors import Unusable
from engine.host.host import Host
from engine.host.trusting import Trusting
from engine.reading.folding import events_of, fold_from, pages
from engine.runtimes.catalogue import load_all
from engine.trusted_code.references import Origin, resolve
from engine.trusted_code.trust import TrustError, TrustList
from store import Reader, StoreError
from store.layout.opening import open_store


class Preloading:
    """Imports new references in the background.

    Args:
        trusting: What may be imported.
    """

    def __init__(self, trusting: Trusting) -> None:
        self._trusting = trusting
        self._requested: set[str] = set()
        self._thread: threading.Thread | None = None

    def follow(self, references: Set[str]) -> None:
        """Start importing the references that are new; returns at once."""
        if self._thread is not None and self._thread.is_alive():
            return
        new = references - self._requested
        if new:
            self._requested |= new
            self._thread = threading.Thread(target=self._load, args=(sorted(new),), daemon=True)
            self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Return True once the started imports are done."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._thread is None or not self._thread.is_alive()

    def _load(self, references: list[str]) -> None:
        for reference in references:
            # The engine that needs it reports the error.
            with suppress(Unusable, TrustError):
                resolve(Origin(reference, self._trusting.folder, self._trusting.sources(reference)))


def loadable_references(state: State) -> Set[str]:
    """Return the references of what a team runs in the engine's own process, as far as it is trusted."""
    references = {
        reference for spec in state.specs.values() if spec.run_in != "process" for reference in references_of(spec)
    }
    return {reference for reference in references if reference in state.trusted and is_imported(reference)}


class Readiness:
    """Follows one database, which need not be there yet; for one thread at a time.

    Args:
        allowed: What the user who runs this engine trusts.
    """

    def __init__(self, db: Path, allowed: TrustList) -> None:
        self.state = State()
        """As of the last look."""
        self.team_was_stopped = False
        """True if the team was stopped for good since the first look and no engine has started after that."""
        self._db = db
        self._reader: Reader | None = None
        trusting = Trusting(allowed, db=db.resolve(), folder=Path.cwd(), state=lambda: self.state, is_program=False)
        self._preloading = Preloading(trusting)

    @property
    def file_id(self) -> str | None:
        """Of the file that the state is from; None before there is one."""
        return None if self._reader is None else self._reader.file_id

    def look(self) -> None:
        """Fold new events, and change to the team's folder, where its agents open files by relative names."""
        try:
            if self._reader is None:
                self._reader = Reader(self._db)
                self.state = fold_from(self._reader)
            elif self._reader.has_changed():
                for records in pages(self._reader, self.state.seq):
                    self._take(events_of(records))
        except (StoreError, CoreError):
            self.close()
        folder = None if self.state.team is None else Path(self.state.team.folder)
        if folder is not None:
            with suppress(OSError):
                os.chdir(folder)
        self._preloading.follow(loadable_references(self.state))

    def close(self) -> None:
        """Close the file, and forget its state."""
        if self._reader is not None:
            self._reader.close()
        self._reader, self.state = None, State()

    def _take(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, EngineStarted):
                self.team_was_stopped = False
            elif isinstance(event, EngineStopped) and event.final:
                self.team_was_stopped = True
        fold(self.state, events)


async def rehearse() -> None:
    """Run an engine in memory for a moment, so that all modules are loaded before it has to take over."""
    load_all()
    logging.disable(logging.INFO)
    try:
        async with open_store(":memory:") as store, anyio.create_task_group() as group:
            host = Host(store)
            await group.start(host.run)
            await host.order(Ping(), sender="standby")
            await host.stop("rehearsed")
    finally:
        logging.disable(logging.NOTSET)
