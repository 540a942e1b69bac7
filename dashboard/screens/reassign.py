"""Giving a task to another agent, waiting or at work."""

from collections.abc import Iterable

from textual import on
from textual.widget import Widget
from textual.widgets import OptionList

from dashboard.screens.dialog import Answer, Choices, Dialog, Told
from dashboard.views.amounts import counted
from dashboard.views.choices import Choice
from dashboard.views.glimpse import Glimpse
from dashboard.views.members import takers
from dashboard.views.rehearsal import rehearsed
from dashboard.views.rows import Cell
from dashboard.views.targets import looked_up
from dashboard.views.waiting import why
from dashboard.widgets.radio import Radio
from engine.core.commands import Reassign
from engine.core.queries.targets import at, find_agent, word_for
from engine.core.state import Task

_WHEN = (
    Choice("step", "at its next step", "it goes on there after its finished steps"),
    Choice("now", "now", "it is stopped where it is, and goes on there after its finished steps"),
)


class ReassignDialog(Dialog):
    """Choose the agent."""

    CSS_PATH = "move.tcss"
    DOES = "Give it"

    def __init__(self, task_id: str, agent: str | None = None, *, now: bool = False) -> None:
        super().__init__()
        self._task_id, self._agent, self._now = task_id, agent, now

    def title_line(self) -> str:
        return f"Give “{self.deck.glimpse.state.tasks[self._task_id].title}” to another agent"

    def inside(self) -> Iterable[Widget]:
        yield Told(id="told")
        yield Choices(id="choices")
        yield Radio(id="when")
        yield Told(id="would")

    def begin(self) -> None:
        glimpse = self.deck.glimpse
        state, task = glimpse.state, glimpse.state.tasks[self._task_id]
        wanted, problem = looked_up(find_agent, state, self._agent)
        choices = self.query_one(Choices)
        choices.offer(takers(state, task, glimpse.counts), wanted)
        choices.focus()
        self.query_one(Radio).offer(_WHEN, "now" if self._now else "step")
        self.look(glimpse)
        if problem:
            self.problem(problem)

    @on(OptionList.OptionHighlighted)
    @on(Radio.Changed)
    def _chosen(self) -> None:
        self.look(self.deck.glimpse)

    def look(self, glimpse: Glimpse) -> None:
        state, task = glimpse.state, glimpse.state.tasks.get(self._task_id)
        if task is None:
            self.problem("its run has ended")
            return
        self.query_one(Radio).display = task.attempt is not None
        self.query_one("#told", Told).show([Cell(self._where(task, glimpse), "", "now         ")])
        command = self._command()
        if command is None:
            self.problem("nobody else is in the team")
            return
        found = rehearsed(state, command, glimpse.now_ms)
        self.problem(f"would be refused: {found.refusal}" if found.refusal else "")
        word = word_for(state, command.agent.removeprefix("@"))
        shell = f"quarterdeck reassign {task.id} {word}{' --now' * command.now}"
        lines = [Cell(found.summary, "busy", "would say   ")] if found.summary else []
        self.query_one("#would", Told).show([*lines, Cell(shell, "muted", "in a shell  ")])

    def _where(self, task: Task, glimpse: Glimpse) -> str:
        state = glimpse.state
        agent = state.agents.get((task.attempt.agent_id if task.attempt is not None else task.worker_id) or "")
        if task.attempt is not None:
            steps = f", {counted(len(task.steps), 'step')} finished" if task.steps else ""
            return f"at work on {agent.name if agent is not None else '–'}, attempt {task.attempts}{steps}"
        reason = why(state, task, glimpse.counts, glimpse.now_ms)
        return reason or (f"for {agent.name}" if agent is not None else "for whoever is able")

    def _command(self) -> Reassign | None:
        agent_id = self.query_one(Choices).chosen
        if agent_id is None:
            return None
        task = self.deck.glimpse.state.tasks.get(self._task_id)
        now = self.query_one(Radio).chosen == "now" and task is not None and task.attempt is not None
        return Reassign(task=self._task_id, agent=at(agent_id), now=now)

    def answer(self) -> Answer:
        return self._command()
