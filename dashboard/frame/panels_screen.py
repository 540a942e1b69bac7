"""A page of titled panes below a few lines of facts: the base of the pages of agents, tasks and runs."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding
from textual.geometry import Size
from textual.widget import Widget

from dashboard.frame.frame import Frame
from dashboard.frame.page_reading import PageReading
from dashboard.views.arrangement import PANE_MIN_COLUMNS
from dashboard.views.drawing.lines import Line
from dashboard.views.event_log import Entry
from dashboard.views.facts.agent_says import event_lines
from dashboard.views.facts.step_table import LIVE, live_lines, step_lines
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import Names
from dashboard.widgets.lines import Lines
from dashboard.widgets.panel import Panel
from engine.core.state import Task

PROMPT_KEY = Binding("p", "prompt_pane", "prompt", show=False)
"""Key of pages that show a prompt; in the past the key plays instead."""


class LineCache:
    """Lines of long lists, with the data that they were made from."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[object, list[Line]]] = {}

    def lines(self, name: str, of: object, make: Callable[[], list[Line]]) -> list[Line]:
        """Return the lines of a list, made again if `of` has changed."""
        entry = self._entries.get(name)
        if entry is None or entry[0] != of:
            entry = self._entries[name] = of, make()
        return entry[1]


class StepTable:
    """The steps of the task that a page is about; unfolded ones show their input and output."""

    def __init__(self) -> None:
        self.entries: Sequence[Entry] = ()
        """The steps, the oldest first."""
        self._unfolded: frozenset[str] = frozenset()
        """Unfolded steps, by the seq of their event."""
        self._cache = LineCache()

    def toggle(self, key: str) -> bool:
        """Unfold or fold a step; return whether there is one with this key."""
        is_step = any(str(entry.seq) == key for entry in self.entries)
        if is_step:
            self._unfolded ^= {key}
        return is_step

    def index(self, key: str) -> int | None:
        """Return the index of the step with a key; for a step in progress, that of the last recorded one."""
        newest = len(self.entries) - 1 if key.startswith(LIVE) and self.entries else None
        return next((at for at, entry in enumerate(self.entries) if str(entry.seq) == key), newest)

    def lines(self, view: ViewState, task: Task | None, width: int) -> list[Line]:
        """Return a line for each step, and one for the current step of an open task."""
        entries, unfolded = self.entries, self._unfolded
        lines = self._cache.lines(
            "steps", (entries, width, unfolded), lambda: step_lines(entries, width, unfolded=unfolded)
        )
        if task is None or task.ended:
            return lines
        activity = view.counts.activities.of_task(task)
        return lines + live_lines(view.live, task.id, len(entries) + 1, width, activity=activity, now_ms=view.now_ms)


class PanelsScreen(Frame):
    """Facts above, panes below. Steps unfold on enter; other lines open what they are about."""

    FINDS = True
    FIRST: ClassVar[str] = ""
    """Id of the pane that has the focus."""
    PROMPT: ClassVar[str] = ""
    """Id of the pane of the prompt, which has the focus while the prompt is unfolded."""
    GROWING: ClassVar[str] = "says"
    """Id of the pane whose text grows."""
    BINDINGS = [Binding("f", "follow", "hold or follow", show=False)]
    DEFAULT_CSS = """
    PanelsScreen #facts { height: 3; max-height: 40%; background: $surface; }
    """

    reading: PageReading
    """Reads the events of the object."""

    def __init__(self, subject_id: str) -> None:
        super().__init__(subject_id)
        self.steps = StepTable()
        self.line_cache = LineCache()
        self._sizes: list[Size] = []
        """Sizes of the panels at the last redraw that was caused by a resize."""

    @property
    def is_stacked(self) -> bool:
        """Whether the panes are stacked because the screen is narrow."""
        return self.size.width < PANE_MIN_COLUMNS

    def draw(self, view: ViewState) -> None:
        """Redraw with the available data; missing texts that were requested from `texts` are read next."""
        raise NotImplementedError

    def show(self, view: ViewState) -> None:
        self.reading.begin(view)
        self.draw(view)
        self.reading.proceed(view)

    def panel(self, name: str) -> Panel:
        return self.query_one(f"#{name}", Panel)

    def show_facts(self, lines: Sequence[Line]) -> None:
        facts = self.query_one("#facts", Lines)
        give_rows(facts, len(lines))
        facts.show(lines)

    def focus_body(self) -> None:
        if self.display:  # else it was left before it was laid out
            self.panel(self.PROMPT if self.has_class("-prompt") else self.FIRST).focus()

    def on_mount(self) -> None:
        self.focus_body()

    def on_lines_resized(self) -> None:
        sizes = [pane.size for pane in self.query(Lines)]
        if sizes != self._sizes and self.is_there:  # each of them tells, and one look fills them all
            self._sizes = sizes
            self.update_view(self.deck.view)

    def on_panel_opened(self, event: Panel.Opened) -> None:
        if self.steps.toggle(event.key):
            self.update_view(self.deck.view)
        elif not event.key.startswith(LIVE):
            self.deck.open_key(event.key)

    def copyable_text(self) -> tuple[str, str]:
        pane = self.focused if isinstance(self.focused, Panel) else self.panel(self.GROWING)
        return pane.title.lower(), pane.whole

    def cached_event_lines(self, names: Names, width: int, *, agent_id: str = "") -> list[Line]:
        """Return the events of the page as sentences."""
        of = (self.reading.entries, width, names, names.renames)
        return self.line_cache.lines("events", of, lambda: event_lines(of[0], names, width, agent_id=agent_id))

    def action_follow(self) -> None:
        """Hold the growing text where it is, or follow its end again."""
        pane = self.panel(self.GROWING)
        if pane.follows:
            pane.follows = False
        else:
            pane.follow()
        self.update_view(self.deck.view)

    def action_prompt_pane(self) -> None:
        """Unfold or fold the prompt as it was sent."""
        self.toggle_class("-prompt")
        self.focus_body()
        self.call_after_refresh(self.update_now)

    def action_back(self) -> None:
        if self.has_class("-prompt"):
            self.action_prompt_pane()
        else:
            super().action_back()


def give_rows(pane: Widget, rows: int) -> None:
    """Set the height of a pane in rows; 0 hides it."""
    pane.display = rows > 0
    if rows > 0 and (pane.styles.height is None or pane.styles.height.value != rows):
        pane.styles.height = rows
