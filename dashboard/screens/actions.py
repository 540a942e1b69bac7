"""What an operator can do from every screen: it finds its target, says what it will do, sends a command."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from dashboard.screens.confirm import Confirm
from dashboard.screens.engine import EngineDialog
from dashboard.screens.help import HelpScreen
from dashboard.screens.remove import RemoveDialog
from dashboard.screens.request import RequestDialog
from dashboard.screens.strategy import StrategyDialog
from dashboard.screens.swap import SwapDialog
from dashboard.screens.transfer import ExportDialog, ImportDialog
from dashboard.views.amounts import counted
from dashboard.views.digest import needs_person
from dashboard.views.targets import Target, agent_behind, finished_run, named, receiver, supervisor_behind, target_of
from dashboard.views.verbs import PLACES, Misspoken, Spoken, understand
from engine.core.commands import Cancel, Pause, RemoveMember, Resume, RetryWork, Submit

if TYPE_CHECKING:
    from dashboard.app import QuarterdeckApp

READ_ONLY = "refused: this dashboard is read-only; open it without --readonly to change the team"


class Actions(Screen[None]):
    """The actions, by key and by `:` line."""

    @property
    def deck(self) -> "QuarterdeckApp":
        """The app."""
        raise NotImplementedError

    def explained(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return what the screen is called, and its own keys."""
        raise NotImplementedError

    def target(self) -> Target | None:
        """Return what is under the cursor."""

    def no_target(self) -> str:
        """Return what to do where nothing is under the cursor."""
        return "choose a row first"

    def _asked(self, name: str | None) -> Target | None:
        """Return what a name means, or what is under the cursor; say so where that is nothing."""
        found = named(self.deck.glimpse.state, name) if name else self.target()
        if found is None:
            self.deck.say(f"there is no {name!r} here" if name else self.no_target(), "warn")
        return found

    def _may(self) -> bool:
        if self.deck.readonly:
            self.deck.say(READ_ONLY, "warn")
        return not self.deck.readonly

    def action_swap(self, name: str | None = None, choice: str | None = None) -> None:
        """Give an agent another spec."""
        target = self._asked(name) if self._may() else None
        if target is None:
            return
        agent_id = agent_behind(self.deck.glimpse.state, target)
        if agent_id is None:
            self.deck.say(f"{target.said} has no agent to swap", "warn")
            return
        self.app.push_screen(SwapDialog(agent_id, choice), self.deck.order)

    def action_strategy(self, name: str | None = None, mode: str | None = None) -> None:
        """Change how a supervisor coordinates."""
        if not self._may():
            return
        state = self.deck.glimpse.state
        target = self._asked(name) if name else self.target()
        supervisor_id = supervisor_behind(state, target)
        if supervisor_id is None or (name and target is None):
            self.deck.say("there is no supervisor here", "warn")
            return
        self.app.push_screen(StrategyDialog(supervisor_id, mode), self.deck.order)

    def action_pause(self, name: str | None = None, paused: bool | None = None) -> None:
        """Pause an agent, a supervisor or a run; let a paused one go on."""
        target = self._asked(name) if self._may() else None
        if target is None:
            return
        state = self.deck.glimpse.state
        member = state.agents.get(target.id) or state.supervisors.get(target.id) or state.runs.get(target.id)
        if member is None:
            self.deck.say(f"{target.said} cannot be paused; an agent, a supervisor or an open run can", "warn")
            return
        stop = not member.paused if paused is None else paused
        self.deck.order(Pause(target=target.id) if stop else Resume(target=target.id))

    def action_cancel(self, name: str | None = None) -> None:
        """Stop a run or a task, or take a member out of the team; asks first."""
        target = self._asked(name) if self._may() else None
        if target is None:
            return
        state = self.deck.glimpse.state
        if target.kind in ("agent", "supervisor"):
            self.action_remove(target.id)
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
        """Take an agent, or a supervisor with nothing under it, out of the team; asks first."""
        target = self._asked(name) if self._may() else None
        if target is None:
            return
        if target.kind == "agent":
            self.app.push_screen(RemoveDialog(target.id), self.deck.order)
        elif target.kind == "supervisor":
            told = ("It goes only when nobody is under it.", "Its name may be used again, its events stay.")
            dialog = Confirm(f"Remove {target.kind} “{target.name}”", told, "Remove it", RemoveMember(target=target.id))
            self.app.push_screen(dialog, self.deck.order)
        else:
            self.deck.say(f"{target.said} is not a member of the team; ctrl+d cancels it", "warn")

    def action_retry(self, name: str | None = None) -> None:
        """Try a task again now, or submit the request of a finished run again."""
        target = self._asked(name) if self._may() else None
        if target is None:
            return
        known = finished_run(self.deck.glimpse.state, target.id) is not None or target.kind == "task"
        if not known:
            self.deck.say(f"{target.said} cannot be tried again; a task or a finished run can", "warn")
            return
        self.deck.order(RetryWork(target=target.id))

    def action_request(self) -> None:
        """Give the team a request."""
        if self._may():
            taker = receiver(self.deck.glimpse.state, self.target())
            self.app.push_screen(RequestDialog(taker), self.deck.order)

    def action_engine(self) -> None:
        """Start an engine where none works; asks first."""
        situation = self.deck.glimpse.situation
        info = situation.engine
        if situation.trouble is not None:
            self.deck.say(situation.trouble, "error")
        elif info is not None and info.alive and not info.hung:
            self.deck.say(f"engine {info.pid} is at work already", "done")
        elif self._may():
            self.app.push_screen(EngineDialog())

    def action_export(self, path: str | None = None) -> None:
        """Write the whole state to an archive."""
        if path is not None:
            self.deck.export(Path(path).expanduser())
            return
        self.app.push_screen(ExportDialog(self.deck.path))

    def action_import(self, path: str | None = None) -> None:
        """Show what an archive would bring, then take it in."""
        if self._may():
            self.app.push_screen(ImportDialog(self.deck.path, path or ""), self.deck.order)

    def action_next_in_need(self) -> None:
        """Go to the next thing that waits for a person."""
        state = self.deck.glimpse.state
        waiting = needs_person(state)
        if not waiting:
            self.deck.say("nobody needs you", "done")
            return
        here = self.target()
        place = waiting.index(here.id) + 1 if here is not None and here.id in waiting else 0
        target = target_of(state, waiting[place % len(waiting)])
        if target is not None:
            self.deck.action_go("agents" if target.kind == "agent" else "tasks", selected=target.id)

    def action_help(self) -> None:
        """Show the keys of this screen."""
        place, keys = self.explained()
        self.app.push_screen(HelpScreen(place, keys))

    def perform(self, line: str) -> None:
        """Do what a `:` line says; an error is one line."""
        try:
            spoken = understand(line)
        except Misspoken as error:
            self.deck.say(str(error), "warn")
            return
        if spoken.verb in PLACES:
            self.deck.action_go(spoken.verb)
        else:
            _VERBS[spoken.verb](self, spoken)

    def say_swap(self, said: Spoken) -> None:
        self.action_swap(said.word(0), said.options.get("with") or said.word(1))

    def say_strategy(self, said: Spoken) -> None:
        self.action_strategy(said.word(0), said.word(1))

    def say_add(self, said: Spoken) -> None:
        path = said.word(0)
        if path is None:
            self.deck.say("add FILE: which file?", "warn")
        elif self._may():
            self.deck.add(Path(path).expanduser(), said.options.get("under"))

    def say_run(self, said: Spoken) -> None:
        request = said.word(0)
        if request is None:
            self.action_request()
        elif self._may():
            self.deck.order(Submit(request=request))


_VERBS: dict[str, Callable[[Actions, Spoken], None]] = {
    "swap": Actions.say_swap,
    "strategy": Actions.say_strategy,
    "pause": lambda at, said: at.action_pause(said.word(0), True),
    "resume": lambda at, said: at.action_pause(said.word(0), False),
    "cancel": lambda at, said: at.action_cancel(said.word(0)),
    "retry": lambda at, said: at.action_retry(said.word(0)),
    "add": Actions.say_add,
    "remove": lambda at, said: at.action_remove(said.word(0)),
    "run": Actions.say_run,
    "engine": lambda at, said: at.action_engine(),
    "export": lambda at, said: at.action_export(said.word(0)),
    "import": lambda at, said: at.action_import(said.word(0)),
    "theme": lambda at, said: at.deck.paint(said.word(0)),
    "help": lambda at, said: at.action_help(),
    "quit": lambda at, said: at.deck.action_leave(),
}
