"""Commands on their way: from the inbox and from this process, and their outcomes back to who sent them."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass

import anyio
from pydantic import JsonValue

from engine.core.effects import Acknowledge
from engine.core.state import Outcome
from engine.errors import CommandRefusedError, EngineError
from engine.runtimes.slot import Slot
from store import CommandOutcome, StoreError
from store.inbox import Inbox

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Applied:
    """What a command came to."""

    seq: int
    """The event that says so."""
    summary: str
    """What it did, in a few words."""
    result: dict[str, JsonValue]


class Orders:
    """Who waits for the outcome of which command.

    Args:
        inbox: Where those of other processes stand.
        later: Calls something in a while: what could not be written is tried again then.
    """

    def __init__(self, inbox: Inbox, later: Callable[[Callable[[], None]], object]) -> None:
        self._inbox = inbox
        self._later = later
        self._slots: dict[str, list[Slot[Applied]]] = {}
        self._from_inbox: set[str] = set()
        self._outcomes: list[CommandOutcome] = []
        self.settled = anyio.Event()
        """Set when outcomes were written since the last look; who waits for room makes a new one."""
        self._news = anyio.Event()

    def expect(self, command_id: str) -> Slot[Applied]:
        """Return what will hold the outcome of a command of this process."""
        slot: Slot[Applied] = Slot()
        self._slots.setdefault(command_id, []).append(slot)
        return slot

    def forget(self, command_id: str) -> None:
        """Wait no more for a command."""
        slots = [slot for slot in self._slots.get(command_id, []) if not slot.done]
        if slots:
            self._slots[command_id] = slots
        else:
            self._slots.pop(command_id, None)

    def take(self, command_id: str) -> bool:
        """Note a command of the inbox; False when it is on its way already."""
        if command_id in self._from_inbox:
            return False
        self._from_inbox.add(command_id)
        return True

    def acknowledge(self, effect: Acknowledge) -> None:
        """Tell the sender of a command what became of it."""
        for slot in self._slots.pop(effect.command_id, []):
            if effect.applied:
                slot.put(Applied(effect.seq, effect.summary, effect.result))
            else:
                slot.fail(CommandRefusedError(effect.code or "refused", effect.reason or "refused"))
        if effect.command_id in self._from_inbox:
            said: dict[str, JsonValue] = (
                {"summary": effect.summary, **effect.result} if effect.applied else {"code": effect.code}
            )
            self._settle(effect.command_id, effect.applied, effect.seq, effect.reason, said)

    def repeat(self, command_id: str, outcome: Outcome) -> None:
        """Answer a command that came a second time; it is not carried out again."""
        applied = outcome.status == "applied"
        for slot in self._slots.pop(command_id, []):
            if applied:
                slot.put(Applied(outcome.seq, "was carried out before", {}))
            else:
                slot.fail(CommandRefusedError("refused", outcome.reason or "refused"))
        if command_id in self._from_inbox:
            self._settle(command_id, applied, outcome.seq, outcome.reason, {})

    def fail_all(self, error: EngineError) -> None:
        """Tell everybody in this process that no outcome will come."""
        for slots in self._slots.values():
            for slot in slots:
                slot.fail(error)
        self._slots.clear()

    async def run(self) -> None:
        """Write outcomes into the inbox as they come, for as long as the engine runs."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            await self.write()

    async def write(self) -> None:
        """Write the outcomes that are not written yet; what cannot be written now is tried again in a while."""
        outcomes, self._outcomes = self._outcomes, []
        if not outcomes and not self._inbox.has_kept:
            return
        try:
            await self._inbox.settle(outcomes)
        except StoreError as error:
            log.warning("outcomes of commands cannot be written yet: %s", error)
        if self._inbox.has_kept:
            self._later(self._try_again)
        self._from_inbox.difference_update(outcome.id for outcome in outcomes)
        self.settled.set()

    def _try_again(self) -> None:
        self._news.set()

    def _settle(self, command_id: str, applied: bool, seq: int, reason: str | None, said: dict[str, JsonValue]) -> None:
        state = "applied" if applied else "refused"
        result = json.dumps(said).encode()
        self._outcomes.append(CommandOutcome(command_id, state, seq, reason, result))  # type: ignore[arg-type]
        self._news.set()
