"""Other ends of an engine than kill -9: a stop on purpose, a deposition, a standstill."""

import os
import signal
from pathlib import Path

import pytest

from engine.core.commands import Pause
from engine.core.events import EngineStarted, EngineStopped, RunFinished
from engine.core.state import RunStatus
from engine.reading.folding import fold_file
from store import Reader, verify
from tests.chaos.ledger import done_again, finished_in, lines_of
from tests.chaos.voyage import Voyage


def test_a_run_that_is_stopped_by_sigterm_is_suspended_and_goes_on_with_the_next_engine(
    tmp_path: Path, undisturbed: dict[str, object]
) -> None:
    with Voyage(tmp_path) as voyage:
        voyage.launch()
        voyage.send(Pause(target="drill-2"))  # so that the run cannot end before the signal comes
        voyage.submit()
        with voyage.watched() as watch:
            watch.reached(150)

        assert voyage.end(signal.SIGTERM) == 0

        assert isinstance(voyage.read()[-1], EngineStopped)
        assert [run.status for run in fold_file(voyage.db).runs.values()] == [RunStatus.SUSPENDED]
        voyage.start()
        voyage.finish()
        assert voyage.end(signal.SIGTERM) == 0
        assert voyage.ended_as() == undisturbed


def test_a_deposed_engine_writes_nothing_more_and_the_one_that_took_over_does_nothing_twice(
    tmp_path: Path, undisturbed: dict[str, object]
) -> None:
    with Voyage(tmp_path, piece_s=0.2) as deposed, Voyage(tmp_path) as voyage:
        deposed.launch()
        deposed.send(Pause(target="drill-2"))  # so that the run cannot end before the other has taken over
        deposed.submit()
        with deposed.watched() as watch:
            watch.until(60)
        # Somebody tidies up: without the lock file nothing keeps a second engine away but the token.
        (tmp_path / "team.db-lock").unlink()
        voyage.launch(empty=True)
        voyage.finish()

        assert deposed.ended() != 0

        assert f"deposed: engine {voyage.pid} took over" in deposed.log
        assert voyage.ended_as() == undisturbed
        journal = voyage.read()
        began = max(place for place, event in enumerate(journal) if isinstance(event, EngineStarted))
        mine = [line for line in lines_of(tmp_path / "ledger.jsonl") if line.engine == voyage.pid]
        assert mine
        assert done_again(mine, finished_in(journal[:began])) == []
        assert sum(isinstance(event, RunFinished) for event in journal) == 1
        assert verify(voyage.db).ok


@pytest.mark.chaos_long
def test_an_engine_that_stands_still_is_taken_over_and_never_writes_again(
    tmp_path: Path, undisturbed: dict[str, object]
) -> None:
    with Voyage(tmp_path) as still, Voyage(tmp_path) as voyage:
        still.launch()
        still.submit()
        with still.watched() as watch, Reader(still.db) as reader:
            watch.until(100)
            os.kill(still.pid, signal.SIGSTOP)
            while not hangs(reader):
                watch.until(watch.seq + 1)
        voyage.start("--takeover")
        voyage.finish()

        assert still.ended() == -signal.SIGKILL
        assert voyage.end(signal.SIGTERM) == 0
        assert voyage.ended_as() == undisturbed
        assert verify(voyage.db).ok


def hangs(reader: Reader) -> bool:
    engine = reader.engine()
    return engine is not None and engine.hung
