"""Pending commands of the inbox and of this process, and the delivery of their outcomes.

Any process that can write the file can write a row of the inbox, so each row is checked: a row that is not a command is
refused in one line, and the refusal is journaled.
"""

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import anyio

from engine.core.commands import URGENT_KINDS, Command, LoadTeam, Order
from engine.core.effects import Acknowledge
from engine.core.encoding.codec import decode_command
from engine.core.events import CommandRefused
from engine.core.records.records import JsonValue
from engine.core.state import Outcome
from engine.errors import CommandRefusedError, EngineError
from engine.host.batch import DirectEvent
from engine.host.catalogue_entries import NamedEntries
from engine.host.finished_runs import FinishedRunFields
from engine.host.trusting import Trusting
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.services import Services
from engine.runtimes.values import clean, one_line
from engine.trusted_code.trust import TrustError
from store import CommandOutcome, CommandRow, StoreError
from store.inbox import Inbox

MAX_PENDING = 500
"""How many commands of the inbox may be pending at once; the others wait in the file, which bounds memory."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome of a command."""

    seq: int
    """Number of its `CommandApplied` event."""
    summary: str
    """A short description of what it did."""
    result: dict[str, JsonValue]


class PendingCommands:
    """Pending commands and the waiters for their outcomes; `later` schedules another try to write those."""

    def __init__(self, inbox: Inbox, later: Callable[[Callable[[], None]], object]) -> None:
        self._inbox = inbox
        self._later = later
        self._waiting: dict[str, list[Pending[Applied]]] = {}
        self._from_inbox: set[str] = set()
        self._outcomes: list[CommandOutcome] = []
        self.settled = anyio.Event()
        """Set when outcomes were written; a waiter for room replaces it."""
        self._news = anyio.Event()

    def expect(self, command_id: str) -> Pending[Applied]:
        """Return the future outcome of a command of this process."""
        pending: Pending[Applied] = Pending()
        self._waiting.setdefault(command_id, []).append(pending)
        return pending

    def forget(self, command_id: str) -> None:
        """Stop waiting for a command."""
        waiting = [pending for pending in self._waiting.get(command_id, []) if not pending.done]
        if waiting:
            self._waiting[command_id] = waiting
        else:
            self._waiting.pop(command_id, None)

    def take(self, command_id: str) -> bool:
        """Register a command of the inbox; False if it is pending already."""
        if command_id in self._from_inbox:
            return False
        self._from_inbox.add(command_id)
        return True

    def acknowledge(self, effect: Acknowledge) -> None:
        """Report the outcome of a command to its sender."""
        for pending in self._waiting.pop(effect.command_id, []):
            if effect.applied:
                pending.put(Applied(effect.seq, effect.summary, effect.result))
            else:
                pending.fail(CommandRefusedError(effect.code or "refused", effect.reason or "refused"))
        if effect.command_id in self._from_inbox:
            details: dict[str, JsonValue] = (
                {"summary": effect.summary, **effect.result} if effect.applied else {"code": effect.code}
            )
            self._settle(effect.command_id, effect.applied, effect.seq, effect.reason, details)

    def repeat(self, command_id: str, outcome: Outcome) -> None:
        """Answer a duplicate command with the outcome of the first one; it is not carried out again."""
        # The state keeps only the status of past commands, so the result of the first time is not repeated.
        applied = outcome.status == "applied"
        for pending in self._waiting.pop(command_id, []):
            if applied:
                pending.put(Applied(outcome.seq, "was carried out before", {}))
            else:
                pending.fail(CommandRefusedError("refused", outcome.reason or "refused"))
        if command_id in self._from_inbox:
            self._settle(command_id, applied, outcome.seq, outcome.reason, {})

    def fail_all(self, error: EngineError) -> None:
        """Fail all waiters of this process: no outcome will come."""
        for waiting in self._waiting.values():
            for pending in waiting:
                pending.fail(error)
        self._waiting.clear()

    async def run(self) -> None:
        """Write outcomes into the inbox as they come, for as long as the engine runs."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            await self.write()

    async def write(self) -> None:
        """Write pending outcomes; after a failure, try again later."""
        outcomes, self._outcomes = self._outcomes, []
        if not outcomes and not self._inbox.has_unwritten:
            return
        try:
            await self._inbox.settle(outcomes)
        except StoreError as error:
            log.warning("outcomes of commands cannot be written yet: %s", error)
        if self._inbox.has_unwritten:
            self._later(self._news.set)
        # Also after a failed write: the inbox keeps those outcomes, and does not offer their rows again.
        self._from_inbox.difference_update(outcome.id for outcome in outcomes)
        self.settled.set()

    def _settle(
        self, command_id: str, applied: bool, seq: int, reason: str | None, details: dict[str, JsonValue]
    ) -> None:
        state = "applied" if applied else "refused"
        result = json.dumps(details).encode()
        self._outcomes.append(CommandOutcome(command_id, state, seq, reason, result))  # type: ignore[arg-type]
        self._news.set()


class Intake:
    """Reads commands from the inbox as they arrive, until it is closed.

    Args:
        trusting: Decides which code in a command may be imported.
        entries: Looks up the entries of the catalogue that a command names.
        finished_fields_for: Returns the fields of an order that come from finished runs that its command names.
        flush: Waits until decided events are on disk; returns False if they were dropped.
        put: Queues a message for the core.
    """

    def __init__(
        self,
        services: Services,
        inbox: Inbox,
        *,
        orders: PendingCommands,
        trusting: Trusting,
        entries: NamedEntries,
        finished_fields_for: Callable[[Command], Awaitable[FinishedRunFields]],
        flush: Callable[[], Awaitable[bool]],
        put: Callable[[Order | DirectEvent], None],
    ) -> None:
        self._inbox = inbox
        self._orders = orders
        self._trusting = trusting
        self._entries = entries
        self._services = services
        self._finished_fields_for = finished_fields_for
        self._flush = flush
        self._put = put
        self._scope = anyio.CancelScope()

    def close(self) -> None:
        """Stop taking commands; those in the inbox wait for the next engine."""
        self._scope.cancel()

    async def watch(self) -> None:
        """Feed commands to the loop for the life of the engine."""
        with self._scope:
            async with self._inbox.arrivals() as arrivals:
                while True:
                    # Reset before the read, so that an outcome written after it wakes the wait below.
                    self._orders.settled = anyio.Event()
                    rows = await self._inbox.pending(MAX_PENDING, priority_kinds=URGENT_KINDS)
                    for row in rows:
                        if self._orders.take(row.id):
                            await self._take(row)
                    if len(rows) >= MAX_PENDING:
                        await self._orders.settled.wait()
                    else:
                        await arrivals.wait()

    async def _take(self, row: CommandRow) -> None:
        if row.fault:
            await self._refuse(row, row.fault)
            return
        try:
            command = decode_command(row.kind, row.body)
            with self._services.clock.held():
                command, origin = await self._entries.fill_in_spec(command)
                granted, finished_fields = await self._find_grants(command), await self._finished_fields_for(command)
        except CommandRefusedError as refused:
            await self._refuse(row, refused.reason, refused.code)
            return
        except (ValueError, TrustError) as error:
            await self._refuse(row, one_line(error))
            return
        order = Order(
            id=row.id,
            command=command,
            sender=row.sender,
            role=row.role,
            granted=granted,
            origin=origin,
            **finished_fields,
        )
        self._put(order)

    async def _find_grants(self, command: Command) -> dict[str, str]:
        if not (isinstance(command, LoadTeam) or self._trusting.references_of(command)):
            return {}
        return await self._services.threads.run(partial(self._trusting.grants_of_inbox, command))

    async def _refuse(self, row: CommandRow, reason: str, code: str = "bad_command") -> None:
        earlier_outcome = self._services.state.commands.get(row.id)
        if earlier_outcome is not None:
            # The journal has the outcome and the inbox does not: an earlier engine ended in between, or the outcome is
            # being written now.
            if await self._flush():
                self._orders.repeat(row.id, earlier_outcome)
            return
        refused = CommandRefused(
            at_ms=self._services.clock.now_ms(),
            command_id=row.id,
            command=clean(row.kind)[:80],
            sender=clean(row.sender),
            role=clean(row.role),
            code=code,
            reason=reason,
        )
        self._put(DirectEvent(refused))
