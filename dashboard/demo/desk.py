"""The tools of the scripted team of `quarterdeck demo --models`. They really work, in a folder of the demo's own.

Rule: nothing outside that folder is read or written, and no network is used: pages and logs come with the program.
"""

import csv
import tomllib
from heapq import heappop, heappush
from pathlib import Path, PurePosixPath
from random import Random
from statistics import median, quantiles
from typing import Literal

import anyio

from dashboard.demo.incident import FILES
from dashboard.demo.library import refill_folder
from engine.platform.folders import data_folder
from engine.runtimes.functions.tools import tool

ABOUT = "The files of an incident that is made up, for the demo."
PACE = 1.0
"""Factor on the time that a tool takes."""
MAX_CHARACTERS = 20_000
MS_BETWEEN_REQUESTS, HELD_MS = 15.2, 150.0
"""Traffic of one server in the busiest minute, and how long a request holds its connection."""


def desk_folder() -> Path:
    """Return the folder in which the tools work."""
    return data_folder() / "demo" / "models"


def lay_out() -> Path:
    """Make the folder anew, with the files of the incident, and return it; raises FolderTaken."""
    return refill_folder(desk_folder(), {name: text.encode() for name, text in FILES.items()}, ABOUT)


def _path(name: str) -> Path:
    """Return the path of a file in the folder; raises ValueError for another place."""
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or ".." in parts:
        raise ValueError(f"{name!r} is not in the folder of this team")
    return desk_folder() / name


@tool(idempotent=True)
async def list_files() -> list[str]:
    """List the files of the incident."""
    folder = desk_folder()
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@tool(idempotent=True)
async def read_file(path: str) -> dict[str, str]:
    """Read a file of the incident."""
    await anyio.sleep(0.8 * PACE)
    return {"path": path, "text": _path(path).read_text(encoding="utf-8")[:MAX_CHARACTERS]}


@tool(idempotent=True)
async def search_log(words: str, lines: int = 8) -> dict[str, int | list[str]]:
    """Find the lines of the service's log that contain some words."""
    await anyio.sleep(1.6 * PACE)
    matching = [line for line in _path("checkout.log").read_text().splitlines() if words.lower() in line.lower()]
    return {"matching": len(matching), "lines": matching[:lines]}


@tool(idempotent=True)
async def latency(day: str, hour: int | None = None) -> dict[str, str | int]:
    """Compute the latency of checkout on a day such as `Tue`, or in one hour of it, in milliseconds."""
    await anyio.sleep(2.2 * PACE)
    with _path("latency.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["day"] == day and hour in (None, int(row["hour"]))]
    times_ms = [int(row["ms"]) for row in rows]
    if len(times_ms) < 2:
        raise ValueError(f"no measurements of {day}")
    return {
        "day": day,
        "requests": len(rows),
        "p50_ms": round(median(times_ms)),
        "p95_ms": round(quantiles(times_ms, n=20)[-1]),
    }


@tool(idempotent=True)
async def replay_traffic(path: str) -> dict[str, str | int]:
    """Replay the busiest minute against the pool in a file of settings, by simulation: the wait for a connection."""
    await anyio.sleep(3.5 * PACE)
    size = tomllib.loads(_path(path).read_text(encoding="utf-8"))["pool"]["size"]
    draw, at_ms, free_at_ms, waits_ms = Random(7), 0.0, [0.0] * size, []
    for _ in range(4_000):
        at_ms += draw.expovariate(1 / MS_BETWEEN_REQUESTS)
        begins_ms = max(at_ms, heappop(free_at_ms))
        heappush(free_at_ms, begins_ms + draw.uniform(0.6, 1.4) * HELD_MS)
        waits_ms.append(begins_ms - at_ms)
    return {
        "replayed": path,
        "p50_wait_ms": round(median(waits_ms)),
        "p95_wait_ms": round(quantiles(waits_ms, n=20)[-1]),
    }


@tool(idempotent=True)
async def fetch_page(url: str) -> dict[str, str]:
    """Fetch a page; this demo has three of them on disk, and no network."""
    await anyio.sleep(2.5 * PACE)
    page = _path(f"pages/{url.removeprefix('https://').replace('/', '_')}.md")
    if not page.is_file():
        raise ValueError(f"404 for {url}")
    return {"url": url, "text": page.read_text(encoding="utf-8")}


@tool
async def write_file(path: str, text: str) -> dict[str, str | int]:
    """Write a file into the folder of the incident."""
    await anyio.sleep(0.6 * PACE)
    file = _path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    return {"written": path, "characters": file.write_text(text[:MAX_CHARACTERS], encoding="utf-8")}


@tool(idempotent=True)
async def check_config(path: str) -> dict[str, str | bool | list[str]]:
    """Check the pool in a file of settings: all servers together must not take more than the database allows."""
    await anyio.sleep(3.0 * PACE)
    pool = tomllib.loads(_path(path).read_text(encoding="utf-8"))["pool"]
    problems = []
    if pool["size"] * pool["servers"] > pool["database_limit"]:
        problems.append(f"{pool['size']} x {pool['servers']} connections are more than {pool['database_limit']}")
    if pool["wait_ms"] > 500:
        problems.append(f"wait_ms is {pool['wait_ms']}: a request would wait longer than its caller does")
    return {"checked": path, "passed": not problems, "problems": problems}


@tool
async def deploy(change: str, target: Literal["staging", "production"]) -> dict[str, str]:
    """Deploy a change: here it is written down in deployments.txt, and nothing else happens."""
    await anyio.sleep(4.0 * PACE)
    _path(change).read_bytes()
    with _path("deployments.txt").open("a", encoding="utf-8") as file:
        file.write(f"{change} to {target}\n")
    return {"deployed": change, "target": target}
