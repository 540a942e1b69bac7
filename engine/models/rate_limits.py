"""Rate limits of providers: requests and tokens per minute and key, and pauses that a provider asked for.

A sliding window. Each request gets its time on arrival, first come, first served; the caller waits until then.
"""

from collections import defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass

WINDOW_MS = 60_000


@dataclass
class RequestSlot:
    """The time from which a request may be sent."""

    at_ms: int
    tokens: int
    """Tokens in and out: an estimate until the answer has come."""


class RateLimits:
    """The requests of the last minute, by key."""

    def __init__(self) -> None:
        self._turns: dict[Hashable, deque[RequestSlot]] = defaultdict(deque)
        self._paused_until_ms: dict[Hashable, int] = {}

    def turn(self, key: Hashable, tokens: int, now_ms: int, *, rpm: int | None, tpm: int | None) -> RequestSlot:
        """Reserve the next turn.

        Args:
            key: What the provider counts requests by.
            tokens: Estimated tokens in and out.
            rpm: Requests allowed per minute.
            tpm: Tokens allowed per minute; a larger request is sent alone.
        """
        turns = self._turns[key]
        while turns and turns[0].at_ms <= now_ms - WINDOW_MS:
            turns.popleft()
        # First come, first served: a small request does not overtake turns that were reserved before it.
        at_ms = max(now_ms, turns[-1].at_ms if turns else now_ms)
        if rpm is not None and len(turns) >= rpm:
            at_ms = max(at_ms, turns[-rpm].at_ms + WINDOW_MS)
        if tpm is not None:
            spent = 0
            for earlier_turn in reversed(turns):
                spent += earlier_turn.tokens
                if spent + tokens > tpm:
                    at_ms = max(at_ms, earlier_turn.at_ms + WINDOW_MS)
                    break
        turn = RequestSlot(at_ms, tokens)
        turns.append(turn)
        return turn

    def give_back(self, key: Hashable, turn: RequestSlot) -> None:
        """Release a turn that was not used."""
        if turn in self._turns[key]:
            self._turns[key].remove(turn)

    def pause(self, key: Hashable, until_ms: int) -> None:
        """Send no requests of a key until a time."""
        self._paused_until_ms[key] = max(until_ms, self._paused_until_ms.get(key, 0))

    def paused_until_ms(self, key: Hashable) -> int:
        """Return the end of the pause; a past time without one."""
        return self._paused_until_ms.get(key, 0)
