"""One row of the report, and the report as a table or as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from tests.bench.measure import Noise, Series, percentile

_SCALE = {"s": 1.0, "ms": 1e3, "µs": 1e6, "kB": 1.0}


@dataclass(slots=True, kw_only=True)
class Row:
    """One thing that was measured, beside its floor and its budget."""

    what: str
    took: Series
    floor: Series | None = None
    floor_is: str = ""
    """What the floor does."""
    unit: str = "ms"
    """`s`, `ms`, `µs`, `/s` for how many a second, or `kB` where the rounds are no times."""
    budget: float | None = None
    """Most that the median may be, in the unit (for `/s`: least)."""
    at_p95: bool = False
    """The budget is of the 95th percentile, and of that of the floor."""
    floors: float | None = None
    """The budget is this many floors (for `/s`: this part of the floor), and `budget` comes on top."""
    computes: bool = False
    """It only computes: processor time is what counts, so that other programs do not."""

    def values(self, series: Series, *, cpu: bool = False) -> list[float]:
        """Return rounds in the unit."""
        seconds = series.cpu_s if cpu else series.wall_s
        return [1 / max(one, 1e-9) if self.unit == "/s" else one * _SCALE[self.unit] for one in seconds]

    @property
    def median(self) -> float:
        """The middle of the rounds; of processor time where it only computes."""
        return median(self.values(self.took, cpu=self.computes))

    @property
    def best(self) -> float:
        """The best round: what other programs took away is in it least."""
        return (max if self.unit == "/s" else min)(self.values(self.took, cpu=self.computes))

    @property
    def p95(self) -> float:
        """What 19 of 20 rounds are at least as good as."""
        return percentile(self.values(self.took, cpu=self.computes), 0.05 if self.unit == "/s" else 0.95)

    @property
    def wall(self) -> float:
        """The middle of the rounds by the clock on the wall."""
        return median(self.values(self.took))

    @property
    def cpu(self) -> float:
        """The middle of the processor time."""
        return median(self.values(self.took, cpu=True))

    @property
    def floor_median(self) -> float | None:
        """The middle of the floor's rounds, by the same clock."""
        return median(self.values(self.floor, cpu=self.computes)) if self.floor is not None else None

    @property
    def floor_p95(self) -> float | None:
        """What 19 of 20 rounds of the floor are at least as good as."""
        return percentile(self.values(self.floor, cpu=self.computes), 0.95) if self.floor is not None else None

    @property
    def limit(self) -> float | None:
        """The budget in the unit."""
        floor = self.floor_p95 if self.at_p95 else self.floor_median
        if self.floors is None or floor is None:
            return self.budget
        return self.floors * floor + (self.budget or 0.0)

    @property
    def fits(self) -> bool | None:
        """Whether it is within its budget; None without one."""
        if self.limit is None:
            return None
        judged = self.p95 if self.at_p95 else self.median
        return judged >= self.limit if self.unit == "/s" else judged <= self.limit

    def as_json(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        floor = self.floor_median
        return {
            "what": self.what,
            "unit": self.unit,
            "clock": "cpu" if self.computes else "wall",
            "median": self.median,
            "best": self.best,
            "p95": self.p95,
            "wall": self.wall,
            "cpu": self.cpu,
            "floor": floor,
            "floor_p95": self.floor_p95,
            "floor_is": self.floor_is,
            "ratio": self.median / floor if floor else None,
            "budget": self.limit,
            "at_p95": self.at_p95,
            "fits": self.fits,
            "rounds": len(self.took.wall_s),
        }


_HEADINGS = ("what", "median", "best", "p95", "wall", "cpu", "floor", "ratio", "budget", "")


def cells(row: Row) -> tuple[str, ...]:
    """Return a row as the table shows it."""
    floor = row.floor_median
    sign = "≥" if row.unit == "/s" else "≤"
    limit = "" if row.limit is None else f"{sign} {short(row.limit)}{' p95' if row.at_p95 else ''}"
    return (
        row.what,
        f"{short(row.median)} {row.unit}",
        short(row.best),
        short(row.p95),
        short(row.wall),
        short(row.cpu),
        "" if floor is None else short(floor),
        "" if not floor else f"{row.median / floor:.1f}",
        limit,
        {True: "ok", False: "MISS", None: ""}[row.fits],
    )


def short(value: float) -> str:
    """Return a number with three digits that count."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(rows: Sequence[Row]) -> str:
    """Return the report."""
    lines = [_HEADINGS, *(cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def line(values: Sequence[str]) -> str:
        first, *others = (
            value.ljust(width) if place in (0, len(_HEADINGS) - 1) else value.rjust(width)
            for place, (value, width) in enumerate(zip(values, widths, strict=True))
        )
        return "  ".join([first, *others]).rstrip()

    shown = [line(values) for values in lines]
    floors = {row.floor_is: row.what for row in rows if row.floor_is}
    notes = [f"floor of {what!r}: {floor_is}" for floor_is, what in floors.items()]
    return "\n".join([shown[0], "─" * max(map(len, shown)), *shown[1:], "", *notes])


def as_json(rows: Sequence[Row], noise: Noise, load: dict[str, Any]) -> str:
    """Return the report for programs."""
    said = {"median_ms": noise.median_ms, "spread": noise.spread}
    found = {"v": 2, "kind": "bench", "noise": said, "load": load, "rows": [row.as_json() for row in rows]}
    return json.dumps(found, indent=1)
