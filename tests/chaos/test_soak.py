"""An engine at work for half an hour, and those who look on, hold no more at its end than when they were warm."""

import os
import sys
from pathlib import Path

import pytest

from tests.chaos.soak import Soak, courses, last_seq, refusals

SECONDS = float(os.environ.get("QUARTERDECK_SOAK_SECONDS", "1800"))
FLAT = 0.05
SLACK = {"memory_mb": 0.0, "handles": 3.0, "threads": 3.0}
"""How many come and go."""


@pytest.mark.chaos_long
@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")
def test_what_engine_and_readers_hold_stays_flat_under_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Soak(tmp_path) as soak:
        soak.launch()
        soak.warm_up()
        soak.run(SECONDS)
        found = courses(soak.watched)
        refused = refusals(soak.db)
        with capsys.disabled():
            print(f"\n{SECONDS:g} s, {last_seq(soak.db):,} events, {soak.finished:,} runs; {dict(soak.done)}")
            print("process          what       early   late   at each tenth")
            print(*found, sep="\n")

    assert refused == []
    assert soak.finished > SECONDS / 10, "there was no load"
    assert [str(each) for each in found if not each.is_flat(FLAT, SLACK[each.what])] == []
