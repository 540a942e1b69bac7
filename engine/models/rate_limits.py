"""Rate limits of providers: requests and tokens a minute for each key, and pauses that a provider asked for.

Each request is given its time on arrival, first come, first served; the caller waits until then.
"""

from collections import defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass

WINDOW_MS = 60_000


@dataclass
class Turn:
    """The moment from which a request may be sent."""

    at_ms: int
    tokens: int
    """What it reads and writes: about, until it is known."""


class RateLimits:
    """The requests of the last minute, by key."""

    def __init__(self) -> None:
        self._turns: dict[Hashable, deque[Turn]] = defaultdict(deque)
        self._paused_until_ms: dict[Hashable, int] = {}

    def turn(self, key: Hashable, tokens: int, now_ms: int, *, rpm: int | None, tpm: int | None) -> Turn:
        """Take the next turn.

        Args:
            key: Of whom the provider counts requests.
            tokens: What the request reads and writes, about.
            now_ms: The time.
            rpm: Requests that it allows in a minute.
            tpm: Tokens that it allows in a minute; a request of more goes alone.
        """
        turns = self._turns[key]
        while turns and turns[0].at_ms <= now_ms - WINDOW_MS:
            turns.popleft()
        at_ms = max(now_ms, turns[-1].at_ms if turns else now_ms)
        if rpm is not None and len(turns) >= rpm:
            at_ms = max(at_ms, turns[-rpm].at_ms + WINDOW_MS)
        if tpm is not None:
            spent = 0
            for one in reversed(turns):
                spent += one.tokens
                if spent + tokens > tpm:
                    at_ms = max(at_ms, one.at_ms + WINDOW_MS)
                    break
        turn = Turn(at_ms, tokens)
        turns.append(turn)
        return turn

    def give_back(self, key: Hashable, turn: Turn) -> None:
        """Return a turn that was not used, for another request."""
        if turn in self._turns[key]:
            self._turns[key].remove(turn)

    def pause(self, key: Hashable, until_ms: int) -> None:
        """Send nothing until a moment."""
        self._paused_until_ms[key] = max(until_ms, self._paused_until_ms.get(key, 0))

    def paused_until_ms(self, key: Hashable) -> int:
        """Return until when nothing is sent; a past time where no pause was asked for."""
        return self._paused_until_ms.get(key, 0)
