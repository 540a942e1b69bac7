"""The Metrics screen: plots of the team over time, and a table of its members."""

from collections.abc import Iterable

from textual import events
from textual.binding import Binding
from textual.containers import Vertical
from textual.geometry import Size
from textual.widget import Widget

from dashboard.frame.attempt_records import AttemptRecords, window_end_ms
from dashboard.frame.table_screen import TableScreen
from dashboard.views.drawing.lines import Line
from dashboard.views.drawing.rows import Cell, Listing
from dashboard.views.measures.activity import AttemptEnd
from dashboard.views.measures.metric_rows import HEADS, ORDERS, count_figures, metric_rows, teams_of
from dashboard.views.measures.metrics import TABLE_MIN_LINES, WINDOWS_MS, Window, draw_plots, grid, plot_count
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import clock
from dashboard.widgets.lines import Lines
from dashboard.widgets.table import Table
from engine.core.queries.team.tree import agents_of
from engine.core.state import Agent, State

DRAW_EVERY_MS = 1_000
"""Shortest time between two redraws, in milliseconds."""
_AXIS = 10
"""Approximate cells of the axis of a plot."""


class TeamPlots:
    """The plots of a window of time for the team, one agent, or all agents below one supervisor."""

    def __init__(self, records: AttemptRecords) -> None:
        self._records = records
        self.window = next(iter(WINDOWS_MS))
        """Name of the window of time."""
        self._has_chosen_window = False
        self.member: str | None = None
        """The member that the user wants to see alone; None for the team."""
        self.large: int | None = None
        """Index of the only plot that is shown; None for all plots."""
        self._samples = Window(0, 0, 0)
        self._samples_key: tuple[object, ...] = ()
        """Window, number of samples, member and generation of the records of `_samples`, which others count again."""
        self._generation = 0
        """That of the records for which the window was fitted."""

    def update(self, view: ViewState) -> None:
        """Collect new ends of attempts."""
        if ends := self._records.update(view):
            self._count(view.state, ends)
        if self._records.generation != self._generation:
            self._generation = self._records.generation
            self._fit_window(view)

    def _fit_window(self, view: ViewState) -> None:
        """Choose the shortest window with an ended attempt, until the user chooses another one."""
        if not self._has_chosen_window and self._records.ends:
            spent_ms = window_end_ms(view) - self._records.ends[-1].at_ms
            fit = (name for name, most_ms in WINDOWS_MS.items() if spent_ms < most_ms)
            self.window = next(fit, next(iter(WINDOWS_MS)))

    def choose_next_window(self) -> None:
        """Choose the next longer window; after the longest one, the shortest."""
        names, self._has_chosen_window = [*WINDOWS_MS], True
        self.window = names[(names.index(self.window) + 1) % len(names)]

    def choose_next_plot(self, state: State) -> None:
        """Choose one plot, then the next one; after the last one, all of them."""
        place = 0 if self.large is None else self.large + 1
        self.large = place if place < plot_count(state) else None

    def member_in(self, state: State) -> str | None:
        """Return the member that is plotted alone; None for the whole team, or if it is not in the team."""
        return self.member if self.member in state.agents or self.member in state.supervisors else None

    def _agents_in(self, state: State) -> list[Agent]:
        """Return the agents whose work is plotted."""
        member = self.member_in(state)
        return [*state.agents.values()] if member is None else agents_of(state, member)

    def _count(self, state: State, ends: Iterable[AttemptEnd]) -> None:
        """Add the work of the plotted agents to the samples."""
        if self.member_in(state) is not None:
            agent_ids = {agent.id for agent in self._agents_in(state)}
            ends = [end for end in ends if end.agent_id in agent_ids]
        self._samples.add(ends)

    def lines(self, view: ViewState, size: Size) -> list[Line]:
        """Draw the plots."""
        state, now_ms = view.state, window_end_ms(view)
        member, agents = self.member_in(state), self._agents_in(state)
        across, _ = grid(size.width, size.height)
        samples = 2 * max(1, (size.width if self.large is not None else size.width // across) - _AXIS)
        samples_key = (self.window, samples, member, self._records.generation)
        if samples_key != self._samples_key:
            self._samples, self._samples_key = Window(WINDOWS_MS[self.window], samples, now_ms), samples_key
            self._count(state, self._records.ends)
        tasks = [state.tasks.get(task_id) for agent in agents for task_id in agent.running]
        attempts = [task.attempt for task in tasks if task is not None and task.attempt is not None]
        running_ms = [now_ms - attempt.at_work_ms(now_ms) for attempt in attempts]
        return draw_plots(
            self._samples.series(now_ms, running_ms),
            view.activity,
            state,
            now_ms=now_ms,
            width=size.width,
            height=size.height,
            large=self.large,
            member=member,
            agents=len(agents),
            waiting=view.counts.waiting if member is None else view.counts.waiting_of[member],
            end="now" if now_ms == view.now_ms and view.past is None else clock(now_ms),
        )


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
        self._records = AttemptRecords(self, self.update_now)
        self._plots = TeamPlots(self._records)
        self._drawing_key: tuple[object, ...] = ()

    def body(self) -> Iterable[Widget]:
        with Vertical():
            yield Lines(id="plots")
            yield Table(id="body", sorts=True)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height < TABLE_MIN_LINES, "-low")
        self._drawing_key = ()

    def show(self, view: ViewState) -> None:
        plots = self._plots
        plots.update(view)
        chosen = (plots.window, plots.member, plots.large, self.sorting, self.finding.needle)
        stands = view.past is not None and not view.past.speed
        moment = (window_end_ms(view) // DRAW_EVERY_MS, view.state.seq if stands else view.state.seq == 0)
        drawing_key = (*moment, *chosen, self._records.generation)
        if drawing_key != self._drawing_key:
            self._drawing_key = drawing_key
            pane = self.query_one("#plots", Lines)
            pane.show(plots.lines(view, pane.size))
            super().show(view)

    def listing(self, view: ViewState) -> Listing:
        window, now_ms = self._plots.window, window_end_ms(view)
        member_figures = count_figures(self._records.ends, now_ms - WINDOWS_MS[window], teams_of(view.state))
        return metric_rows(
            view.state,
            member_figures,
            view.activity,
            now_ms=now_ms,
            counts=view.counts,
            order=self.sorting.order,
            needle=self.finding.needle,
            window=window,
        )

    def facts(self) -> list[Cell]:
        key = self._plots.member_in(self.state) or ""
        member = self.state.agents.get(key) or self.state.supervisors.get(key)
        only = [Cell(f"only {member.name}", "accent")] if member is not None else []
        return [*only, Cell(f"window {self._plots.window}", "muted"), *super().facts()]

    def open_row(self, key: str) -> None:
        self._plots.member = None if self._plots.member == key else key
        self.update_view(self.deck.view)

    def action_back(self) -> None:
        """Show all agents again; then as on every screen."""
        if self._plots.large is not None or self._plots.member is not None:
            self._plots.large = self._plots.member = None
            self.update_view(self.deck.view)
        else:
            super().action_back()

    def action_window(self) -> None:
        self._plots.choose_next_window()
        self.update_view(self.deck.view)

    def action_large(self) -> None:
        self._plots.choose_next_plot(self.state)
        self.update_view(self.deck.view)

    def action_open_agent(self) -> None:
        if self.table.selected is not None:
            self.deck.open_key(self.table.selected)


SCREEN = MetricsScreen
