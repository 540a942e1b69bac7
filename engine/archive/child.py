"""The child process that reads and checks an archive, with limits on memory and time.

Run as `python -P -m engine.archive.child MEMORY_BYTES CPU_S PATH SHA256 AT_WORK`; it prints a line of JSON for each
piece of the archive, or the refusal. It exits when its standard input ends.
"""

import contextlib
import os
import resource
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec

from engine.archive.cutting import Piece, Refusal, pieces
from engine.archive.reading import read_archive
from engine.errors import ImportRefused

_NICE = 5
"""A lower priority than the engine's, which must not be slowed by a large archive."""


def set_own_limits(memory_bytes: int, cpu_s: int) -> None:
    """Set the limits that the system supports; the parent enforces the others."""
    os.nice(_NICE)
    for resource_kind, maximum in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CPU, cpu_s)):
        with contextlib.suppress(OSError, ValueError):
            # Above the soft limit, because Linux treats 0 s as 1 s and kills at the hard limit at once.
            resource.setrlimit(resource_kind, (maximum, maximum + 2))


def lines(path: str, sha256: str, at_work: str) -> Iterator[Piece]:
    """Yield the pieces of an archive, or its refusal."""
    work = at_work == "yes"
    try:
        yield from pieces(read_archive(Path(path), sha256 or None, at_work=work), at_work=work)
    except ImportRefused as refused:
        yield Refusal(str(refused))


def end_with_parent() -> None:
    """Exit once the parent has: reading an archive may take a minute of processor time and a gigabyte."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def main() -> None:
    """Print the pieces of an archive."""
    set_own_limits(int(sys.argv[1]), int(sys.argv[2]))
    threading.Thread(target=end_with_parent, daemon=True).start()
    with contextlib.suppress(BrokenPipeError, MemoryError):
        for line in lines(*sys.argv[3:6]):
            sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
        sys.stdout.buffer.flush()
    os._exit(0)  # skip the teardown of a large object graph


if __name__ == "__main__":
    main()
