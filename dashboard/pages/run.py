"""The page of a run: its progress, its tasks, and its report as markdown, which grows while the run works."""

from collections.abc import Iterable

from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from dashboard.frame.ended_run import EndedRun
from dashboard.frame.page_reading import PageReading
from dashboard.frame.panels_screen import PanelsScreen
from dashboard.frame.run_tasks import RunTasks
from dashboard.frame.sizing import Grip, PaneSizes
from dashboard.views.arrangement import PANE_MIN_COLUMNS
from dashboard.views.changes.drafts import as_markdown, draft
from dashboard.views.drawing.graph_slot import GraphSlot
from dashboard.views.drawing.lines import Line, Span, hairline
from dashboard.views.drawing.markdown import clean_markdown
from dashboard.views.drawing.prose import prose
from dashboard.views.facts.run_page import report_words, run_lines
from dashboard.views.facts.run_times import RunTimes
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines
from dashboard.widgets.panel import Panel
from dashboard.widgets.report import Report
from engine.core.state import Run

REPORT_MS = 1_000
"""Minimum interval of updates of a draft, in milliseconds."""
GRAPH_MIN_HEIGHT = 45
"""Minimum height of the screen for the graph."""
MAX_DRAFT_CHARACTERS = 60_000
"""Characters of a draft that are shown, counted from its end."""
_OF_OPEN = ("D", "P", "ctrl+d", "f")
"""Keys without an effect on an ended run."""


class ReportSizes(PaneSizes):
    """The sizes of the panes of a run; all but the report are closed while it covers the page."""

    def __init__(self, screen: "RunScreen") -> None:
        super().__init__(screen, screen.GRIPS, screen.update_now)
        self._run_screen = screen

    def is_open(self, grip: Grip) -> bool:
        return not self._run_screen.is_whole and super().is_open(grip)


class RunReport:
    """The output of a run; while the run works, its draft, in a pane that is cheap to extend."""

    def __init__(self, page: "RunScreen") -> None:
        self._page = page
        self.text = ""
        """The output, or its draft."""
        self._due_ms = 0
        """Time of the next draft."""

    def show(self, view: ViewState, run: Run | None) -> None:
        """Fill the pane of the draft, or that of the output."""
        page = self._page
        page.panel("draft").display = run is not None
        page.query_one("#heading").display = page.report.display = run is None
        if run is not None:
            self._show_draft(view, run)
        else:
            self._show_output(view)

    def _show_draft(self, view: ViewState, run: Run) -> None:
        page, pane = self._page, self._page.panel("draft")
        if view.is_due(self._due_ms):
            self._due_ms = view.wall_ms + REPORT_MS
            self.text = draft(view.state, run, view.live, page.reading.texts)
        text = self.text
        if not text:
            request = as_markdown(page.reading.texts.of(run.request))
            text = f"{request}\n\n---\n\nwas asked for; the output of the run will appear here"
        pane.edge = page.report_joint
        words = report_words(view.state, run.id, self.text, whole=page.is_whole)
        pane.fill("REPORT", prose(text, pane.wide, max_characters=MAX_DRAFT_CHARACTERS), right=words)

    def _show_output(self, view: ViewState) -> None:
        page, joint = self._page, self._page.report_joint
        summary = view.state.summary(page.subject_id)
        output = page.reading.texts.of(summary.output) if summary is not None else ""
        words = report_words(view.state, page.subject_id, output, whole=page.is_whole)
        line = hairline("REPORT", max(0, page.query_one("#right").size.width - len(joint)), right=words)
        edge = [Span(joint, "line")] if joint else []
        page.query_one("#heading", Lines).show([line._replace(spans=(*edge, *line.spans))])
        if output != self.text or not page.report.has_text:  # parsing a long report takes a whole frame
            self.text = output
            page.report.show(clean_markdown(as_markdown(output)) or "*no output*")


class RunGraph:
    """The graph of a run below its report, if there is room; of an ended run as it was before the end."""

    def __init__(self, page: "RunScreen") -> None:
        self._page = page
        self._slot = GraphSlot()
        self._ended_run: EndedRun | None = None

    def show(self, view: ViewState, run: Run | None) -> None:
        """Fill the pane, or hide it."""
        page, pane = self._page, self._page.query_one("#graph", Lines)
        has_room = not page.is_stacked and page.size.height >= GRAPH_MIN_HEIGHT
        sight = None
        if has_room and run is None:
            self._ended_run = self._ended_run or EndedRun(page.deck, page.update_now)
            sight = self._ended_run.sight(page.subject_id, view)
        pane.display = has_room and (run is not None or sight is not None)
        if not (pane.display and pane.size.width):
            return
        width, height = pane.size
        calm = page.app.animation_level == "none"
        lines = self._slot.lines(view, page.subject_id, width - 1, height, calm=calm, final_sight=sight)
        edged = [Line((Span("├" if not at else "│", "line"), *line.spans)) for at, line in enumerate(lines)]
        pane.show(edged)


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
        self.sizes = ReportSizes(self)
        self.is_whole = False
        self._times = RunTimes()
        """Whether the report covers the page."""
        self._tasks, self._output, self._graph = RunTasks(self), RunReport(self), RunGraph(self)
        self.reading = PageReading(self, self._tasks.read, self.show_body)

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

    @property
    def report_joint(self) -> str:
        """The sign by which the title of the report joins the line at its left; empty if there is none."""
        return "" if self.is_stacked or self.is_whole else "┬"

    def draw(self, view: ViewState) -> None:
        run, tasks, width = view.state.runs.get(self.subject_id), self._tasks, self.size.width
        if run is not None:
            tasks.count(view, run)
        stages, now_ms = tasks.census.stages, view.now_ms
        times = self._times.of(view, self.subject_id)
        facts = run_lines(view.state, self.subject_id, stages, view.counts, width=width, now_ms=now_ms, times=times)
        self.show_facts(facts)
        if not self.is_whole:
            tasks.show(view, run)
        self._output.show(view, run)
        self._graph.show(view, run)

    def copyable_text(self) -> tuple[str, str]:
        return "the report", self._output.text

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


PAGE = RunScreen
