"""The panes of a run's page that list its tasks: those at work, those that wait, and attempts that failed."""

from dashboard.frame.panels_screen import PanelsScreen, give_rows
from dashboard.reading.newest import Newest
from dashboard.views.drawing.lines import Line
from dashboard.views.event_log import Entry
from dashboard.views.facts.ended import FAILS, STARTS_AND_ENDS, ended_lines, ended_tasks_in, failed_lines
from dashboard.views.facts.run_work import MAX_LINES, TASKS_PER_MS, Census, at_work_lines, take_census, waiting_lines
from dashboard.views.view_state import ViewState
from dashboard.widgets.panel import Panel
from engine.core.state import Run
from store import Reader

METERS_MS = 500
"""Minimum interval of updates of meters and times, in milliseconds."""
MAX_RECORDS = 4_000
"""Starts and ends of attempts of an ended run that are read, the newest."""


class RunTasks:
    """The panes of the tasks of a run that are at work and that wait, and of failed attempts."""

    def __init__(self, page: PanelsScreen) -> None:
        self._page = page
        self.census = Census()
        """The open tasks, as of the last count."""
        self._due_ms = 0
        """Time of the next count."""
        self._fails, self._ends = Newest(MAX_LINES), Newest(MAX_RECORDS)

    def read(self, reader: Reader, view: ViewState) -> list[Entry]:
        """Read the failed attempts of an open run, or the starts and ends of all of an ended one, the newest last."""
        run_id, seq = self._page.subject_id, view.state.seq
        if run_id in view.state.runs:
            return self._fails.up_to(seq, reader, view.names, run_id=run_id, kinds=FAILS)
        return self._ends.up_to(seq, reader, view.names, run_id=run_id, kinds=STARTS_AND_ENDS)

    def count(self, view: ViewState, run: Run) -> None:
        """Count the tasks of an open run again if it is due."""
        if view.is_due(self._due_ms) or not self.census.stages:
            self.census = take_census(view.state, run)
            self._due_ms = view.wall_ms + len(run.tasks) // TASKS_PER_MS

    def show(self, view: ViewState, run: Run | None) -> None:
        """Fill the panes; those of an ended run list its attempts in one."""
        page, census = self._page, self.census
        at_work, waiting, failed = map(page.panel, ("at_work", "waiting", "failed"))
        state, now_ms, names, width = view.state, view.now_ms, view.names, at_work.wide
        entries = page.reading.entries
        newest = entries[::-1]
        broken = failed_lines(newest, names, width=width, now_ms=now_ms)
        if run is None:
            first = page.line_cache.lines(
                "ended",
                (entries[-1:], len(entries), width, names, names.renames),
                lambda: ended_lines(ended_tasks_in(newest, names), names, width=width),
            )
            later = list[Line]()
            the = "the last " if len(entries) == MAX_RECORDS else ""
            right = f"{the}{len(first):,} ended, the newest first"
        else:
            first = page.line_cache.lines(
                "at work",
                (census, width, view.working, view.live, now_ms // METERS_MS),
                lambda: at_work_lines(state, census, view.counts, view.live, width=width, now_ms=now_ms),
            )
            later = page.line_cache.lines(
                "waiting",
                (census, width),
                lambda: waiting_lines(state, census, view.counts, width=width, now_ms=now_ms),
            )
            right = f"{len(census.at_work):,} at work · {len(census.waiting):,} wait"
        if page.is_stacked:
            for pane in (at_work, waiting, failed):  # drop heights of the other layout
                pane.styles.height = pane.styles.display = None
            at_work.fill("TASKS", [*first, *later, *(broken if run is not None else ())], right=right)
            return
        self._share_out(at_work, len(first), waiting, len(later), failed, len(broken))
        at_work.fill("TASKS", first, right=right)
        waiting.fill("WAITING", later, right="by priority, then age")
        failed.fill("FAILED ATTEMPTS", broken, right=f"{len(broken):,}")

    def _share_out(
        self, first: Panel, first_rows: int, second: Panel, second_rows: int, third: Panel, third_rows: int
    ) -> None:
        """Set the heights of three panes by their rows; the pane with most rows gets the rest."""
        rows = self._page.query_one("#work").size.height
        last = min(third_rows + 1, max(4, rows // 5)) if third_rows else 0
        top = rows - last if not second_rows else min(first_rows + 1, max(6, rows // 2)) if first_rows else 2
        give_rows(first, top)
        give_rows(second, rows - top - last)
        give_rows(third, last)
