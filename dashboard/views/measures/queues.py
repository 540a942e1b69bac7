"""How long queues were in the last minutes: a sample a second of every member for which something waited."""

from collections import Counter, deque
from collections.abc import Mapping

from engine.core.queries.team.tree import supervisors_from
from engine.core.state import State

EVERY_MS = 1_000
SAMPLES = 120


def waiting_of(state: State) -> Counter[str]:
    """Return the number of ready tasks by agent (its own queue) and by supervisor (all queues of it and below it)."""
    out: Counter[str] = Counter()
    own: Counter[str] = Counter()
    for queue in state.queues.values():
        if length := queue.ready:
            own[queue.supervisor_id] += length
            if len(queue.agents) == 1:
                out[queue.agents[0]] += length
    for supervisor_id, length in own.items():
        for supervisor in supervisors_from(state, supervisor_id):
            out[supervisor.id] += length
    return out


class QueueHistory:
    """Queue lengths of agents and supervisors, as they were looked at."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, dict[str, int]]] = deque(maxlen=SAMPLES)

    def record(self, waiting_of: Mapping[str, int], now_ms: int) -> None:
        """Take a sample, once a second; what lies in the future of a moment that is looked at is forgotten."""
        second = now_ms // EVERY_MS
        while self._samples and self._samples[-1][0] > second:
            self._samples.pop()
        if not self._samples or self._samples[-1][0] < second:
            self._samples.append((second, {member_id: length for member_id, length in waiting_of.items() if length}))

    def samples_of(self, member_id: str) -> list[tuple[int, int]]:
        """Return when one queue was looked at, in UTC milliseconds, and how long it was, the oldest first."""
        return [(second * EVERY_MS, lengths.get(member_id, 0)) for second, lengths in self._samples]

    def lengths_of(self, member_id: str) -> list[int]:
        """Return the lengths of one queue, a sample a second, the oldest first; where nobody looked, the one before."""
        if not self._samples:
            return []
        lengths: list[int] = []
        first = max(self._samples[0][0], self._samples[-1][0] - SAMPLES + 1)
        samples_by_second = dict(self._samples)
        for second in range(first, self._samples[-1][0] + 1):
            sample = samples_by_second.get(second)
            lengths.append(sample.get(member_id, 0) if sample is not None else lengths[-1] if lengths else 0)
        return lengths
