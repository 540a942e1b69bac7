"""The Metrics screen: plots of the team over time, and a table of its members."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TypeVar

from textual import events
from textual.binding import Binding
from textual.containers import Vertical
from textual.widget import Widget

from dashboard.frame.table_screen import TableScreen
from dashboard.reading.feed import entries_before
from dashboard.views.drawing.rows import Cell, Listing
from dashboard.views.measures.activity import END_KINDS, SPEND_KINDS, AttemptEnd, AttemptSpend, ends_of, spends_of
from dashboard.views.measures.metric_rows import HEADS, ORDERS, count_figures, metric_rows, teams_of
from dashboard.views.measures.metrics import PLOT_COUNT, TABLE_MIN_LINES, WINDOWS_MS, Window, draw_plots, grid
from dashboard.views.measures.usage import is_metered
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import clock
from dashboard.widgets.lines import Lines
from dashboard.widgets.table import Table
from engine.core.queries.team.tree import agents_of
from engine.core.state import Agent
from store import Reader

MAX_RECORDS, PAGE = 20_000, 1_000
"""Maximum ends of attempts and reports of usage that are kept, so that a longer window is incomplete; and events of one
page.
"""
DRAW_EVERY_MS = 1_000
_T = TypeVar("_T", AttemptEnd, AttemptSpend)
_AXIS = 10
"""Approximate cells of the axis of a plot."""


class MetricsScreen(TableScreen):
    """Plots of a window of time for the team, one agent, or all agents below one supervisor."""

    PLACE = "metrics"
    ORDERS = tuple(ORDERS)
    HEADS = HEADS
    KEYS = (
        ("↑↓", "agent", "go to an agent"),
        ("enter", "only it", "plot only the agent or the supervisor under the cursor; again: the team"),
        ("w", "window", "plot the next longer window of time; after the longest one the shortest"),
        (">", "sort"),
        ("p", "one plot", "show one plot alone, then the next one, and after the last one all"),
        ("o", "page", "open the page of the agent or the supervisor under the cursor"),
        "swap",
    )
    BINDINGS = [
        Binding("w", "window", "window", show=False),
        Binding("p", "large", "one plot", show=False),
        Binding("o", "open_agent", "open", show=False),
    ]
    DEFAULT_CSS = """
    MetricsScreen #plots { height: 1fr; width: 1fr; }
    MetricsScreen Table { height: 45%; }
    MetricsScreen.-low Table { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._window, self._chose_window = next(iter(WINDOWS_MS)), False
        self._only: str | None = None
        self._large: int | None = None
        self._ends: deque[AttemptEnd] = deque(maxlen=MAX_RECORDS)
        self._spends: deque[AttemptSpend] = deque(maxlen=MAX_RECORDS)
        self._counts = (0, 0)
        """Counts of ends and usage in the feed at the last collection."""
        self._source: object = None
        self._failed_ms: int | None = None
        """Time of a failed read; None after a successful one."""
        self._drawing_key: tuple[object, ...] = ()
        self._plotted = Window(0, 0, 0)
        """Samples of the plots."""
        self._plotted_of: tuple[str, int, str | None] | None = None
        """Window, number of samples and member of `_plotted`; None counts again."""

    def body(self) -> Iterable[Widget]:
        with Vertical():
            yield Lines(id="plots")
            yield Table(id="body", sorts=True)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height < TABLE_MIN_LINES, "-low")
        self._drawing_key = ()

    def show(self, view: ViewState) -> None:
        self._collect(view)
        chosen = (self._window, self._only, self._large, self.sorting, self.finding.needle)
        stands = view.past is not None and not view.past.speed
        drawing_key = (window_end_ms(view) // DRAW_EVERY_MS, *chosen, view.state.seq if stands else view.state.seq == 0)
        if drawing_key != self._drawing_key:
            self._drawing_key = drawing_key
            self._draw(view)
            super().show(view)

    def _collect(self, view: ViewState) -> None:
        """Collect new ends of attempts; after a jump in time, read all of them again."""
        activity = view.activity
        again = self._failed_ms is not None and view.is_due(self._failed_ms + DRAW_EVERY_MS)
        if (activity is not self._source or again) and not view.situation.opening:  # it has no moment yet
            self._source, self._counts, self._failed_ms = activity, (activity.ended_count, activity.spend_count), None
            self._ends, self._spends = deque(activity.ends, MAX_RECORDS), deque(activity.spends, MAX_RECORDS)
            self._plotted_of = None
            self._fit_window(view)
            self._read(view)
        counts_before, self._counts = self._counts, (activity.ended_count, activity.spend_count)
        if counts_before != self._counts:
            new_ends = _last_records(activity.ends, activity.ended_count - counts_before[0])
            new_spends = _last_records(activity.spends, activity.spend_count - counts_before[1])
            self._ends.extend(new_ends)
            self._spends.extend(new_spends)
            self._plotted.add(self._plotted_records(new_ends))
            self._plotted.add_spends(self._plotted_records(new_spends))

    def _plotted_records(self, records: Iterable[_T]) -> Iterable[_T]:
        if self._alone is None:
            return records
        only = {agent.id for agent in self._plotted_agents()}
        return (record for record in records if record.agent_id in only)

    @property
    def _alone(self) -> str | None:
        """The member that is plotted alone; None for the whole team, or if it is not in the team."""
        state = self.state
        return self._only if self._only in state.agents or self._only in state.supervisors else None

    def _plotted_agents(self) -> list[Agent]:
        """Return the agents whose work is plotted."""
        state, only = self.state, self._alone
        return [*state.agents.values()] if only is None else agents_of(state, only)

    def _waiting(self, view: ViewState) -> int:
        only = self._alone
        return view.counts.waiting if only is None else view.counts.waiting_of[only]

    def _window_of(self, samples: int, now_ms: int) -> Window:
        """Return the samples of the plots; they are counted again only for another window, size or member."""
        plot_key = (self._window, samples, self._alone)
        if plot_key != self._plotted_of:
            self._plotted, self._plotted_of = Window(WINDOWS_MS[self._window], samples, now_ms), plot_key
            self._plotted.add(self._plotted_records(self._ends))
            self._plotted.add_spends(self._plotted_records(self._spends))
        return self._plotted

    def _fit_window(self, view: ViewState) -> None:
        """Choose the shortest window with an ended attempt, until the user chooses another one."""
        if not self._chose_window and self._ends:
            spent_ms = window_end_ms(view) - self._ends[-1].at_ms
            fit = (name for name, most_ms in WINDOWS_MS.items() if spent_ms < most_ms)
            self._window = next(fit, next(iter(WINDOWS_MS)))

    def _read(self, view: ViewState) -> None:
        """Read older ends and usage than the feed has, in a thread."""
        source, seq, names = self._source, view.state.seq, view.names
        from_ms = window_end_ms(view) - max(WINDOWS_MS.values())
        kinds = SPEND_KINDS if is_metered(view.state) else END_KINDS

        def read(reader: Reader) -> tuple[list[AttemptEnd], list[AttemptSpend]]:
            ends, spends, before = list[AttemptEnd](), list[AttemptSpend](), seq + 1
            for _ in range(MAX_RECORDS // PAGE):
                entries = entries_before(reader, before, PAGE, names, kinds=kinds)
                near = [entry for entry in entries if entry.at_ms >= from_ms]
                events = [entry.event for entry in near]
                ends[:0], spends[:0] = ends_of(events), spends_of(events)
                if len(near) < PAGE:
                    break
                before = near[0].seq
            return ends, spends

        def receive(result: tuple[list[AttemptEnd], list[AttemptSpend]]) -> None:
            ends, spends = result
            if source is self._source and (ends or spends):
                self._ends = deque([*ends, *_records_after(self._ends, ends)], MAX_RECORDS)
                self._spends = deque([*spends, *_records_after(self._spends, spends)], MAX_RECORDS)
                self._plotted_of = None
                self._fit_window(self.deck.view)
                self._drawing_key = ()
                self.update_now()

        def failed() -> None:
            if source is self._source:
                self._failed_ms = self.deck.view.wall_ms

        self.deck.background.read(read, receive, failed=failed)

    def _draw(self, view: ViewState) -> None:
        pane = self.query_one("#plots", Lines)
        size = pane.size
        across, _ = grid(size.width, size.height)
        tasks = [view.state.tasks.get(task_id) for agent in self._plotted_agents() for task_id in agent.running]
        samples = 2 * max(1, (size.width if self._large is not None else size.width // across) - _AXIS)
        now_ms = window_end_ms(view)
        attempts = [task.attempt for task in tasks if task is not None and task.attempt is not None]
        running_ms = [now_ms - attempt.at_work_ms(now_ms) for attempt in attempts]
        series = self._window_of(samples, now_ms).series(now_ms, running_ms)
        pane.show(
            draw_plots(
                series,
                view.activity,
                view.state,
                now_ms=now_ms,
                width=size.width,
                height=size.height,
                large=self._large,
                member=self._alone,
                agents=len(self._plotted_agents()),
                waiting=self._waiting(view),
                end="now" if now_ms == view.now_ms and view.past is None else clock(now_ms),
            )
        )

    def listing(self, view: ViewState) -> Listing:
        member_figures = count_figures(self._ends, window_end_ms(view) - WINDOWS_MS[self._window], teams_of(view.state))
        return metric_rows(
            view.state,
            member_figures,
            view.activity,
            now_ms=window_end_ms(view),
            order=self.sorting.order,
            needle=self.finding.needle,
            window=self._window,
        )

    def facts(self) -> list[Cell]:
        key = self._alone or ""
        member = self.state.agents.get(key) or self.state.supervisors.get(key)
        only = [Cell(f"only {member.name}", "accent")] if member is not None else []
        return [*only, Cell(f"window {self._window}", "muted"), *super().facts()]

    def open_row(self, key: str) -> None:
        self._only = None if self._only == key else key
        self.update_view(self.deck.view)

    def action_back(self) -> None:
        """Show all agents again; then as on every screen."""
        if self._large is not None or self._only is not None:
            self._large = self._only = None
            self.update_view(self.deck.view)
        else:
            super().action_back()

    def action_window(self) -> None:
        """Choose the next longer window; after the longest one, the shortest."""
        names, self._chose_window = [*WINDOWS_MS], True
        self._window = names[(names.index(self._window) + 1) % len(names)]
        self.update_view(self.deck.view)

    def action_large(self) -> None:
        """Show one plot alone, then the next one; after the last one, all of them."""
        place = 0 if self._large is None else self._large + 1
        self._large = place if place < PLOT_COUNT else None
        self.update_view(self.deck.view)

    def action_open_agent(self) -> None:
        if self.table.selected is not None:
            self.deck.open_key(self.table.selected)


def _last_records(records: Sequence[_T], count: int) -> list[_T]:
    return list(records)[-count:] if count > 0 else []


def _records_after(records: Iterable[_T], read: Sequence[_T]) -> list[_T]:
    """Return the records after the newest one of `read`."""
    return [record for record in records if not read or record.at_ms > read[-1].at_ms]


def window_end_ms(view: ViewState) -> int:
    """Return the end of the window: now, or the newest event of a file without an engine."""
    return view.now_ms if view.working or view.past is not None else view.state.at_ms


SCREEN = MetricsScreen
