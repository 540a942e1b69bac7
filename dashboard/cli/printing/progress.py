"""Waits for a run to end, and reports its progress meanwhile.

Rule: it reads the journal and never asks the engine, so that waiting works for every user who may read the file, and
ends with a message when the engine is gone.
"""

import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from dashboard.clean import clean
from dashboard.cli.printing.items import fields_of, usage_item
from dashboard.cli.printing.output import NO_ENGINE, fail, quote_path, say
from dashboard.engines.process import is_alive
from dashboard.interrupts import Stop, no_interrupt_lost
from dashboard.views.answers import WITH_OUTPUT
from dashboard.views.drawing.call_lines import plain_lines
from dashboard.views.inbox import subject_name
from dashboard.views.words.amounts import pluralize, stopwatch
from engine.core.fold import fold
from engine.core.queries.targets import id_target
from engine.core.queries.team.able import why_away
from engine.core.queries.team.tree import lineage_of
from engine.core.records.records import JsonValue
from engine.core.records.values import Usage
from engine.core.state import State
from engine.reading.folding import events_of, finished_run, fold_file
from engine.reading.texts import resolve_value
from store import Reader, Tail

LOOK_S = 0.5
"""How often the engine's lease is checked, in seconds."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended."""

    run_id: str
    status: str
    output: JsonValue
    error: str | None
    tasks: int
    usage: Usage
    seq: int

    def body(self) -> dict[str, Any]:
        """Return it in the shape of `--json`."""
        return {**fields_of(self, "run_id status output tasks seq"), "usage": usage_item(self.usage)}


def end_of(db: Path, run_id: str) -> RunEnd | None:
    """Return how a run ended; None while it has not, or if there is no such run.

    Raises:
        StoreError, CoreError: If the journal cannot be read.
    """
    with Reader(db) as reader:
        summary = finished_run(reader, run_id)
        if summary is None:
            return None
        return RunEnd(
            run_id=run_id,
            status=summary.status.value,
            output=resolve_value(summary.output, lambda seq: reader.record(seq).body),
            error=summary.error,
            tasks=summary.tasks,
            usage=summary.usage,
            seq=summary.seq,
        )


@no_interrupt_lost()
def await_run(db: Path, run_id: str, progress: "ProgressLine") -> RunEnd:
    """Block until a run has ended; `progress` is called on every change and now and then in between."""
    state = fold_file(db)
    if run_id not in state.runs:
        return _closed_run_end(db, run_id, state)
    progress(state)
    misses, next_look_s = 0, 0.0
    with closing(Tail(db, state.seq).batches(Stop(), idle=True)) as batches:
        for batch in batches:
            fold(state, events_of(batch))
            if run_id not in state.runs or misses == 2:
                break
            if batch:
                progress(state)
            if time.monotonic() >= next_look_s:
                next_look_s = time.monotonic() + LOOK_S
                misses = 0 if is_alive(db) else misses + 1
                progress.tick()
    run_end = end_of(db, run_id)
    if run_end is None:
        hint = f"continue it with: quarterdeck engine --db {quote_path(db)}"
        fail("no_engine", f"no engine is at work on run {run_id}", hint, NO_ENGINE)
    return run_end


def _closed_run_end(db: Path, run_id: str, state: State) -> RunEnd:
    """Return how a run ended that is no longer open; fail if it never existed."""
    run_end = end_of(db, run_id)
    if run_end is None:
        open_runs = ", ".join(state.runs) or "none is open"
        fail("unknown_work", f"there is no run {run_id!r}", f"open runs: {open_runs}")
    return run_end


class ProgressLine:
    """Progress of a run on stderr: one changing line on a terminal, a line now and then elsewhere."""

    def __init__(self, db: Path, run_id: str, *, every_s: float, always: bool = False, quiet: bool = False) -> None:
        """Begin.

        Args:
            every_s: Shortest time between two lines, in seconds.
            always: Write also where stderr is not a terminal.
            quiet: Write nothing but which agents cannot work, what a person is asked, and what is paused.
        """
        self._db = db
        self._run_id = run_id
        self._every_s = every_s
        self._terminal = sys.stderr.isatty()
        self._silent = quiet or not (self._terminal or always)
        self._reported_ids: set[str] = set()
        self._began_s = time.monotonic()
        self._written_s = float("-inf")
        self._line = ""

    def __call__(self, state: State) -> None:
        """Report what has changed in a state."""
        self._report_broken(state)
        self._report_questions(state)
        self._report_paused(state)
        run = state.runs.get(self._run_id)
        if run is None or time.monotonic() - self._written_s < self._every_s:
            return
        line = f"{run.id}  {run.ended:,} of {pluralize(run.total, 'task')}, {run.running} at work"
        line += f", {run.failed} failed" if run.failed else ""
        if line != self._line:
            self._line = line
            self._write()

    def tick(self) -> None:
        """Update the elapsed time in the changing line."""
        if self._terminal and self._line:
            self._write()

    def end(self) -> None:
        """Erase the changing line."""
        if self._terminal and self._line and not self._silent:
            self._line = ""
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _report_broken(self, state: State) -> None:
        """Report once for each broken agent why it cannot work: a run may wait for it."""
        for agent in state.agents.values():
            reason = agent.error or (why_away(agent) if agent.away else None)
            if reason is not None:
                self._report(agent.id, f"{agent.name} cannot work: {reason}")

    def _report(self, subject_id: str, *lines: str) -> None:
        if subject_id not in self._reported_ids:
            self._reported_ids.add(subject_id)
            self.end()
            say(*lines)

    def _report_questions(self, state: State) -> None:
        """Report once each question to a person that the run may wait for, and the command that answers it."""
        for escalation in state.escalations.values():
            if escalation.run_id not in (self._run_id, None):
                continue
            asker = escalation.detail.get("agent") or subject_name(state, escalation)
            if len(escalation.options) > 1:
                answer, options_text = "ANSWER", f"  # {', '.join(escalation.options)}"
            else:
                answer, options_text = quote(escalation.options[0]), ""
                answer += " --output TEXT" if (escalation.kind, answer) in WITH_OUTPUT else ""
            text = f"  answer it: quarterdeck answer {escalation.id} {answer} --db {quote_path(self._db)}{options_text}"
            question = f"{asker} asks a person, {escalation.id}: {escalation.question}"
            self._report(escalation.id, question, *plain_lines(escalation), text)

    def _report_paused(self, state: State) -> None:
        """Report once, until it goes on, that the run or a supervisor above it is paused."""
        run = state.runs.get(self._run_id)
        if run is None:
            return
        supervisor = state.supervisors.get(run.supervisor_id)
        paused_by_id = {run.id: run.paused} | {
            supervisor.id: supervisor.paused for supervisor in (lineage_of(state, supervisor) if supervisor else ())
        }
        for subject_id, paused in paused_by_id.items():
            if not paused:
                self._reported_ids.discard(subject_id)
            else:
                text = subject_id if subject_id == run.id else f"supervisor {state.supervisors[subject_id].name}"
                hint = f"  resume it: quarterdeck resume {quote(id_target(subject_id))} --db {quote_path(self._db)}"
                self._report(subject_id, f"{text} is paused, and this run waits", hint)

    def _write(self) -> None:
        if self._silent or not self._line:
            return
        self._written_s = time.monotonic()
        line = f"{stopwatch(round((self._written_s - self._began_s) * 1000))}  {clean(self._line)}"
        sys.stderr.write(f"\r\x1b[K{line}" if self._terminal else f"{line}\n")
        sys.stderr.flush()
