"""The Timeline screen: a lane for each agent over the whole journal, with swaps, failures and questions."""

from functools import cached_property

from textual.binding import Binding

from dashboard.deck.timelines import TimelineHistory
from dashboard.frame.board_screen import BoardScreen
from dashboard.frame.folded_teams import FoldedTeams
from dashboard.reading.feed import entries_of
from dashboard.views.changes.targets import Target, target_of
from dashboard.views.drawing.lines import BLANK, Line, Span, fit_height
from dashboard.views.drawing.rows import Cell, Column
from dashboard.views.event_log import Entry
from dashboard.views.facts.now import silent_since_ms
from dashboard.views.timeline import Lanes, Timeline, TimelineView, draw_timeline
from dashboard.views.timeline.lanes import ENDS, KINDS, STEP_KINDS
from dashboard.views.timeline.moment import moment_lines
from dashboard.views.timeline.rows import LaneRow, labels_by_agent, rows_of
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import percent
from dashboard.views.words.help import P50_MEANING
from dashboard.views.words.news import silent_agents
from dashboard.widgets.board import Board
from store import Reader

DRAWN_EVERY_MS = 500
READ_EVERY_MS = 1_000
"""Minimum interval of reads of the events at the end, in milliseconds."""
TEXT_HEIGHT, TALL_TEXT_HEIGHT = 6, 12
"""Lines of the pane about the moment under the cursor."""
TEXT_MIN_HEIGHT, TALL_TEXT_MIN_HEIGHT = 25, 39
"""Minimum lines of the body for these heights; those of terminals with 30 and 44 rows."""
LABEL_COLUMNS = 40
"""Columns of names and figures."""
MIN_SPAN_MS = 50
"""Shortest period that the zoom shows, in milliseconds."""
EVENTS = 24
"""Events that are read for the moment under the cursor."""
TITLES = 400
"""Attempts whose titles are looked up."""


class TimelineScreen(BoardScreen):
    """Lanes of agents over the time of the journal; bars of open attempts grow."""

    PLACE = "timeline"
    KEYS = (
        ("←→", "task", "go to the task before or after"),
        ("↑↓", "lane", "go to the lane above or below"),
        ("+−", "zoom", "see less time in more detail, or more of it"),
        ("home", "all", "show the whole time of the journal"),
        ("f", "fold", "draw the team under the cursor as one lane, or its members"),
        ("A", "fold all", "draw all teams as one lane each, or their members"),
        ("g", "unfold idle", "draw idle time as long as it was, or fold it"),
        ("enter", "open"),
        ("b", "back here"),
        "swap",
    )
    HEADINGS = (
        Column(
            "LANES",
            meaning="an agent over time, under its supervisor; the height is the share of its slots at work",
        ),
        Column("BUSY", meaning="how much of the time that is shown it was at work"),
        Column("P50", meaning=P50_MEANING),
    )
    BINDINGS = [
        Binding("left", "step(-1)", "task before", show=False),
        Binding("right", "step(1)", "next task", show=False),
        Binding("up,k", "lane(-1)", "lane above", show=False),
        Binding("down,j", "lane(1)", "lane below", show=False),
        Binding("pageup", "lane(-10)", "page up", show=False),
        Binding("pagedown", "lane(10)", "page down", show=False),
        Binding("plus,equals_sign", "zoom(0.5)", "zoom in", show=False),
        Binding("minus", "zoom(2.0)", "zoom out", show=False),
        Binding("home", "all", "all", show=False),
        Binding("f", "fold_team", "fold", show=False),
        Binding("A", "fold_all", "fold all", show=False),
        Binding("g", "unfold", "unfold", show=False),
        Binding("end,G", "newest", "newest", show=False),
        Binding("enter", "open", "open", show=False),
        Binding("b", "back_here", "back here", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._span_ms: int | None = None
        """Length of the visible period; None for the whole journal."""
        self._end_ms: int | None = None
        """End of the visible period; None follows the newest event."""
        self._cursor_ms: int | None = None
        self._lane = 0
        self._unfolded, self._teams = False, FoldedTeams()
        self._rows: list[LaneRow] = []
        self._drawing: Timeline | None = None
        self._next_ms = 0
        self._cursor_entries: list[Entry] | None = None
        self._events_key: tuple[str, int, int] = ("", 0, 0)
        self._events_follow = False
        """Whether these events are those at the end of the journal."""
        self._reading_events, self._events_ms = False, 0

    @cached_property
    def _history(self) -> TimelineHistory:
        return TimelineHistory(self.deck, self.redraw_now)

    def on_unmount(self) -> None:
        self._history.leave()

    def show(self, view: ViewState) -> None:
        width, height = self.board.size
        if not (width and height):
            return
        history = self._history
        history.update()
        if history.lanes.is_empty:
            text = "nothing happened yet" if history.is_read else f"reading the journal, {percent(history.progress)} …"
            lines = [*[BLANK] * (height // 3), Line((Span(f"   {text}", "strong"),))]
            hint = Line((Span("   n  gives the team a request, and its work is drawn here", "muted"),))
            self.board.show(fit_height([*lines, *([hint] if history.is_read and view.can_write else [])], height))
            return
        if history.is_behind or not view.is_due(self._next_ms):
            return
        self._next_ms = view.wall_ms + DRAWN_EVERY_MS
        self._draw(view, width, height)

    def _draw(self, view: ViewState, width: int, height: int) -> None:
        whole, lanes = self._history.lanes, self._visible_lanes()
        until_ms = view.now_ms if view.activity.until_ms is None else view.activity.until_ms
        whole.advance(until_ms)
        if view.past is None and whole.seq <= view.state.seq:
            for each in {id(whole): whole, id(lanes): lanes}.values():
                each.keep_questions(view.state.escalations)
        now_ms = max(lanes.moment(lanes.advance(until_ms)), 0)
        begin_ms, end_ms = self._stretch(now_ms)
        text_height = (
            TALL_TEXT_HEIGHT if height >= TALL_TEXT_MIN_HEIGHT else TEXT_HEIGHT if height >= TEXT_MIN_HEIGHT else 0
        )
        room = height - text_height
        self._rows = rows_of(
            view.state,
            lanes.lanes,
            names=view.names.of,
            needle=self.finding.needle,
            available=room - 2,
            folded=self._teams.of(view.state, room - 2),
            kind_of=view.counts.kind_of,
            labels=labels_by_agent(view.state, (*whole.spans, *whole.open_attempts())) if self.finding.needle else {},
        )
        self._lane = max(0, min(self._lane, len(self._rows) - 1))
        past_ms = view.now_ms if view.past is not None else None
        cursor_ms = next((at for at in (self._cursor_ms, past_ms) if at is not None), end_ms)
        cursor = lanes.position_at(cursor_ms)
        viewport = TimelineView(
            state=view.state,
            rows=self._rows,
            begin=lanes.position_at(begin_ms),
            end=lanes.position_at(end_ms),
            cursor=cursor,
            lane=self._lane,
            unfolded=self._unfolded,
            busy_of=view.counts.busy_of,
            open_steps=_open_steps(view, lanes),
            titles=_titles(view, lanes),
            shown_until=None if past_ms is None else lanes.position_at(past_ms),
        )
        self._drawing = draw_timeline(lanes, viewport, width=width, height=room)
        lines = list(self._drawing.lines)
        if text_height:
            self._read_cursor_events(view, lanes, cursor)
            row = self._rows[self._lane] if self._rows else None
            # The lanes of a part have truncated attempts.
            remembered_lanes = whole if whole.remembers(whole.position_at(cursor_ms)) else lanes
            lines += moment_lines(
                remembered_lanes,
                row.id if row else "",
                row.name if row else "",
                self._cursor_entries,
                view.names,
                at=remembered_lanes.position_at(cursor_ms),
                step_ms=self._drawing.axis.step,
                width=width,
                height=text_height,
            )
        self.board.show(lines)

    def _stretch(self, now_ms: int) -> tuple[int, int]:
        """Return start and end of the visible period."""
        end_ms = now_ms if self._end_ms is None else min(self._end_ms, now_ms)
        if self._span_ms is None:
            return self._history.lanes.first_ms, end_ms
        lanes = self._history.lanes
        return lanes.moment(max(0, lanes.position_at(end_ms) - self._span_ms)), end_ms

    def _visible_lanes(self) -> Lanes:
        """Return the lanes to draw; zoomed in, with smaller slots."""
        history, span_ms = self._history, self._span_ms
        lanes = history.lanes
        if span_ms is None:
            return lanes
        begin_ms, end_ms = self._stretch(max(lanes.last_ms, self._end_ms or 0))
        step_ms = span_ms / max(20, self.board.size.width - LABEL_COLUMNS)
        return history.zoom_lanes(
            lanes.position_at(begin_ms), lanes.position_at(end_ms), step_ms=step_ms, follows=self._end_ms is None
        )

    def _read_cursor_events(self, view: ViewState, lanes: Lanes, cursor: int) -> None:
        """Read the events at the cursor, of its lane."""
        if self._drawing is None or not self._rows or self._reading_events:
            return
        row, step = self._rows[self._lane], self._drawing.axis.step
        first, last = lanes.seq_at(cursor - step), lanes.seq_at(cursor + step)
        stretch = (row.id, first, last)
        newest = self._cursor_ms is None
        is_growing = newest and self._events_follow and stretch[0] == self._events_key[0]
        if stretch == self._events_key or self.deck.feed.trouble or (is_growing and not view.is_due(self._events_ms)):
            return
        if not is_growing and stretch[:2] != self._events_key[:2]:
            self._cursor_entries = None  # another moment; at the end, old events stay until newer ones are read
        self._reading_events, self._events_key, self._events_follow = True, stretch, newest
        self._events_ms = view.wall_ms + READ_EVERY_MS
        at_ms, names, agent_id = lanes.moment(cursor), self.deck.feed.names, None if row.members else row.id

        def read(reader: Reader) -> list[Entry]:
            kinds = sorted(KINDS - {"attempt_started", "attempt_resumed", "attempt_parked"})
            after = max(0, first - 1)
            if agent_id is None:
                records = reader.records(after, EVENTS, kinds=kinds)
            else:
                records = reader.records(after, EVENTS, kinds=kinds, agent_id=agent_id)
            near = [record for record in records if record.seq <= max(last, first) + 1_000]
            return entries_of(reader, sorted(near, key=lambda record: abs(record.at_ms - at_ms)), names)

        def receive(entries: list[Entry]) -> None:
            self._reading_events, self._cursor_entries = False, entries
            if self.is_current and not is_growing:  # else the next redraw shows it
                self._next_ms = 0
                self.show_body()

        self.deck.background.read(read, receive, on_failure=self._handle_cursor_read_failure)

    def _handle_cursor_read_failure(self) -> None:
        """Allow another read at the next redraw."""
        self._reading_events, self._events_key = False, ("", 0, 0)

    def facts(self) -> list[Cell]:
        facts = []
        if self._span_ms is not None:
            facts.append(Cell("zoomed, home shows all", "accent"))
        if not self._history.is_read:
            facts.append(Cell(f"reading {percent(self._history.progress)}", "draining"))
        elif self._drawing is not None and self._drawing.axis.step >= 10_000:
            facts.append(Cell("added up, + zooms in", "muted"))
        return facts

    def target(self) -> Target | None:
        return target_of(self.state, self._rows[self._lane].id) if self._rows else None

    def forget(self) -> None:
        self._next_ms = 0

    def _column(self) -> int:
        assert self._drawing is not None
        axis = self._drawing.axis
        lanes = self._visible_lanes()
        at = lanes.position_at(self._cursor_ms) if self._cursor_ms is not None else axis.columns[-1].end
        column = axis.column_of(at)
        return len(axis.columns) - 1 if column is None else column

    def action_step(self, by: int) -> None:
        """Go to the next or the previous column of the lane that is not idle."""
        if self._drawing is None or not self._drawing.axis.columns or not self._rows:
            return
        columns, text = self._drawing.axis.columns, _lane_text(self._drawing)
        now = self._column()
        place = now + by
        while 0 < place < len(columns) - 1 and (
            columns[place].folded_ms or text[place : place + 1] in (" ", "─", "│", "")
        ):
            place += by
        lanes = self._visible_lanes()
        if 0 <= place < len(columns) and not columns[place].folded_ms:
            self._cursor_ms = lanes.moment((columns[place].begin + columns[place].end) // 2)
            if place == len(columns) - 1 and self._end_ms is None:
                self._cursor_ms = None
        elif self._span_ms is not None:
            edge = columns[0].begin if by < 0 else columns[-1].end
            self._cursor_ms = max(self._history.lanes.first_ms, lanes.moment(max(0, edge)) + by * self._span_ms // 4)
            self._end_ms = self._cursor_ms + self._span_ms // 2
            if self._end_ms >= self._history.lanes.last_ms:
                self._end_ms = None
        self.redraw_now()

    def action_lane(self, by: int) -> None:
        self._lane = max(0, min(self._lane + by, len(self._rows) - 1))
        self.redraw_now()

    def action_zoom(self, by: float) -> None:
        """Halve or double the visible period around the cursor."""
        lanes = self._history.lanes
        if lanes.is_empty:
            return
        whole = lanes.position_at(lanes.last_ms)
        span = int((whole if self._span_ms is None else self._span_ms) * by)
        self._span_ms = None if span >= whole else max(MIN_SPAN_MS, span)
        if self._span_ms is None or self._cursor_ms is None:
            self._end_ms = None
        else:
            end = lanes.position_at(self._cursor_ms) + self._span_ms // 2
            self._end_ms = None if end >= whole else lanes.moment(end)
        self.redraw_now()

    def action_all(self) -> None:
        """Show the whole journal."""
        self._span_ms = self._end_ms = None
        self.redraw_now()

    def action_fold_team(self) -> None:
        """Draw the team under the cursor as one lane, which the cursor goes to, or its members."""
        key = self._rows[self._lane].id if self._rows else ""
        agent = self.state.agents.get(key)
        team_id = agent.supervisor_id if agent is not None else key
        if team_id in self.state.supervisors:
            self._teams.toggle(team_id)
            self._lane = next((place for place, row in enumerate(self._rows) if row.id == team_id), self._lane)
            self.redraw_now()

    def action_fold_all(self) -> None:
        """Draw all teams as one lane each, or their members."""
        self._teams.toggle_all(self.state, self.board.size[1])
        self._lane = 0
        self.redraw_now()

    def action_unfold(self) -> None:
        """Unfold or fold idle time."""
        self._unfolded = not self._unfolded
        self.redraw_now()

    def action_newest(self) -> None:
        """Follow the newest event."""
        self._cursor_ms = self._end_ms = None
        self.redraw_now()

    def action_open(self) -> None:
        """Open the task nearest to the cursor; for a finished run, the event."""
        entries = self._cursor_entries or []
        row = self._rows[self._lane] if self._rows else None
        agent = self.state.agents.get(row.id) if row is not None else None
        at_work = [*agent.running, *agent.parked] if agent is not None and self._cursor_ms is None else []
        near = next((entry for entry in entries if entry.kind in ENDS), entries[0] if entries else None)
        task_id = at_work[0] if at_work else str(getattr(near.event, "task_id", "")) if near is not None else ""
        if task_id in self.state.tasks:
            self.deck.open("task", task_id)
        elif near is not None:
            self.deck.open("event", str(near.seq))
        elif agent is not None:
            self.deck.open("agent", agent.id)

    def action_back_here(self) -> None:
        """Show the whole team as it was at this moment."""
        lanes = self._visible_lanes()
        if not lanes.is_empty:
            at_ms, self._cursor_ms = self._cursor_ms, None  # the cursor follows the moment shown
            self.deck.past.goto_time(lanes.last_ms if at_ms is None else at_ms)

    def on_board_pressed(self, event: Board.Pressed) -> None:
        """Move the cursor to the lane and the moment; a double click opens it."""
        drawing = self._drawing
        if drawing is None:
            return
        if drawing.top <= event.y < len(drawing.lines) and (key := drawing.lines[event.y].key):
            self._lane = next((index for index, row in enumerate(self._rows) if row.id == key), self._lane)
        x = event.x - drawing.left
        if 0 <= x < len(drawing.axis.columns) and event.y < len(drawing.lines):
            column = drawing.axis.columns[x]
            self._cursor_ms = self._visible_lanes().moment((column.begin + column.end) // 2)
        self.redraw_now()
        if event.again:
            self.action_open()

    def on_board_turned(self, event: Board.Turned) -> None:
        self.action_lane(event.by)

    def show_filtered(self, is_new: bool) -> None:
        self._next_ms = 0
        super().show_filtered(is_new)

    def action_back(self) -> None:
        """Go back to the newest event, then as on every screen."""
        if self._cursor_ms is not None and not self.finding.needle:
            self.action_newest()
        else:
            super().action_back()


def _lane_text(drawing: Timeline) -> str:
    """Return the drawn text of the lane under the cursor."""
    line = next((line for line in drawing.lines if line.tone == "selected"), BLANK)
    return "".join(span.text for span in line.spans)[drawing.left :]


def _open_steps(view: ViewState, lanes: Lanes) -> dict[str, list[tuple[int, str]]]:
    """Return from which position on agents are at which kind of step, and from which on they are silent."""
    open_steps: dict[str, list[tuple[int, str]]] = {}
    for task_id in lanes.open_task_ids:
        task = view.state.tasks.get(task_id)
        steps = None if task is None else view.counts.activities.open_steps(task)
        if task is not None and task.agent_id is not None and steps:
            kinds = [(lanes.position_at(step.since_ms), STEP_KINDS.get(step.what, "code")) for step in steps]
            open_steps[task.agent_id] = kinds
    for agent in silent_agents(view.state, view.counts, "stuck", "silent"):
        if (at_ms := silent_since_ms(agent, view.counts)) is not None:
            open_steps.setdefault(agent.id, []).append((lanes.position_at(at_ms), "silent"))
    return open_steps


def _titles(view: ViewState, lanes: Lanes) -> dict[str, str]:
    """Return the titles of recent attempts."""
    newest = [*lanes.open_attempts(), *reversed(lanes.spans)][:TITLES]
    named = {attempt.task_id: view.names.of(attempt.task_id) for attempt in newest}
    return {task_id: title for task_id, title in named.items() if title != task_id}


SCREEN = TimelineScreen
