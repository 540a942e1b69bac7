"""Runs an engine in this process until a signal, a command, or the end of the process that started it.

A standby engine waits to lead first; an engine that lost its database says so in one line and exits.
"""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NoReturn

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from dashboard.cli.engines.engine_options import EngineOptions
from dashboard.cli.engines.readiness import Readiness, rehearse
from dashboard.cli.engines.up import is_loaded
from dashboard.cli.printing.output import REFUSED, WORK_FAILED, CommandFailure, fail, quote_path, show_failure
from dashboard.cli.trust import trust_list
from dashboard.views.header import program_line
from engine.core.commands import LoadTeam
from engine.core.state import State
from engine.host.host import Host
from engine.platform.garbage import collect_rarely
from engine.platform.sender import sender_of
from store import Deposed, FileLost, NotItsTurn, Reader, StoreError, stand_by
from store.layout.opening import Store, open_store
from store.leadership.standby import LeadershipClaim, Standby

UNSTICK_S = 3.0
"""How long the loop may take to notice a lost store before the process is ended anyway."""
END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
log = logging.getLogger(__name__)


class EngineProcess:
    """One engine from its beginning to its end.

    Args:
        db: The database.
        announce: Called once it stands by, and once it takes commands: with `standby` or `engine`, and what it does.
        load: The team to load first; None uses the team in the database.
        digests: The code that the team's references import, by its hash.
        as_json: Whether to report the reason of its end as JSON.
    """

    def __init__(
        self,
        db: Path,
        options: EngineOptions,
        announce: Callable[[str, str], None],
        *,
        load: LoadTeam | None,
        digests: Mapping[str, str],
        as_json: bool,
    ) -> None:
        self._db = db
        self._options = options
        self._announce = announce
        self._load = load
        self._digests = digests
        self._as_json = as_json
        self._allowed = trust_list()
        self.ended_by: signal.Signals | None = None
        """The signal that ended it, if any."""
        self.team_was_stopped = False
        """True if it was on standby and ended because the whole team was stopped."""
        self.ended_waiting = False
        """True if it was ended while still on standby."""

    def run(self) -> None:
        """Serve in an event loop of its own."""
        anyio.run(self.serve)

    async def serve(self) -> None:
        """Run the engine until it is stopped.

        Raises:
            StoreError: If the database cannot be held or used.
            EngineError: If the team is refused, or the engine has to give up.
        """
        if not self._options.standby:
            await self._lead()
            return
        await rehearse()
        async with stand_by(self._db, takeover_after_s=self._options.takeover_after) as standby:
            await self._serve_as_standby(standby)

    async def _serve_as_standby(self, standby: Standby) -> None:
        readiness = Readiness(self._db, self._allowed)
        await anyio.to_thread.run_sync(readiness.look)
        self._refuse_code_elsewhere(readiness.state)
        self._announce("standby", "stands by")
        while (claim := await self._wait_to_lead(standby, readiness)) is not None:
            await anyio.to_thread.run_sync(readiness.look)
            if readiness.team_was_stopped:
                claim.give_up()
                self.team_was_stopped = True
                return
            try:
                self._refuse_code_elsewhere(readiness.state)
            except CommandFailure:
                claim.give_up()
                raise
            try:
                await self._lead(claim, readiness, standby)
            except NotItsTurn as first:
                log.info("%s", first)
            else:
                return

    def _refuse_code_elsewhere(self, state: State) -> None:
        if not self._options.without_code:
            refuse_code_elsewhere(state, self._db)

    async def _wait_to_lead(self, standby: Standby, readiness: Readiness) -> LeadershipClaim | None:
        """Wait; None when this standby is ended first."""
        claim: LeadershipClaim | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch_waiting, group.cancel_scope)
            claim = await standby.wait_to_lead(readiness.look)
            group.cancel_scope.cancel()
        self.ended_waiting = claim is None
        return claim

    async def _watch_waiting(self, waiting: anyio.CancelScope) -> None:
        async with anyio.create_task_group() as group:
            if self._options.while_fd is not None:
                group.start_soon(_call_when_closed, self._options.while_fd, waiting.cancel)
            with anyio.open_signal_receiver(*END_SIGNALS) as signals:
                async for number in signals:
                    self.ended_by = signal.Signals(number)
                    waiting.cancel()

    async def _lead(
        self, claim: LeadershipClaim | None = None, readiness: Readiness | None = None, standby: Standby | None = None
    ) -> None:
        options = self._options
        before = None if readiness is None else readiness.state.engine
        did = "is at work" if before is None else f"took over from engine {before.pid} and is at work"
        opened = open_store(
            self._db,
            takeover=options.takeover,
            durability=options.durability,
            claim=claim,
            accept_loss=options.accept_loss,
        )
        async with opened as store, anyio.create_task_group() as group:
            if standby is not None:
                standby.leave()
            self._watch_for_loss(store)
            state = _usable_state(readiness, store)
            host = Host(store, folder=Path.cwd(), allowed=self._allowed, is_program=False, state=state)
            group.start_soon(self._watch_signals, host)
            await group.start(self._live, host, group)
            if options.while_fd is not None:
                group.start_soon(
                    _call_when_closed, options.while_fd, partial(host.stop, "the program that started it has ended")
                )
            if self._load is not None and not is_loaded(host.state, self._load, self._digests):
                applied = await host.order(self._load, sender=sender_of("quarterdeck engine"))
                log.info("%s", applied.summary)
            collect_rarely()
            self._announce("engine", did)

    async def _live(self, host: Host, group: TaskGroup, *, task_status: TaskStatus[None]) -> None:
        try:
            await host.run(task_status=task_status)
        except (Deposed, FileLost) as loss:
            self._exit_on_loss(loss)
        group.cancel_scope.cancel()

    def _watch_for_loss(self, store: Store) -> None:
        """Watch for the loss of a store beside the loop, and end the process where the loop does not notice in time.

        An agent that blocks the loop makes the engine look hung, possibly permanently.
        """

        def watch() -> None:
            store.lease.wait_until_lost()
            time.sleep(UNSTICK_S)
            if store.lease.loss is not None:
                self._exit_on_loss(store.lease.loss)

        threading.Thread(target=watch, name="engine-loss", daemon=True).start()

    def _exit_on_loss(self, loss: StoreError) -> NoReturn:
        """Report why this engine lost its database, and exit at once.

        Nothing is left to write, agents in threads must not keep running beside the next engine, and closing a lost
        file would remove the write-ahead log now at its path, which belongs to another database.
        """
        failure = _loss_failure(loss, self._db)
        show_failure(failure, as_json=self._as_json)
        sys.stderr.flush()
        os._exit(failure.exit_status)

    async def _watch_signals(self, host: Host) -> None:
        with anyio.open_signal_receiver(*END_SIGNALS) as signals:
            async for number in signals:
                if self.ended_by is not None:
                    # Safe: the journal loses nothing, and a hung engine ends.
                    sys.stderr.flush()
                    os._exit(128 + number)
                self.ended_by = signal.Signals(number)
                log.info("%s: the engine stops; a second signal ends it at once", self.ended_by.name)
                await host.stop(self.ended_by.name)


def _loss_failure(loss: StoreError, db: Path) -> CommandFailure:
    if not isinstance(loss, Deposed):
        return CommandFailure("file_lost", str(loss))
    try:
        with Reader(db) as reader:
            now = reader.engine()
    except StoreError:
        now = None
    leader = "another engine" if now is None else f"engine {now.pid}"
    text = f"this engine, {os.getpid()}, was deposed: {leader} took over with token {loss.newer_token}"
    return CommandFailure(
        "deposed", f"{text}; it no longer writes, and nothing that was acknowledged is lost", "", WORK_FAILED
    )


async def _call_when_closed(descriptor: int, callback: Callable[[], Awaitable[None] | None]) -> None:
    """Call `callback` once a pipe is closed at its other end."""
    await anyio.wait_readable(descriptor)
    if (waited := callback()) is not None:
        await waited


def refuse_code_elsewhere(state: State, db: Path) -> None:
    """Refuse to run a team whose code exists only in the program that created it."""
    line = program_line(state)
    if line is not None:
        hint = f"or let its agents wait here: quarterdeck engine --without-code --db {quote_path(db)}"
        fail("code_elsewhere", line, hint, REFUSED)


def _usable_state(readiness: Readiness | None, store: Store) -> State | None:
    """Return the standby's state if it belongs to the same file and no event is missing."""
    if readiness is None or readiness.file_id != store.file_id:
        return None
    state = readiness.state
    return state if 0 < state.seq <= store.journal.last_seq else None
