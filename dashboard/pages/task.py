"""The page of a task: its input, its attempts and steps, its output, and its events."""

from collections.abc import Iterable

from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from dashboard.frame.page_reading import PageReading
from dashboard.frame.panels_screen import PROMPT_KEY, PanelsScreen
from dashboard.frame.sizing import Grip
from dashboard.reading.newest import Newest
from dashboard.views.arrangement import PANE_MIN_COLUMNS
from dashboard.views.drawing.lines import BLANK, Line, Span, hairline
from dashboard.views.drawing.values import output_lines
from dashboard.views.event_log import Entry
from dashboard.views.facts.agent_says import latest_output
from dashboard.views.facts.conversation import TaskConversation
from dashboard.views.facts.ended import ended_tasks_in
from dashboard.views.facts.prompt import prompt_lines, prompt_of
from dashboard.views.facts.step_table import steps_among
from dashboard.views.facts.task import task_facts
from dashboard.views.facts.task_page import attempt_lines, child_lines, task_lines
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines
from dashboard.widgets.panel import Panel
from engine.core.state import Task
from store import Reader

READ = 500
"""Newest events of a task that are read."""
MAX_CHILDREN = 200
"""Children of a task that are listed; the Tasks screen has all of them."""


class TaskScreen(PanelsScreen):
    """A task."""

    GRIPS = (
        Grip("asked", "left", "left", before=True),
        Grip("says", "left", "left", before=True),
        Grip("events", "events", "top"),
    )
    HORIZONTAL_BREAKPOINTS = [(0, "-stacked"), (PANE_MIN_COLUMNS, "-beside")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]
    KEYS = (
        ("esc", "back"),
        ("tab", "pane"),
        (
            "enter",
            "open or unfold",
            "open the task or event under the cursor; of a step show all of its input and result",
        ),
        "steer",
        "priority",
        "deadline",
        "reassign",
        "cancel",
        "retry",
        ("p", "prompt"),
        ("f", "hold"),
        "back here",
    )
    FIRST, PROMPT = "steps", "asked"
    BINDINGS = [PROMPT_KEY]
    DEFAULT_CSS = """
    TaskScreen {
        #left { width: 45%; max-width: 84; }
        #events { height: 35%; }
        #middle { width: 1fr; }
        #asked { height: 35%; }
        &.-stacked {
            #body { layout: vertical; }
            #left { width: 100%; max-width: 100%; height: 50%; }
            #asked { height: 40%; }
        }
        &.-stacked.-low #events { display: none; }
    }
    """

    def __init__(self, subject_id: str) -> None:
        super().__init__(subject_id)
        self.reading = PageReading(self, self.read, self.show_body, self.task_needing_input)
        self._run_id: str | None = None
        self._newest, self._conversation = Newest(READ), TaskConversation()

    def body(self) -> Iterable[Widget]:
        yield Lines(id="facts")
        left = Vertical(Panel(id="steps", marks=True), Panel(id="events", follows=True), id="left")
        middle = Vertical(Panel(id="asked", edge="┬"), Panel(id="says", edge="├", follows=True), id="middle")
        yield Horizontal(left, middle, id="body")

    def draw(self, view: ViewState) -> None:
        state, now_ms, width = view.state, view.now_ms, self.size.width
        task = state.tasks.get(self.subject_id)
        self.steps.entries = steps_among(self.reading.entries, self.subject_id)
        self.panel("asked").edge, self.panel("says").edge = ("", "") if self.is_stacked else ("┬", "├")
        ended_tasks = ended_tasks_in(self.reading.entries[::-1], view.names) if task is None else []
        subject = task or next((ended_task for ended_task in ended_tasks if ended_task.id == self.subject_id), None)
        facts = []
        if subject is not None:
            facts = task_facts(state, subject, view.counts, view.live, view.names, now_ms=now_ms)
        title = subject.title if subject is not None else view.names.of(self.subject_id)
        self.show_facts(task_lines(facts, title, self.subject_id, width))
        self._show_steps(view, task)
        self._show_asked(view, task)
        self._show_says(view, task)
        events = self.panel("events")
        events.fill("EVENTS", self.cached_event_lines(view.names, events.wide), right="enter opens")

    def _show_steps(self, view: ViewState, task: Task | None) -> None:
        pane, now_ms = self.panel("steps"), view.now_ms
        width = pane.wide
        steps = self.steps.lines(view, task, width)
        attempts = attempt_lines(self.reading.entries, self.subject_id, view.names, width=width)
        children = list[Line]()
        if task is not None and task.children:
            children = child_lines(view.state, task, view.counts, width=width, now_ms=now_ms, max_lines=MAX_CHILDREN)
        sections = [("ATTEMPTS", attempts), ("TASKS", children), ("STEPS", steps)]
        filled_sections = [(title, lines) for title, lines in sections if lines]
        if not filled_sections:
            pane.fill("ATTEMPTS", [_make_faint_line("none began yet")])
            return
        lines = [*filled_sections[0][1]]
        for title, more in filled_sections[1:]:
            lines += [BLANK, hairline(title, width, right=f"{len(more):,}"), *more]
        pane.fill(filled_sections[0][0], lines, right=f"{len(filled_sections[0][1]):,}")

    def _show_asked(self, view: ViewState, task: Task | None) -> None:
        pane = self.panel("asked")
        if self.has_class("-prompt"):
            task_input = self.reading.inputs.get(self.subject_id, "")
            steps, parts, texts = self.steps.entries, self.reading.parts, self.reading.texts
            messages = prompt_of(view.state, task, steps, parts, texts, request=task_input)
            pane.fill("PROMPT", prompt_lines(messages, pane.wide), right="as sent · p folds")
            return
        input_text = self.reading.inputs.get(self.subject_id) or view.names.of(self.subject_id)
        task_input = self.reading.texts.of(task.input) if task is not None else input_text
        right = "p shows the prompt as sent" if self.reading.parts else ""
        pane.fill("ASKED", output_lines(task_input, pane.wide), right=right)

    def _show_says(self, view: ViewState, task: Task | None) -> None:
        pane = self.panel("says")
        section = latest_output(
            view.state,
            task,
            self.subject_id,
            self._conversation.lines(self.reading.entries, self.subject_id, view.names, pane.wide),
            view.counts,
            view.live,
            width=pane.wide,
            now_ms=view.now_ms,
        )
        lines, title = section.lines, section.title
        if task is not None and task.ended and task.output is not None:
            lines = output_lines(self.reading.texts.of(task.output), pane.wide)
        grows = task is not None and not task.ended
        title = title if grows else "OUTPUT"
        right = pane.follow_growth(self.subject_id if grows else None)
        pane.fill(
            title, lines or [_make_faint_line("nothing" if task is None or task.ended else "nothing yet")], right=right
        )

    def task_needing_input(self, view: ViewState) -> str | None:
        """Return the task if the state has dropped it, and its input with it."""
        return None if self.subject_id in view.state.tasks else self.subject_id

    def read(self, reader: Reader, view: ViewState) -> list[Entry]:
        """Read the events of the task, the newest last."""
        task = view.state.tasks.get(self.subject_id)
        self._run_id = task.run_id if task is not None else self._run_id
        return self._newest.up_to(view.state.seq, reader, view.names, run_id=self._run_id, task_id=self.subject_id)


def _make_faint_line(text: str) -> Line:
    return Line((Span(text, "faint"),))


PAGE = TaskScreen
