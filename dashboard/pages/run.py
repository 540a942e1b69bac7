"""The page of a run: its progress, its tasks, and its report as markdown, which grows while the run works."""

from collections.abc import Iterable

from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from dashboard.frame.ended_run import EndedRun
from dashboard.frame.page_reading import PageReading
from dashboard.frame.panels_screen import PanelsScreen, give_rows
from dashboard.frame.sizing import Grip, PaneSizes
from dashboard.reading.newest import Newest
from dashboard.views.arrangement import PANE_MIN_COLUMNS
from dashboard.views.changes.drafts import as_markdown, draft
from dashboard.views.drawing.graph_slot import GraphSlot
from dashboard.views.drawing.lines import Line, Span, hairline
from dashboard.views.drawing.markdown import clean_markdown
from dashboard.views.drawing.prose import prose
from dashboard.views.event_log import Entry
from dashboard.views.facts.ended import ENDS, FAILS, ended_lines, ended_tasks_in, failed_lines
from dashboard.views.facts.run_page import report_words, run_lines
from dashboard.views.facts.run_work import MAX_LINES, TASKS_PER_MS, Census, at_work_lines, take_census, waiting_lines
from dashboard.views.graph.nodes import Sight
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines
from dashboard.widgets.panel import Panel
from dashboard.widgets.report import Report
from engine.core.state import Run
from store import Reader

REPORT_MS = 1_000
"""Minimum interval of updates of a draft, in milliseconds."""
METERS_MS = 500
"""Minimum interval of updates of meters and times, in milliseconds."""
GRAPH_MIN_HEIGHT = 45
"""Minimum height of the screen for the graph."""
MAX_DRAFT_CHARACTERS = 60_000
"""Characters of a draft that are shown, counted from its end."""
MAX_ENDED_ATTEMPTS = 2_000
"""Ends of attempts of an ended run that are read, the newest."""
_NO_WORK = Census()
_OF_OPEN = ("D", "P", "ctrl+d", "f")
"""Keys without an effect on an ended run."""


class ReportSizes(PaneSizes):
    """The sizes of the panes of a run; all but the report are closed while it covers the page."""

    def __init__(self, screen: "RunScreen") -> None:
        super().__init__(screen, screen.GRIPS, screen.update_now)
        self._run_screen = screen

    def is_open(self, grip: Grip) -> bool:
        return not self._run_screen.is_whole and super().is_open(grip)


class RunScreen(PanelsScreen):
    """A run."""

    GRIPS = (Grip("draft", "work", "left", before=True), Grip("heading", "work", "left", before=True))
    HORIZONTAL_BREAKPOINTS = [(0, "-stacked"), (PANE_MIN_COLUMNS, "-beside")]
    KEYS = (
        ("esc", "back"),
        ("tab", "pane"),
        ("enter", "task", "open the task under the cursor"),
        "strategy",
        "deadline",
        "cancel",
        ("o", "report", "show the report over the whole page; again: the page"),
        ("Y", "copy"),
        ("f", "follow", "stay at the end of the report while it grows, or hold it"),
        "priority",
        ("retry", "again"),
        "replay",
    )
    FIRST, GROWING = "at_work", "draft"
    BINDINGS = [Binding("o", "whole", "report over all", show=False)]
    DEFAULT_CSS = """
    RunScreen {
        #work { width: 39%; max-width: 72; }
        #heading { height: 1; }
        #right { width: 1fr; }
        #graph { height: 20; display: none; }
        &.-beside #report { border-left: solid $tone-line; }
        &.-stacked {
            #body { layout: vertical; }
            #work { width: 100%; max-width: 100%; height: 38%; }
            #waiting, #failed { display: none; }
        }
    }
    """

    def __init__(self, subject_id: str) -> None:
        super().__init__(subject_id)
        self.reading = PageReading(self, self.read, self.show_body)
        self._census, self._census_ms = _NO_WORK, 0
        self._report_ms = 0
        self._graph = GraphSlot()
        self.sizes = ReportSizes(self)
        self.is_whole = False
        """Whether the report covers the page."""
        self._ended_run: EndedRun | None = None
        self._fails, self._ends = Newest(MAX_LINES), Newest(MAX_ENDED_ATTEMPTS)
        self._output = ""
        """The report, or its draft."""

    def body(self) -> Iterable[Widget]:
        yield Lines(id="facts")
        work = Vertical(Panel(id="at_work"), Panel(id="waiting"), Panel(id="failed"), id="work")
        report = Vertical(
            Panel(id="draft", edge="┬"), Lines(id="heading"), Report(id="report"), Lines(id="graph"), id="right"
        )
        yield Horizontal(work, report, id="body")

    def keys(self) -> list[tuple[str, str]]:
        keys = super().keys()
        return keys if self.subject_id in self.state.runs else [key for key in keys if key[0] not in _OF_OPEN]

    @property
    def report(self) -> Report:
        return self.query_one("#report", Report)

    def draw(self, view: ViewState) -> None:
        state, now_ms = view.state, view.now_ms
        run = state.runs.get(self.subject_id)
        if run is not None:
            self._count(view, run)
        width = self.size.width
        self.show_facts(
            run_lines(state, self.subject_id, self._census.stages, width=width, now_ms=now_ms, working=view.working)
        )
        if not self.is_whole:
            self._show_work(view, run)
        self._show_report(view, run)
        self._show_graph(view, run)

    def _count(self, view: ViewState, run: Run) -> None:
        if view.is_due(self._census_ms) or not self._census.stages:
            self._census = take_census(view.state, run)
            self._census_ms = view.wall_ms + len(run.tasks) // TASKS_PER_MS

    def _show_work(self, view: ViewState, run: Run | None) -> None:
        at_work, waiting, failed = map(self.panel, ("at_work", "waiting", "failed"))
        state, now_ms, names = view.state, view.now_ms, view.names
        newest = self.reading.entries[::-1]
        broken = failed_lines(newest, names, width=at_work.wide, now_ms=now_ms)
        if run is None:
            width, of = (
                at_work.wide,
                (self.reading.entries[-1:], len(self.reading.entries), at_work.wide, names, names.renames),
            )
            first = self.line_cache.lines(
                "ended", of, lambda: ended_lines(ended_tasks_in(newest, names), names, width=width)
            )
            later = list[Line]()
            the = "the last " if len(first) == MAX_ENDED_ATTEMPTS else ""
            title, right = "TASKS", f"{the}{len(first):,} ended, the newest first"
        else:
            width, working = at_work.wide, view.working
            first = self.line_cache.lines(
                "at work",
                (self._census, width, working, view.live, now_ms // METERS_MS),
                lambda: at_work_lines(state, self._census, view.live, width=width, now_ms=now_ms, working=working),
            )
            later = self.line_cache.lines(
                "waiting",
                (self._census, width),
                lambda: waiting_lines(state, self._census, view.counts, width=width, now_ms=now_ms),
            )
            title = "TASKS"
            right = f"{len(self._census.at_work):,} at work · {len(self._census.waiting):,} wait"
        if self.is_stacked:
            for pane in (at_work, waiting, failed):  # drop heights of the other layout
                pane.styles.height = pane.styles.display = None
            at_work.fill(title, [*first, *later, *(broken if run is not None else ())], right=right)
            return
        self._share_out(at_work, len(first), waiting, len(later), failed, len(broken))
        at_work.fill(title, first, right=right)
        waiting.fill("WAITING", later, right="by priority, then age")
        failed.fill("FAILED ATTEMPTS", broken, right=f"{len(broken):,}")

    def _share_out(
        self, first: Panel, first_rows: int, second: Panel, second_rows: int, third: Panel, third_rows: int
    ) -> None:
        """Set the heights of three panes by their rows; the pane with most rows gets the rest."""
        rows = self.query_one("#work").size.height
        last = min(third_rows + 1, max(4, rows // 5)) if third_rows else 0
        top = rows - last if not second_rows else min(first_rows + 1, max(6, rows // 2)) if first_rows else 2
        give_rows(first, top)
        give_rows(second, rows - top - last)
        give_rows(third, last)

    def _show_report(self, view: ViewState, run: Run | None) -> None:
        """Show the output; while the run works, its draft, in a pane that is cheap to extend."""
        state = view.state
        summary, growing = state.summary(self.subject_id), self.panel("draft")
        heading = self.query_one("#heading", Lines)
        growing.display, heading.display, self.report.display = run is not None, run is None, run is None
        whole = self.is_whole
        joint = "" if self.is_stacked or whole else "┬"
        if run is not None:
            if view.is_due(self._report_ms):
                self._report_ms = view.wall_ms + REPORT_MS
                self._output = draft(state, run, view.live, self.reading.texts)
            growing.edge = joint
            lines = prose(
                self._output or self._placeholder_text(run), growing.wide, max_characters=MAX_DRAFT_CHARACTERS
            )
            growing.fill("REPORT", lines, right=report_words(state, self.subject_id, self._output, whole=whole))
            return
        output = self.reading.texts.of(summary.output) if summary is not None else ""
        words = report_words(state, self.subject_id, output, whole=whole)
        line = hairline("REPORT", max(0, self.query_one("#right").size.width - len(joint)), right=words)
        heading.show([line._replace(spans=(*_joint(joint), *line.spans))])
        if output != self._output or not self.report.has_text:  # parsing a long report takes a whole frame
            self._output = output
            self.report.show(clean_markdown(as_markdown(output)) or "*no output*")

    def _show_graph(self, view: ViewState, run: Run | None) -> None:
        """Show the graph of the run below its report, if there is room."""
        pane = self.query_one("#graph", Lines)
        has_room = not self.is_stacked and self.size.height >= GRAPH_MIN_HEIGHT
        sight = self._final_sight(view) if has_room and run is None else None
        pane.display = has_room and (run is not None or sight is not None)
        if not (pane.display and pane.size.width):
            return
        width, height = pane.size
        calm = self.app.animation_level == "none"
        lines = self._graph.lines(view, self.subject_id, width - 1, height, calm=calm, final_sight=sight)
        edged = [Line((Span("├" if not at else "│", "line"), *line.spans)) for at, line in enumerate(lines)]
        pane.show(edged)

    def _final_sight(self, view: ViewState) -> Sight | None:
        """Return the team at the end of the run; None while it is read."""
        if self._ended_run is None:
            self._ended_run = EndedRun(self.deck, self.update_now)
        return self._ended_run.sight(self.subject_id, view)

    def _placeholder_text(self, run: Run) -> str:
        """Return the placeholder of a report: the request."""
        request = as_markdown(self.reading.texts.of(run.request))
        return f"{request}\n\n---\n\nwas asked for; the output of the run will appear here"

    def copyable_text(self) -> tuple[str, str]:
        return "the report", self._output

    def read(self, reader: Reader, view: ViewState) -> list[Entry]:
        if self.subject_id in view.state.runs:
            return self._fails.up_to(view.state.seq, reader, view.names, run_id=self.subject_id, kinds=FAILS)
        return self._ends.up_to(view.state.seq, reader, view.names, run_id=self.subject_id, kinds=ENDS)

    def action_whole(self) -> None:
        """Show the report on the whole page, or the page again."""
        whole = self.is_whole = not self.is_whole
        # Not with a CSS class of the page, which would restyle every widget, of which a report has many.
        self.query_one("#work").display = not whole
        self.report.styles.border_left = ("none", "transparent") if whole else None
        if whole:
            (self.report if self.report.display else self.panel("draft")).focus()
        else:
            self.focus_body()
        self.call_after_refresh(self.update_now)

    def action_follow(self) -> None:
        """Follow the end of the report while it grows, or stop following."""
        super().action_follow()
        follows = self.panel(self.GROWING).follows
        self.deck.messages.say("the report stays at its end · f holds it" if follows else "held", "muted")

    def action_back(self) -> None:
        if self.is_whole:
            self.action_whole()
        else:
            super().action_back()


def _joint(sign: str) -> tuple[Span, ...]:
    return (Span(sign, "line"),) if sign else ()


PAGE = RunScreen
