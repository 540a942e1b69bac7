"""Dialogs that move or remove a member, and that reassign a task: choose one; its effect is shown below."""

from collections.abc import Iterable
from typing import Literal, cast

from textual.widget import Widget

from dashboard.dialogs.dialog import ChoiceDialog
from dashboard.views.changes.members import parents, takers, what_moves
from dashboard.views.changes.swaps import its_work
from dashboard.views.changes.targets import looked_up, target_of
from dashboard.views.drawing.rows import Cell, Choice, labelled
from dashboard.views.facts.work import why
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.command_line import in_shell
from dashboard.widgets.fields import Radio
from engine.core.commands import Move, Reassign, RemoveMember
from engine.core.queries.targets import at, find_agent, find_supervisor
from engine.core.state import Task

MODES = (
    ("drain", "drain", "it finishes its attempts, takes nothing new, then leaves"),
    ("requeue", "requeue", "its attempts stop at their next step, its tasks go to others"),
    ("abort", "abort", "its attempts stop now, its tasks go to others"),
)
_WHEN = (
    Choice("step", "at its next step", "it continues there after its finished steps"),
    Choice("now", "now", "it is stopped where it is and continues there after its finished steps"),
)


class RemoveDialog(ChoiceDialog):
    """Ask how an agent leaves."""

    DOES = "Remove"

    def __init__(self, agent_id: str) -> None:
        super().__init__()
        self._agent_id = agent_id

    def title_line(self) -> str:
        return f"Remove agent {self.state.agents[self._agent_id].name}"

    def begin(self) -> None:
        self.offer(MODES)
        self.look(self.deck.view)

    def look(self, view: ViewState) -> None:
        state, agent = view.state, view.state.agents.get(self._agent_id)
        work = [Cell(its_work(agent, state), "", "its work: ")] if agent is not None else []
        self.told("told").show_any(work)
        command = self.meant()
        self.rehearse(command, in_shell(state, command))

    def meant(self) -> RemoveMember:
        mode = cast(Literal["drain", "requeue", "abort"], self.chosen)
        return RemoveMember(target=at(self._agent_id), mode=mode)


class MoveDialog(ChoiceDialog):
    """Choose the supervisor above it."""

    DOES = "Move"

    def __init__(self, member_id: str, parent: str | None = None) -> None:
        super().__init__()
        self._member_id, self._under = member_id, parent

    def title_line(self) -> str:
        target = target_of(self.state, self._member_id)
        return f"Move {target.said if target is not None else self._member_id} under another supervisor"

    def begin(self) -> None:
        wanted, problem = looked_up(find_supervisor, self.state, self._under)
        self.offer(parents(self.state, self._member_id), wanted)
        self.look(self.deck.view)
        if problem:
            self.problem(problem)

    def look(self, view: ViewState) -> None:
        state, command = view.state, self.meant()
        self.told("told").show(what_moves(state, self._member_id))
        if command is None:
            self.problem("there is no other supervisor to move it under")
            return
        self.rehearse(command, in_shell(state, command))

    def meant(self) -> Move | None:
        return Move(target=at(self._member_id), parent=at(self.chosen)) if self.chosen is not None else None


class ReassignDialog(ChoiceDialog):
    """Choose the agent that a task goes to, waiting or at work."""

    DOES = "Reassign"

    def __init__(self, task_id: str, agent: str | None = None, *, now: bool = False) -> None:
        super().__init__()
        self._task_id, self._agent, self._now = task_id, agent, now

    def title_line(self) -> str:
        return f"Reassign “{self.state.tasks[self._task_id].title}” to another agent"

    def inside(self) -> Iterable[Widget]:
        told, choices, would = super().inside()
        yield from (told, choices, Radio(id="when"), would)

    def begin(self) -> None:
        view = self.deck.view
        wanted, problem = looked_up(find_agent, view.state, self._agent)
        self.offer(takers(view.state, view.state.tasks[self._task_id], view.counts), wanted)
        self.query_one(Radio).offer(_WHEN, "now" if self._now else "step")
        self.look(view)
        if problem:
            self.problem(problem)

    def look(self, view: ViewState) -> None:
        state, task = view.state, view.state.tasks.get(self._task_id)
        if task is None:
            self.problem("its run has ended")
            return
        self.query_one(Radio).display = task.attempt is not None
        self.told("told").show([labelled("now", self._where(task, view))])
        command = self.meant()
        if command is None:
            self.problem("there is no other agent in the team")
            return
        self.rehearse(command, in_shell(state, command))

    def _where(self, task: Task, view: ViewState) -> str:
        state = view.state
        agent = state.agents.get((task.attempt.agent_id if task.attempt is not None else task.worker_id) or "")
        if task.attempt is not None:
            steps = f", {pluralize(len(task.steps), 'step')} finished" if task.steps else ""
            return f"at work on {agent.name if agent is not None else '–'}, attempt {task.attempts}{steps}"
        reason = why(state, task, view.counts, view.now_ms)
        return reason or (f"for {agent.name}" if agent is not None else "for any able agent")

    def meant(self) -> Reassign | None:
        task = self.state.tasks.get(self._task_id)
        now = self.query_one(Radio).chosen == "now" and task is not None and task.attempt is not None
        return Reassign(task=self._task_id, agent=at(self.chosen), now=now) if self.chosen is not None else None
