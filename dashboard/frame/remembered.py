"""The newest events of one agent for a pane: those folded recently, then older ones read from the journal."""

from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice

from dashboard.deck.live_screen import LiveScreen
from dashboard.reading.feed import entries_of
from dashboard.views.event_log import Entry
from dashboard.views.facts.agent_pane import PaneData, oldest_in_queue, oldest_of_queues
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import Names
from store import Reader

MAX_KEPT = 160
"""Number of events kept of an agent."""
ENOUGH_EVENTS = 40
"""Number of events from which on the journal is not read, or not read further."""
RESTS_MS = 300
"""How long the cursor rests before the journal is read backwards, in milliseconds."""
AT_ONCE, WALKED_AT_ONCE = 5, 10_000
"""Events of the agent, and of the journal, that are read before checking whether the cursor has moved."""
WALKS_MS = 1_000
"""Shortest time between two searches for the oldest task of every queue, in milliseconds."""
MAX_DECODED_BYTES = 500_000
"""Decoding stops after this many bytes: a call with thousands of tasks would delay keys."""


class RecentEvents:
    """Follows one agent; a request for another agent starts over."""

    def __init__(self, screen: LiveScreen) -> None:
        self._screen = screen
        self._agent_id = ""
        self._seq = 0
        """Events up to this seq have been handled."""
        self._since_ms = 0
        self._entries: deque[Entry] = deque(maxlen=MAX_KEPT)
        self._read = self._reading = False
        self._oldest: Mapping[str, str] = {}
        self._walked_ms = 0

    def entries_of_agent(self, agent_id: str, view: ViewState) -> list[Entry]:
        """Return the events of an agent that are known now, the newest first."""
        seq = view.state.seq
        if agent_id != self._agent_id or seq < self._seq:
            self._begin(agent_id, view)
        recent, since = view.recent, self._seq
        newer = recent[-1].seq - since if recent else 0  # they have no gaps; two thousand when the cursor moves
        fresh = [
            entry
            for entry in islice(reversed(recent), max(0, newer))
            if getattr(entry.event, "agent_id", None) == agent_id and since < entry.seq <= seq
        ]
        self._entries.extend(reversed(fresh))
        self._seq = seq
        if not self._read and not self._reading and view.has_passed(self._since_ms + RESTS_MS):
            self._read = True
            if len(self._entries) < ENOUGH_EVENTS:
                self._read_before(agent_id, seq)
        return [*reversed(self._entries)]

    def pane_data(self, key: str, view: ViewState) -> PaneData:
        """Return the data of a pane about an agent or a supervisor."""
        state, waiting = view.state, view.counts.waiting_of[key]
        if waiting and abs(view.now_ms - self._walked_ms) >= WALKS_MS:  # goes through every task: not at each key
            self._walked_ms, self._oldest = view.now_ms, oldest_of_queues(state)
        oldest = oldest_in_queue(state, key, self._oldest) if waiting else ""
        return PaneData(
            view.state,
            view.counts,
            view.live,
            view.names,
            view.activity,
            view.now_ms,
            view.activity.queues.lengths_of(key),
            oldest,
            view.can_write,
        )

    def _begin(self, agent_id: str, view: ViewState) -> None:
        self._agent_id, self._seq, self._since_ms, self._read = agent_id, 0, view.wall_ms, False
        self._entries.clear()

    def _read_before(self, agent_id: str, seq: int) -> None:
        self._reading = True

        def receive(entries: list[Entry]) -> None:
            self._reading = False
            if agent_id == self._agent_id and self._seq >= seq:
                later = [entry for entry in self._entries if entry.seq > seq]
                self._entries = deque([*entries, *later], maxlen=MAX_KEPT)
                self._screen.deck.show()

        names = self._screen.deck.feed.names
        self._screen.deck.background.read(
            lambda reader: read_agent_events(
                reader, names, agent_id, seq, should_continue=lambda: agent_id == self._agent_id
            ),
            receive,
            on_failure=self._handle_read_failure,
        )

    def _handle_read_failure(self) -> None:
        """Read again after a while."""
        self._reading = self._read = False
        self._since_ms = self._screen.deck.view.wall_ms


def read_agent_events(
    reader: Reader, names: Names, agent_id: str, seq: int, *, should_continue: Callable[[], bool] = lambda: True
) -> list[Entry]:
    """Return the newest events of an agent up to one, about `ENOUGH` of them, the newest last.

    Nothing finds them but walking, which takes seconds in a long journal: it ends once `should_continue` says so.
    """
    entries: list[Entry] = []
    decoded_bytes = 0
    while seq > 0 and len(entries) < ENOUGH_EVENTS and decoded_bytes < MAX_DECODED_BYTES and should_continue():
        low = max(0, seq - WALKED_AT_ONCE)
        records = reader.records_before(seq + 1, AT_ONCE, after_seq=low, agent_id=agent_id)
        entries = [*entries_of(reader, records, names), *entries]
        decoded_bytes += sum(len(record.body) for record in records)
        seq = records[0].seq - 1 if len(records) == AT_ONCE else low
    return entries
