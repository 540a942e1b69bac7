"""`make bench`: everything that has a budget, measured against the floors of this machine in the same run.

    .venv/bin/python -P tests/bench/run.py [--only NAME]... [--row WORDS]... [--quick] [--json] [--list]

It judges and never fails: the machine may be busy, so the table says how unsteady it was.
See docs/decisions/performance.md.
"""

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TypeAlias

from tests.bench.chosen import choose, is_chosen
from tests.bench.measure import Noise
from tests.bench.report import Row, as_json, short, table

Subject: TypeAlias = Callable[[bool], Iterable[Row]]
"""Measures something; True asks for few rounds."""

SUBJECTS = (
    "fold",
    "decide",
    "turns",
    "supervised",
    "models",
    "crowds",
    "workflow",
    "full",
    "graphs",
    "activities",
    "choosing",
    "catalogue",
    "memory",
    "recipes",
    "archives",
    "imports",
    "streams",
    "following",
    "moments",
    "takeover",
    "screen",
    "frames",
    "watched",
)
"""Modules beside this one; each has `rows(quick)`."""


def main() -> int:
    """Measure, print, return 0."""
    parser = argparse.ArgumentParser(description="Measure against the floors of this machine.")
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=SUBJECTS, help="one subject; may be repeated"
    )
    parser.add_argument(
        "--row", action="append", metavar="WORDS", default=[], help="rows with all these words; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="few rounds, for a first look")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--list", action="store_true", help="name the subjects")
    given = parser.parse_args()
    if given.list:
        print("\n".join(SUBJECTS))
        return 0
    choose(given.row)
    began_s, load_before = time.perf_counter(), os.getloadavg()[0]
    noise, rows = Noise(), []
    noise.sample()
    for name in given.only or SUBJECTS:
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            subject: Subject = import_module(f"tests.bench.{name}").rows
            for row in subject(given.quick):
                if is_chosen(row.what):
                    rows.append(row)
                noise.sample()
        except Exception:  # one subject that cannot be measured does not hide the others
            traceback.print_exc()
    print(file=sys.stderr)
    load = {"before": load_before, "after": os.getloadavg()[0], "cores": os.cpu_count()}
    if given.json:
        print(as_json(rows, noise, load))
        return 0
    print(table(rows))
    print(
        f"\nnoise: a fixed loop took {short(noise.median_ms)} ms, and 9 of 10 times within {noise.spread:.0%} of that; "
        f"load {load_before:.1f} before and {load['after']:.1f} after, this run included, on {load['cores']} cores; "
        f"{time.perf_counter() - began_s:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
