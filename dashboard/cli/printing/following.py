"""`--follow`: what agents say and do while a run goes on, on stderr; with `--json` one object for each event on stdout.

Rule: as `progress`, it reads the journal and the live file and never asks the engine.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dashboard.cli.printing.items import usage_item
from dashboard.cli.printing.output import write_json
from dashboard.views.streams import Transcript
from engine.core.errors import CoreError
from engine.core.records.records import fields
from engine.reading.folding import events_of, fold_file
from engine.stream.merging import Merger
from engine.stream.narrator import Narrator
from engine.stream.records import StreamEvent
from store import Reader, StoreError

LOOK_S = 0.05
PAGE = 500
PATIENT_LOOKS = 40
"""Polls for which an event waits for the text that precedes it: longer than the writer of the live file pauses."""
LAST_S = 3.0
"""How long to wait for the end of a run after another reader has seen it."""


@contextmanager
def stream_run(db: Path, run_id: str, *, as_json: bool, quiet_until_now: bool) -> Iterator[None]:
    """Show the stream of a run while the context is open, and drain it at the end.

    Args:
        run_id: An open run, or one that has just ended.
        as_json: Write JSON to stdout instead of text to stderr.
        quiet_until_now: Leave out what has happened already.
    """
    stop = threading.Event()
    transcript = Transcript()

    def show(event: StreamEvent) -> None:
        if as_json:
            write_json({"v": 1, "kind": "stream", "event": event_item(event)})
        elif event.kind != "asked":  # `ProgressLine` shows questions, with the command that answers each
            _write(transcript.render(event))

    follow = partial(_follow, db, run_id, show, stop, quiet=quiet_until_now)
    follower = threading.Thread(target=follow, name="follow-run", daemon=True)
    follower.start()
    try:
        yield
    except BaseException:
        stop.set()
        raise
    finally:
        follower.join(LAST_S)
        stop.set()
        follower.join(LAST_S)
        _write(transcript.end())


def _write(text: str) -> None:
    if text:
        sys.stderr.write(text)
        sys.stderr.flush()


def event_item(event: StreamEvent) -> dict[str, Any]:
    """Return an event of a stream in the shape of `--json`."""
    fields_by_name = {
        field.name: getattr(event, field.name) for field in fields(StreamEvent) if field.name not in ("event", "usage")
    }
    return {**fields_by_name, "usage": None if event.usage is None else usage_item(event.usage)}


def _follow(db: Path, run_id: str, show: Callable[[StreamEvent], None], stop: threading.Event, *, quiet: bool) -> None:
    try:
        narrator, merger = Narrator(fold_file(db)), Merger()
        narrator.run_id = run_id
        with Reader(db) as reader:
            begun = reader.records(0, 1, run_id=run_id)
            quiet_seq = reader.last_seq() if quiet else 0
            after_seq, waits = (begun[0].seq - 1 if begun else reader.last_seq()), 0
            while True:
                is_last = stop.is_set()
                records = reader.records(after_seq, PAGE)
                after_seq = records[-1].seq if records else after_seq
                events = zip([record.seq for record in records], events_of(records), strict=True)
                waits = waits + 1 if merger.is_waiting else 0
                for batch in merger.step(
                    events, reader.recent_outputs(), patient=waits < PATIENT_LOOKS and not is_last
                ):
                    for event in narrator.narrate(batch):
                        if event.seq is None or event.seq > quiet_seq:
                            show(event)
                        if event.kind == "completed":
                            return
                if is_last and not records:
                    return
                if len(records) < PAGE:
                    stop.wait(LOOK_S)
    except (StoreError, CoreError, BrokenPipeError):
        return  # the caller that waits for the run comes upon the same
