"""What a program and everything in its process group use of this computer."""

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Footprint:
    """The resources of one process group at one moment."""

    cpu_s: float
    """Processor time of those that run, and of those of their children that have ended, in seconds."""
    rss_bytes: int
    """Memory that is resident; what several of them share counts several times."""


def footprint(group: int) -> Footprint | None:
    """Return what a process group uses; None where the system does not say it (there is no /proc), or it is gone.

    Blocks for some milliseconds.
    """
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
