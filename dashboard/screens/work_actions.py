"""What an operator does with runs, tasks and questions."""

from dashboard.screens.acting import Acting
from dashboard.screens.answer import AnswerDialog
from dashboard.screens.confirm import Confirm
from dashboard.screens.prompting import LineDialog
from dashboard.screens.reassign import ReassignDialog
from dashboard.screens.request import RequestDialog
from dashboard.views.amounts import counted
from dashboard.views.asking import DeadlineLine, PriorityLine
from dashboard.views.inbox import question_of
from dashboard.views.targets import Target, receiver
from engine.core.commands import Cancel, RetryWork


class WorkActions(Acting):
    """Actions on work, by key and by `:` line."""

    def action_cancel(self, name: str | None = None) -> None:
        """Stop a run or a task, or take a member out of the team; asks first."""
        target = self.asked(name) if self.may() else None
        if target is None:
            return
        state = self.deck.glimpse.state
        if target.kind in ("agent", "supervisor"):
            self.action_remove(target.at)
            return
        task, run = state.tasks.get(target.id), state.runs.get(target.id)
        if (task is None or task.ended) and run is None:
            self.deck.say(f"{target.said} has ended already", "warn")
            return
        if run is not None:
            stops = (
                f"{counted(run.running, 'attempt')} stop at the next step" if run.running else "nothing is under way"
            )
            told = f"{stops}; of {counted(run.total, 'task')} {run.total - run.done - run.failed:,} are not done"
        else:
            told = "it stops at its next step; what waits for it goes on without its output or is skipped"
        command = Cancel(target=target.id)
        dialog = Confirm(
            f"Cancel {target.kind} “{target.name}”",
            (told, "What is done stays done."),
            f"Cancel the {target.kind}",
            command,
        )
        self.app.push_screen(dialog, self.deck.order)

    def action_remove(self, name: str | None = None) -> None:
        """Take a member out of the team."""
        raise NotImplementedError

    def action_retry(self, name: str | None = None) -> None:
        """Try a task again now, or submit the request of a finished run again."""
        target = self.asked(name) if self.may() else None
        if target is None:
            return
        known = self.deck.glimpse.state.summary(target.id) is not None or target.kind == "task"
        if not known:
            self.deck.say(f"{target.said} cannot be tried again; a task or a finished run can", "warn")
            return
        self.deck.order(RetryWork(target=target.id))

    def action_request(self) -> None:
        """Give the team a request."""
        if self.may():
            taker = receiver(self.deck.glimpse.state, self.target())
            self.app.push_screen(RequestDialog(taker), self.deck.order)

    def _work(self, name: str | None, what: str) -> Target | None:
        target = self.asked(name) if self.may() else None
        state = self.deck.glimpse.state
        if target is None or target.id in state.runs:
            return target
        task = state.tasks.get(target.id)
        if task is not None and not task.ended:
            return target
        ended = task is not None or target.kind == "run"
        self.deck.say(
            f"{target.said} {'has ended already' if ended else f'has no {what}; a run or a task has'}", "warn"
        )
        return None

    def action_priority(self, name: str | None = None, said: str = "") -> None:
        """Make a run or a task more or less urgent."""
        target = self._work(name, "priority")
        if target is not None:
            self.app.push_screen(LineDialog(PriorityLine(target.id), said), self.deck.order)

    def action_deadline(self, name: str | None = None, said: str = "") -> None:
        """Say by when a run or a task has to have ended."""
        target = self._work(name, "deadline")
        if target is not None:
            self.app.push_screen(LineDialog(DeadlineLine(target.id), said), self.deck.order)

    def action_reassign(self, name: str | None = None, agent: str | None = None, *, now: bool = False) -> None:
        """Give a task to another agent."""
        target = self.asked(name) if self.may() else None
        if target is None:
            return
        task = self.deck.glimpse.state.tasks.get(target.id)
        if task is None or task.kind != "agent" or task.ended:
            self.deck.say(f"{target.said} cannot be given to another agent; an open task of an agent can", "warn")
            return
        self.app.push_screen(ReassignDialog(task.id, agent, now=now), self.deck.order)

    def action_answer(self, name: str | None = None, said: str | None = None, output: str = "") -> None:
        """Answer a question."""
        if not self.may():
            return
        state = self.deck.glimpse.state
        target = self.target() if name is None else None
        found = question_of(state, name or (target.id if target is not None else ""))
        if found is None and name is None and len(state.escalations) == 1:
            found = next(iter(state.escalations.values()))
        if found is None:
            self.deck.say("no question waits for an answer here; 8 shows those there are", "warn")
            return
        self.app.push_screen(AnswerDialog(found.id, said, output), self.deck.order)
