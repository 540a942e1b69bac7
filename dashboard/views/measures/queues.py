"""Queue lengths in the last minutes: a sample per second for every member with waiting tasks."""

from collections import Counter, deque
from collections.abc import Mapping, Sequence

from engine.core.queries.team.tree import supervisors_from
from engine.core.state import State

EVERY_MS = 1_000
SAMPLES = 120


def waiting_of(state: State) -> Counter[str]:
    """Return the number of ready tasks by agent (its own queue) and by supervisor (all queues at and below it)."""
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


def lengths_by_sample(lengths: Sequence[tuple[int, int]], now_ms: int, each_ms: int, samples: int) -> list[int]:
    """Return the length of a queue in samples up to now; a missing one repeats the previous one, -1 before the first.

    Args:
        lengths: UTC milliseconds and length, the oldest first.
    """
    result, left = [-1] * samples, samples
    first = now_ms // each_ms - samples + 1
    for at_ms, length in reversed(lengths):
        place = max(0, at_ms // each_ms - first)
        if place < left:
            result[place:left] = [length] * (left - place)
            left = place
        if not left:
            break
    return result


class QueueHistory:
    """Samples of the queue lengths of agents and supervisors."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, dict[str, int]]] = deque(maxlen=SAMPLES)

    def record(self, waiting_of: Mapping[str, int], now_ms: int) -> None:
        """Take a sample, once per second; drop samples after `now_ms`, which time travel may have left."""
        second = now_ms // EVERY_MS
        while self._samples and self._samples[-1][0] > second:
            self._samples.pop()
        if not self._samples or self._samples[-1][0] < second:
            self._samples.append((second, {member_id: length for member_id, length in waiting_of.items() if length}))

    def samples_of(self, member_id: str) -> list[tuple[int, int]]:
        """Return the samples of one queue, as UTC milliseconds and length, the oldest first."""
        return [(second * EVERY_MS, lengths.get(member_id, 0)) for second, lengths in self._samples]

    def lengths_of(self, member_id: str) -> list[int]:
        """Return the length of one queue by second, the oldest first; a missing sample repeats the previous one."""
        if not self._samples:
            return []
        first, last = self._samples[0][0], self._samples[-1][0]
        samples = min(SAMPLES, last - first + 1)
        return lengths_by_sample(self.samples_of(member_id), last * EVERY_MS, EVERY_MS, samples)
