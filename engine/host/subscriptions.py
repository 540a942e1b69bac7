"""Who listens to events in this process.

A listener that is too slow is dropped, and told so; it never slows the loop.
"""

from collections.abc import Sequence
from types import TracebackType

import anyio

from engine.core.events import Event
from engine.errors import SubscriberTooSlow

BUFFERED = 10_000
"""How many events a listener may lie behind, by default."""


class Subscription:
    """Events in order, each with its seq, from the moment of subscribing on; iterate over it.

    It ends when the engine does.
    """

    def __init__(self, listeners: "Listeners", buffered: int) -> None:
        self._listeners = listeners
        self._send, self._receive = anyio.create_memory_object_stream[tuple[int, Event]](buffered)
        self._dropped_after: int | None = None

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> tuple[int, Event]:
        """Return the next event.

        Raises:
            SubscriberTooSlow: If it lay too far behind; what was buffered by then came first.
        """
        try:
            return await self._receive.receive()
        except anyio.EndOfStream:
            if self._dropped_after is not None:
                raise SubscriberTooSlow(self._dropped_after) from None
            raise StopAsyncIteration from None

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Listen no more."""
        self._listeners.remove(self)
        self._send.close()
        self._receive.close()

    def push(self, first_seq: int, events: Sequence[Event]) -> bool:
        """Take events; False when there is no room, and it is dropped."""
        for seq, event in enumerate(events, first_seq):
            try:
                self._send.send_nowait((seq, event))
            except anyio.WouldBlock:
                self._dropped_after = seq - 1
                self._send.close()
                return False
        return True

    def end(self) -> None:
        """Let it end after what is buffered."""
        self._send.close()


class Listeners:
    """All subscriptions of one engine."""

    def __init__(self) -> None:
        self._all: list[Subscription] = []

    def add(self, buffered: int) -> Subscription:
        """Return a new subscription."""
        subscription = Subscription(self, buffered)
        self._all.append(subscription)
        return subscription

    def remove(self, subscription: Subscription) -> None:
        """Forget one."""
        if subscription in self._all:
            self._all.remove(subscription)

    def tell(self, first_seq: int, events: Sequence[Event]) -> None:
        """Hand events to all; those without room are dropped."""
        if self._all:
            self._all = [one for one in self._all if one.push(first_seq, events)]

    def end(self) -> None:
        """Let all of them end."""
        for subscription in self._all:
            subscription.end()
        self._all = []
