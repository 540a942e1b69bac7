"""The slot of an attempt: held while one of its steps runs, and released while the attempt waits for others.

What the core decides of it comes back by `resumed`; `Work` says when others are asked.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from engine.clock import Clock
from engine.core.commands import Command
from engine.core.effects import StartAttempt
from engine.core.records import JsonValue
from engine.core.signals import Signal, SlotAsked, StepsEnded
from engine.core.state import ParkedFor, State
from engine.core.values import StoredValue
from engine.models.records import Models
from engine.runtimes.pending import Pending
from engine.runtimes.reservations import Reservations
from engine.runtimes.threads import Threads
from engine.runtimes.time_limits import TimeLimit
from engine.stream.bus import Bus


class Services(Protocol):
    """What the host does for attempts, and for its own parts."""

    clock: Clock
    threads: Threads
    models: Models
    reserved: Reservations
    bus: Bus

    @property
    def state(self) -> State:
        """The state of the moment, for reading."""

    def spawn(self, function: Callable[..., Any], /, *args: object) -> None:
        """Run `function` with `args` in a task of its own, for as long as the engine runs."""

    def fail(self, error: Exception) -> None:
        """Stop the engine with an error: the journal is unreadable, or the engine has a bug."""

    def signal(self, signal: Signal, then: Callable[[Exception | None], None] | None = None) -> None:
        """Report to the core; `then` is called once it is on disk, or with the defect that it ran into."""

    async def order(
        self, command: Command, *, sender: str | None = None, role: str = "operator", id: str | None = None
    ) -> object:
        """Carry out a command; raises `CommandRefusedError` if it is not."""

    def may_act(self) -> bool:
        """Tell whether the engine still holds its lease; a deposed engine starts nothing more and stops."""

    async def text(self, value: StoredValue) -> JsonValue:
        """Return a value that the state holds by reference."""

    def live(self, key: str, text: str) -> None:
        """Show a text to readers at once; an empty one removes it."""

    def later(self, due_ms: int, call: Callable[[], None]) -> Callable[[], None]:
        """Schedule `call`; returns a function that cancels it."""


def of_attempt(effect: StartAttempt) -> dict[str, Any]:
    """Return the fields by which a signal names the attempt that it is about."""
    return {"task_id": effect.task_id, "attempt": effect.attempt, "generation": effect.generation}


class _Step:
    """A step of an attempt; it does not run while it waits for others."""

    waits = 0
    """How many things it waits for now."""
    people = 0
    """How many of these waits are for people."""
    limit: TimeLimit | None = None
    """How long it may run."""


@dataclass(eq=False, frozen=True, slots=True)
class _Wait:
    """Something besides delegated work that an attempt waits for."""

    why: ParkedFor
    until_ms: int | None


_FOR_PEOPLE = ("ask", "approval")
_FOR_CALLS = _Wait("call", None)
_STEP: ContextVar[_Step | None] = ContextVar("step", default=None)
"""The step that the current code runs in."""


class SlotHolder:
    """What an attempt does about its slot."""

    effect: StartAttempt
    over: bool
    stopping: bool
    raise_if_stopping: Callable[[], None]
    _services: Services
    _calls: dict[str, Pending[Any]]
    _slots: dict[int, Pending[Any]]
    _waiting_slot: Callable[[], Pending[Any]]
    now_ms: Callable[[], int]
    _has_slot = True
    _parked_since_ms = 0
    _parked_ms = 0
    _people = 0
    """Waits for people that are not over: after each it takes a slot again."""
    _time_limit: TimeLimit | None = None
    """How long it may take."""

    def __init__(self) -> None:
        super().__init__()
        self._wanting: dict[int, Pending[None]] = {}
        """Steps that wait for a slot to begin, or to go on."""
        self._running: set[_Step] = set()
        self._parks: dict[_Wait, None] = {}
        """What it waits for besides its calls, the first one first."""

    @asynccontextmanager
    async def step(self) -> AsyncIterator[None]:
        """Run what is inside as a step, once the attempt holds a slot, which it keeps until then.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop while it waits for one.
        """
        await self._slot()
        step = _Step()
        self._running.add(step)
        self._follow_limit()
        outer = _STEP.set(step)
        try:
            yield
        finally:
            _STEP.reset(outer)
            self._running.discard(step)
            self._give_back()
            self._follow_limit()

    @asynccontextmanager
    async def parked(self, why: ParkedFor, until_ms: int | None = None) -> AsyncIterator[None]:
        """Wait for what is inside without a slot, while nothing else of the attempt runs; then take one again.

        An attempt that still waits for something else goes on without one, and takes one with its next step.

        Args:
            why: What it waits for.
            until_ms: When that ends by itself, on the engine's clock.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop while it waits for a slot.
        """
        wait = _Wait(why, until_ms)
        with self._unlimited() if why in _FOR_PEOPLE else nullcontext():
            async with self._aside():
                self._parks[wait] = None
                try:
                    self._give_back()
                    yield
                finally:
                    del self._parks[wait]
            if not self._waits_for():
                self.raise_if_stopping()
                await self._slot()

    @contextmanager
    def _unlimited(self) -> Iterator[None]:
        """Wait for a person: no limit counts the time of the step that does, nor of the attempt if nothing runs."""
        step = _STEP.get()
        self._people += 1
        if step is not None:
            step.people += 1
            if step.limit is not None:
                step.limit.stand_still()
        self._follow_limit()
        try:
            yield
        finally:
            self._people -= 1
            if step is not None:
                step.people -= 1
                if step.limit is not None and not step.people:
                    step.limit.go_on()
            self._follow_limit()

    def _follow_limit(self) -> None:
        """Let the limit of the attempt stand still while it waits for a person and no step of it runs."""
        if self._time_limit is None or self.over:
            return
        if self._people and not self._running:
            self._time_limit.stand_still()
        else:
            self._time_limit.go_on()

    @contextmanager
    def _step_limited(self, limit: TimeLimit) -> Iterator[None]:
        """Let a limit count the time of the step that this is part of."""
        step = _STEP.get()
        if step is not None:
            step.limit = limit
        limit.go_on()
        try:
            yield
        finally:
            limit.stand_still()
            if step is not None:
                step.limit = None

    @asynccontextmanager
    async def _aside(self) -> AsyncIterator[None]:
        """Let the step that this is part of, if it is, wait too: then it does not run."""
        step = _STEP.get()
        if step is None or (step not in self._running and not step.waits):
            yield
            return
        step.waits += 1
        self._running.discard(step)
        self._follow_limit()
        try:
            yield
            if step.waits == 1:
                await self._slot()
        finally:
            step.waits -= 1
            if not step.waits:
                self._running.add(step)
            self._follow_limit()

    async def _slot(self) -> None:
        """Wait until the attempt holds a slot."""
        if self._has_slot:
            return
        slot: Pending[None] = self._waiting_slot()
        if not self._wanting:
            self._services.signal(SlotAsked(**of_attempt(self.effect)))
        self._slots[id(slot)] = self._wanting[id(slot)] = slot
        try:
            await slot.wait()
        finally:
            del self._slots[id(slot)], self._wanting[id(slot)]

    def resumed(self) -> None:
        """Let steps begin that waited for a slot; by the host, when the attempt has one."""
        self._hold_slot(True)
        for slot in self._wanting.values():
            slot.put(None)
        self._give_back()

    def _give_back(self) -> None:
        """Say that nothing runs any more, where the attempt waits."""
        wait = self._waits_for()
        if wait is not None and self._has_slot and not self._is_busy and not self.over:
            self._hold_slot(False)
            self._services.signal(StepsEnded(**of_attempt(self.effect), why=wait.why, until_ms=wait.until_ms))

    def _waits_for(self) -> _Wait | None:
        """Return what the attempt waits for; None where it waits for nothing, or is asked to stop."""
        if self.stopping:
            return None
        if not all(one.done for one in self._calls.values()):
            return _FOR_CALLS
        return next(iter(self._parks), None)

    @property
    def _is_busy(self) -> bool:
        """True while a step runs or is about to begin."""
        return bool(self._running or self._wanting)

    def _hold_slot(self, holds: bool) -> None:
        """Update whether it holds a slot, and the time without one."""
        now_ms = self.now_ms()
        if holds != self._has_slot:
            self._parked_ms += now_ms - self._parked_since_ms if holds else 0
            self._has_slot, self._parked_since_ms = holds, now_ms
