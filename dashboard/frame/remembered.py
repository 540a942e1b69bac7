"""The newest events of one agent for a pane: those that were folded lately, and before them what the journal has."""

from collections import deque
from itertools import takewhile

from dashboard.deck import Deck
from dashboard.feed import entries_of
from dashboard.views.agent_pane import Seen, oldest_in_queue
from dashboard.views.event_log import Entry
from dashboard.views.header import ViewState
from dashboard.views.usage import is_metered
from store import Reader

KEPT = 160
"""Events of an agent that are kept."""
ENOUGH = 40
"""With so many of its events at hand the journal is not read."""
RESTS_MS = 300
"""The journal is read once the cursor has rested for so long: it is walked from its end."""


class Remembered:
    """Follows the agent that it is asked about; another one begins anew."""

    def __init__(self, deck: Deck) -> None:
        self._deck = deck
        self._agent_id = ""
        self._seq = 0
        """Events up to this one were looked at."""
        self._since_ms = 0
        self._entries: deque[Entry] = deque(maxlen=KEPT)
        self._read = False
        self._oldest: tuple[int, str, str] = (0, "", "")

    def of(self, agent_id: str, view: ViewState) -> list[Entry]:
        """Return its newest events, the newest first, as far as they are known now."""
        seq = view.state.seq
        if agent_id != self._agent_id or seq < self._seq:
            self._begin(agent_id, view)
        recent = reversed(view.recent)
        fresh = [one for one in takewhile(lambda entry: entry.seq > self._seq, recent) if one.seq <= seq]
        self._entries.extend(one for one in reversed(fresh) if _agent_of(one) == agent_id)
        self._seq = seq
        if not self._read and view.wall_ms - self._since_ms >= RESTS_MS:
            self._read = True
            if len(self._entries) < ENOUGH:
                self._read_before(agent_id, seq)
        return [*reversed(self._entries)]

    def seen(self, key: str, view: ViewState) -> Seen:
        """Return all that a pane about an agent or a supervisor is made from."""
        second, of_whom, oldest = self._oldest
        if (second, of_whom) != (view.now_ms // 1000, key):  # goes through every task
            oldest = oldest_in_queue(view.state, key) if view.counts.waiting_of[key] else ""
            self._oldest = (view.now_ms // 1000, key, oldest)
        return Seen(
            view.state, view.counts, view.live, view.names, view.activity, view.now_ms,
            view.activity.queues.of(key), oldest, is_metered(view.state),
        )  # fmt: skip

    def _begin(self, agent_id: str, view: ViewState) -> None:
        self._agent_id, self._seq, self._since_ms, self._read = agent_id, 0, view.wall_ms, False
        self._entries.clear()

    def _read_before(self, agent_id: str, seq: int) -> None:
        names = self._deck.feed.names

        def read(reader: Reader) -> list[Entry]:
            return entries_of(reader, reader.records_before(seq + 1, KEPT, agent_id=agent_id), names)

        def then(found: list[Entry]) -> None:
            if agent_id == self._agent_id and self._seq >= seq:
                later = [one for one in self._entries if one.seq > seq]
                self._entries = deque([*found, *later], maxlen=KEPT)
                self._deck.show()

        self._deck.read(read, then)


def _agent_of(entry: Entry) -> str | None:
    found: str | None = getattr(entry.event, "agent_id", None)
    return found
