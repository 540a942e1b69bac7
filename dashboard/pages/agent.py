"""The page of an agent: its steps, its output, its prompt, its times, and its memory."""

from collections.abc import Iterable, Sequence

from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from dashboard.frame.page_reading import PageReading
from dashboard.frame.panels_screen import PROMPT_KEY, PanelsScreen
from dashboard.frame.sizing import Grip
from dashboard.reading.agent_events import AgentEvents
from dashboard.views.arrangement import PANE_MIN_COLUMNS
from dashboard.views.drawing.lines import BLANK, Line, Span, hairline
from dashboard.views.facts import agent_page
from dashboard.views.facts.agent import agent_facts
from dashboard.views.facts.agent_says import latest_output
from dashboard.views.facts.conversation import TaskConversation
from dashboard.views.facts.ended import ended_tasks_in
from dashboard.views.facts.prompt import prompt_beginning, prompt_lines, prompt_of
from dashboard.views.facts.step_table import steps_among
from dashboard.views.view_state import ViewState
from dashboard.views.words.absent import absence
from dashboard.widgets.lines import Lines
from dashboard.widgets.panel import Panel
from engine.core.state import Agent, Task

MAX_LAST_TASKS = 12
"""Last tasks that are listed."""
_NO_PROMPT = [Line((Span("no model was told anything here", "muted"),))]


class AgentScreen(PanelsScreen):
    """An agent."""

    GRIPS = (Grip("says", "left", "left", before=True), Grip("aside", "right", "left"), Grip("told", "told", "top"))
    HORIZONTAL_BREAKPOINTS = [(0, "-stacked"), (PANE_MIN_COLUMNS, "-beside"), (160, "-full")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]
    KEYS = (
        ("esc", "back"),
        "steer",
        "swap",
        "pause or resume",
        ("p", "prompt"),
        ("enter", "unfold", "show all of the input and the result of the step under the cursor"),
        ("f", "hold"),
        ("tab", "pane"),
        ("d", "describe"),
        "rollback",
        "capability",
        "move",
        "remove",
    )
    FIRST, PROMPT = "steps", "told"
    BINDINGS = [PROMPT_KEY]
    DEFAULT_CSS = """
    AgentScreen {
        #left { width: 39%; max-width: 72; }
        #told { height: 8; }
        #middle { width: 1fr; }
        #right { display: none; width: 28%; max-width: 64; }
        #times { height: 11; }
        #times_right { height: 16; }
        #times.-empty, #times_right.-empty { display: none; }
        &.-full #right { display: block; }
        &.-full #times { display: none; }
        &.-low #told, &.-low #times { display: none; }
        &.-stacked {
            #body { layout: vertical; }
            #left { width: 100%; max-width: 100%; height: 45%; }
            #told, #times { display: none; }
        }
        &.-stacked.-high #left { height: 40%; }
        &.-stacked.-high #times { display: block; }
        &.-stacked.-high #times.-empty { display: none; }
        &.-prompt {
            #steps { display: none; }
            #told { display: block; height: 1fr; }
            #left { width: 60%; max-width: 110; }
        }
        &.-prompt.-stacked {
            #middle { display: none; }
            #left { width: 100%; height: 1fr; }
        }
    }
    """

    def __init__(self, subject_id: str) -> None:
        super().__init__(subject_id)
        self.events, self._conversation = AgentEvents(subject_id), TaskConversation()
        self.reading = PageReading(self, self.events.read, self.show_body, self.events.task_needing_input)

    def body(self) -> Iterable[Widget]:
        yield Lines(id="facts")
        left = Vertical(Panel(id="steps", follows=True, marks=True), Panel(id="told"), id="left")
        middle = Vertical(Panel(id="says", edge="┬", follows=True), Panel(id="times", edge="├"), id="middle")
        right = Vertical(Panel(id="aside", edge="┬"), Panel(id="times_right", edge="├"), id="right")
        yield Horizontal(left, middle, right, id="body")

    def on_panel_moved(self, event: Panel.Moved) -> None:
        if event.panel.id in ("steps", "says"):
            self.update_view(self.deck.view)

    def draw(self, view: ViewState) -> None:
        agent = view.state.agents.get(self.subject_id)
        self.panel("says").edge, self.panel("times").edge = ("", "") if self.is_stacked else ("┬", "├")
        self.events.choose_task(agent, self.reading.entries)
        task_id = self.events.task_id
        task = view.state.tasks.get(task_id or "")
        self.steps.entries = steps_among(self.reading.entries, task_id)
        if agent is None:
            self.show_facts([Line((Span(f" {absence(view.state, self.subject_id)}", "muted"),))])
        else:
            now_ms, activity = view.now_ms, view.activity
            facts = agent_facts(
                view.state, agent, view.counts, view.live, now_ms=now_ms, activity=activity, events=self.reading.events
            )
            self.show_facts(agent_page.facts_lines(facts, agent, task, self.size.width, now_ms=now_ms))
        self._show_steps(view, task)
        self._show_says(view, task)
        self._show_prompt(view, task)
        if agent is not None:
            self._show_times(view, agent)
            self._show_aside(view, agent, task)
            return
        for name in ("times", "times_right", "aside"):
            self.panel(name).fill("", ())

    def _show_steps(self, view: ViewState, task: Task | None) -> None:
        pane = self.panel("steps")
        if lines := self.steps.lines(view, task, pane.wide):
            attempt = f" of attempt {task.attempts}" if task is not None else ""
            pane.fill("STEPS", lines, right=f"{len(self.steps.entries)}{attempt}")
        else:
            lines = self.cached_event_lines(view.names, pane.wide, agent_id=self.subject_id)
            pane.fill("EVENTS", lines, right="enter opens")

    def _show_says(self, view: ViewState, task: Task | None) -> None:
        pane = self.panel("says")
        section = latest_output(
            view.state,
            task,
            self.events.task_id,
            self._conversation.lines(self.reading.entries, self.events.task_id, view.names, pane.wide),
            view.counts,
            view.live,
            width=pane.wide,
            now_ms=view.now_ms,
        )
        title, lines = section.title, section.lines
        agent = view.state.agents.get(self.subject_id)
        if not lines and agent is not None:
            title, lines = "SPEC", agent_page.spec_section(view.state.spec_of(agent), pane.wide)
        pane.fill(title, lines, right=pane.follow_growth(self.events.task_id if section.grows else None))

    def _show_prompt(self, view: ViewState, task: Task | None) -> None:
        pane = self.panel("told")
        if not pane.display:
            return
        steps, chosen = self.steps.entries, self.steps.index(self.panel("steps").selected)
        upto = steps if chosen is None else steps[: chosen + 1]
        task_input = self.reading.inputs.get(self.events.task_id or "", "")
        messages = prompt_of(view.state, task, upto, self.reading.parts, self.reading.texts, request=task_input)
        title = "PROMPT" if any(message.role == "system" for message in messages) or steps else "INPUT"
        if self.has_class("-prompt"):
            lines = prompt_lines(messages, pane.wide) if messages else _NO_PROMPT
            pane.fill(title, lines, right="as sent · p folds")
        else:
            pane.fill(title, prompt_beginning(messages, pane.wide, pane.room), right="p unfolds")

    def _show_times(self, view: ViewState, agent: Agent) -> None:
        steps, entries = self.steps.entries, self.reading.entries
        all_ended = ended_tasks_in(entries[::-1], view.names)
        ended_tasks = [ended_task for ended_task in all_ended if ended_task.agent_id == agent.id][:MAX_LAST_TASKS]
        for name, rows in (("times", 3), ("times_right", 7)):
            pane = self.panel(name)
            pane.set_class(not agent.at_work_ms and not ended_tasks and not steps, "-empty")
            if pane.display and pane.size.width:
                parts = [
                    agent_page.times_section(agent, entries, steps, pane.wide, rows),
                    agent_page.last_section(ended_tasks, pane.wide, view.now_ms),
                ]
                _fill(pane, parts)

    def _show_aside(self, view: ViewState, agent: Agent, task: Task | None) -> None:
        pane, steps, texts = self.panel("aside"), self.steps.entries, self.reading.texts
        if not pane.size.width:
            return
        chosen, width = self.steps.index(self.panel("steps").selected), pane.wide
        entry = steps[chosen] if chosen is not None else None
        parts = [
            agent_page.step_section(entry, (chosen or 0) + 1, width, max(6, pane.room // 2)),
            agent_page.error_section(agent, width),
            agent_page.memory_section(view.state, agent, texts, width),
            agent_page.state_section(agent, width),
            agent_page.tools_section(steps, width),
            agent_page.conversation_section(view.state, task, texts, width),
            agent_page.record_section(agent, width),
            agent_page.generations_section(self.reading.entries, agent, width),
        ]
        _fill(pane, parts)


def _fill(pane: Panel, parts: Sequence[agent_page.Section]) -> None:
    """Show sections in a pane; the title of the first one is that of the pane."""
    filled_sections = [part for part in parts if part[2]]
    lines: list[Line] = []
    for index, (title, right, inner) in enumerate(filled_sections):
        heading = [hairline(title, pane.wide, right=right)] if index else []
        lines += [*([BLANK] if index and pane.id == "aside" else []), *heading, *inner]
    title, right = filled_sections[0][:2] if filled_sections else ("", "")
    pane.fill(title, lines, right=right)


PAGE = AgentScreen
