"""Dialogs that move or remove a member, or reassign a task."""

from collections.abc import Iterable
from typing import Literal, cast

from textual.widget import Widget

from dashboard.dialogs.dialog import ChoiceDialog
from dashboard.views.changes.members import assignable_agents, describe_move, possible_parents
from dashboard.views.changes.targets import describe_work, look_up_id, target_of
from dashboard.views.drawing.rows import Cell, Choice, labelled_cell
from dashboard.views.facts.now import now_of_task
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.shell_line import shell_line_to_send
from dashboard.widgets.fields import Radio
from engine.core.commands import Cancel, Move, Reassign, RemoveMember
from engine.core.queries.targets import find_agent, find_supervisor, id_target
from engine.core.state import Task

MODES = (
    Choice("drain", "drain", "it finishes its attempts, takes nothing new, then leaves"),
    Choice("requeue", "requeue", "its attempts stop at their next step, its tasks go to others"),
    Choice("abort", "abort", "its attempts stop now, its tasks go to others"),
)
STOP = Choice("stop", "cancel its work", "its tasks end at their next step; it stays in the team")
_WHEN = (
    Choice("step", "at its next step", "it continues there after its finished steps"),
    Choice("now", "now", "it is stopped where it is and continues there after its finished steps"),
)


class RemoveDialog(ChoiceDialog):
    """Ask how an agent leaves, or whether only its work is to end.

    Args:
        offers_stop: Offer to cancel its work first; for an agent at work.
    """

    BUTTON_LABEL = "Remove"

    def __init__(self, agent_id: str, *, offers_stop: bool = False) -> None:
        super().__init__()
        self._agent_id, self._offers_stop = agent_id, offers_stop

    def title_line(self) -> str:
        does = "Stop or remove" if self._offers_stop else "Remove"
        return f"{does} agent {self.state.agents[self._agent_id].name}"

    def begin(self) -> None:
        self.offer((STOP, *(_removal(mode) for mode in MODES)) if self._offers_stop else MODES)
        self.update_view(self.deck.view)

    def update_view(self, view: ViewState) -> None:
        state, agent = view.state, view.state.agents.get(self._agent_id)
        work = [Cell(describe_work(agent, state), "", "its work: ")] if agent is not None else []
        self.text_of("details").show_any(work)
        command = self.build_command()
        self.set_button_label("Remove" if isinstance(command, RemoveMember) else "Cancel its work")
        self.rehearse(command, shell_line_to_send(state, command))

    def build_command(self) -> RemoveMember | Cancel:
        if self.chosen == STOP.id:
            return Cancel(target=id_target(self._agent_id))
        mode = cast(Literal["drain", "requeue", "abort"], self.chosen)
        return RemoveMember(target=id_target(self._agent_id), mode=mode)


def _removal(mode: Choice) -> Choice:
    return Choice(mode.id, f"remove: {mode.name}", mode.about)


class MoveDialog(ChoiceDialog):
    """Choose the new supervisor of a member."""

    BUTTON_LABEL = "Move"

    def __init__(self, member_id: str, parent: str | None = None) -> None:
        super().__init__()
        self._member_id, self._under = member_id, parent

    def title_line(self) -> str:
        target = target_of(self.state, self._member_id)
        return f"Move {target.label if target is not None else self._member_id} under another supervisor"

    def begin(self) -> None:
        supervisor_id, problem = look_up_id(find_supervisor, self.state, self._under)
        self.offer(possible_parents(self.state, self._member_id), supervisor_id)
        self.update_view(self.deck.view)
        if problem:
            self.show_problem(problem)

    def update_view(self, view: ViewState) -> None:
        state, command = view.state, self.build_command()
        self.text_of("details").show(describe_move(state, self._member_id))
        if command is None:
            self.show_problem("there is no other supervisor to move it under")
            return
        self.rehearse(command, shell_line_to_send(state, command))

    def build_command(self) -> Move | None:
        return (
            Move(target=id_target(self._member_id), parent=id_target(self.chosen)) if self.chosen is not None else None
        )


class ReassignDialog(ChoiceDialog):
    """Choose the agent that a task goes to, waiting or at work."""

    BUTTON_LABEL = "Reassign"

    def __init__(self, task_id: str, agent: str | None = None, *, now: bool = False) -> None:
        super().__init__()
        self._task_id, self._agent, self._now = task_id, agent, now

    def title_line(self) -> str:
        return f"Reassign “{self.state.tasks[self._task_id].title}” to another agent"

    def compose_body(self) -> Iterable[Widget]:
        text, choices, would = super().compose_body()
        yield from (text, choices, Radio(id="when"), would)

    def begin(self) -> None:
        view = self.deck.view
        agent_id, problem = look_up_id(find_agent, view.state, self._agent)
        self.offer(assignable_agents(view.state, view.state.tasks[self._task_id], view.counts), agent_id)
        self.query_one(Radio).offer(_WHEN, "now" if self._now else "step")
        self.update_view(view)
        if problem:
            self.show_problem(problem)

    def update_view(self, view: ViewState) -> None:
        state, task = view.state, view.state.tasks.get(self._task_id)
        if task is None:
            self.show_problem("its run has ended")
            return
        self.query_one(Radio).display = task.attempt is not None
        self.text_of("details").show([labelled_cell("now", self._describe_place(task, view))])
        command = self.build_command()
        if command is None:
            self.show_problem("there is no other agent in the team")
            return
        self.rehearse(command, shell_line_to_send(state, command))

    def _describe_place(self, task: Task, view: ViewState) -> str:
        state = view.state
        agent = state.agents.get((task.attempt.agent_id if task.attempt is not None else task.worker_id) or "")
        if task.attempt is not None:
            steps = f", {pluralize(len(task.steps), 'step')} finished" if task.steps else ""
            return f"at work on {agent.name if agent is not None else '–'}, attempt {task.attempts}{steps}"
        reason = now_of_task(task, view.counts, view.now_ms).text
        return reason or (f"for {agent.name}" if agent is not None else "for any able agent")

    def build_command(self) -> Reassign | None:
        task = self.state.tasks.get(self._task_id)
        now = self.query_one(Radio).chosen == "now" and task is not None and task.attempt is not None
        return Reassign(task=self._task_id, agent=id_target(self.chosen), now=now) if self.chosen is not None else None
