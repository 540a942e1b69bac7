"""A bounded LRU cache of compressed states of past moments."""

from bisect import bisect_right
from collections import OrderedDict

from store.journals.compression import compress, decompress

MAX_BYTES = 16_000_000
"""Limit of all compressed states; 1,000 agents with 10,000 tasks take 0.4 MB."""


class Checkpoints:
    """Encoded states by seq."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._packed: OrderedDict[int, bytes] = OrderedDict()
        self._fresh: dict[int, bytes] = {}
        self._bytes = 0

    def add(self, seq: int, body: bytes) -> None:
        """Add the state after an event; `pack` compresses it later."""
        self._fresh[seq] = body

    def nearest(self, seq: int) -> tuple[int, bytes] | None:
        """Return the newest cached state up to an event, with its seq."""
        seqs = sorted([*self._packed, *self._fresh])
        place = bisect_right(seqs, seq)
        if not place:
            return None
        nearest_seq = seqs[place - 1]
        if nearest_seq in self._fresh:
            return nearest_seq, self._fresh[nearest_seq]
        self._packed.move_to_end(nearest_seq)
        body = decompress(self._packed[nearest_seq])
        assert body is not None  # packed here
        return nearest_seq, body

    def pack(self) -> None:
        """Compress what was added; evict the least recently used beyond the limit."""
        while self._fresh:
            seq, body = self._fresh.popitem()
            self._bytes += len(stored := compress(body)) - len(self._packed.pop(seq, b""))
            self._packed[seq] = stored
        while self._bytes > self._max_bytes:
            self._bytes -= len(self._packed.popitem(last=False)[1])
