"""Resource usage of the process group of an attempt, in the live file while it works."""

import json
import os
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import anyio

from engine.children.child import Child
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.functions.threads import Threads

PROC = Path("/proc")
SHOWN_AFTER_S = 0.1
SHOWN_EVERY_S = 2.0
"""How often it is published."""
MIN_CPU_S = 0.02
"""Processor time since it was active last that counts as activity again; an idle loop of a program uses less."""


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


async def show_footprint(attempt: Attempt, child: Child, threads: Threads) -> None:
    """Publish the usage of the process of an attempt, and when it was active last, until cancelled."""
    cpu_s, bytes_read, active_ms = 0.0, 0, attempt.now_ms()
    await anyio.sleep(SHOWN_AFTER_S)
    while True:
        used = await threads.run(partial(footprint, child.pid))
        fields = {} if used is None else asdict(used)
        total_bytes = child.bytes_read + child.errors.bytes_read
        if used is None or used.cpu_s - cpu_s >= MIN_CPU_S or total_bytes != bytes_read:
            cpu_s, bytes_read = used.cpu_s if used is not None else cpu_s, total_bytes
            active_ms = attempt.now_ms()
        attempt.live.show("process", json.dumps({"pid": child.pid, **fields, "active_ms": active_ms}))
        await anyio.sleep(SHOWN_EVERY_S)  # real time, not the engine's clock: resource usage is real as well
