"""Resource usage of the process group of a program."""

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Footprint:
    """The resources of one process group at one moment."""

    cpu_s: float
    """Processor time of its processes and of their ended children, in seconds."""
    rss_bytes: int
    """Resident memory; memory shared by several processes counts several times."""


def footprint(group: int) -> Footprint | None:
    """Return the usage of a process group; None without /proc, or if the group is gone. Blocks for milliseconds."""
    ticks, pages, has_members = 0, 0, False
    for entry in PROC.glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if len(fields) > 21 and int(fields[2]) == group:
            has_members = True
            ticks += sum(int(count) for count in fields[11:15])
            pages += int(fields[21])
    if not has_members:
        return None
    return Footprint(round(ticks / os.sysconf("SC_CLK_TCK"), 2), pages * os.sysconf("SC_PAGE_SIZE"))
