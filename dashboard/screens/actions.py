"""Every action together, and the `:` line that reaches them by words."""

from collections.abc import Callable
from pathlib import Path

from dashboard.screens.member_actions import MemberActions
from dashboard.screens.room_actions import RoomActions
from dashboard.screens.work_actions import WorkActions
from dashboard.views.verbs import PLACES, Misspoken, Spoken, understand
from engine.core.commands import Submit


class Actions(MemberActions, WorkActions, RoomActions):
    """The actions, by key and by `:` line."""

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
        with_ = said.options.get("with")
        names = said.words if with_ is not None else said.words[:1]
        choice = with_ or said.word(1)
        self.action_swap(said.word(0), choice, said.options.get("mode"), also=names[1:])

    def say_strategy(self, said: Spoken) -> None:
        options = said.options
        lead, run = options.get("lead"), options.get("run")
        self.action_strategy(said.word(0), said.word(1), said.words[2:], lead, run)

    def say_add(self, said: Spoken) -> None:
        path = said.word(0)
        if path is None:
            self.deck.say("add FILE: which file?", "warn")
        elif self.may():
            self.deck.add(Path(path).expanduser(), said.options.get("under"))

    def say_run(self, said: Spoken) -> None:
        request = said.word(0)
        if request is None:
            self.action_request()
        elif self.may():
            self.deck.order(Submit(request=request))

    def say_answer(self, said: Spoken) -> None:
        self.action_answer(said.word(0), said.word(1), said.options.get("output", ""))

    def say_reassign(self, said: Spoken) -> None:
        self.action_reassign(said.word(0), said.word(1), now="now" in said.options)


_VERBS: dict[str, Callable[[Actions, Spoken], None]] = {
    "swap": Actions.say_swap,
    "rollback": lambda at, said: at.action_rollback(said.word(0), said.options.get("mode")),
    "undo": lambda at, said: at.action_undo(),
    "strategy": Actions.say_strategy,
    "pause": lambda at, said: at.action_pause(said.word(0), True),
    "resume": lambda at, said: at.action_pause(said.word(0), False),
    "cancel": lambda at, said: at.action_cancel(said.word(0)),
    "retry": lambda at, said: at.action_retry(said.word(0)),
    "priority": lambda at, said: at.action_priority(said.word(0), said.word(1) or ""),
    "deadline": lambda at, said: at.action_deadline(said.word(0), said.word(1) or ""),
    "reassign": Actions.say_reassign,
    "answer": Actions.say_answer,
    "add": Actions.say_add,
    "remove": lambda at, said: at.action_remove(said.word(0)),
    "move": lambda at, said: at.action_move(said.word(0), said.word(1)),
    "capability": lambda at, said: at.action_capability(said.word(0), said.rest_as_line(1)),
    "set": lambda at, said: at.action_settings(said.word(0), said.rest_as_line(1)),
    "run": Actions.say_run,
    "engine": lambda at, said: at.action_engine(),
    "hand-over": lambda at, said: at.action_hand_over(said.options.get("grace")),
    "export": lambda at, said: at.action_export(said.word(0)),
    "import": lambda at, said: at.action_import(said.word(0)),
    "theme": lambda at, said: at.deck.paint(said.word(0)),
    "help": lambda at, said: at.action_help(),
    "quit": lambda at, said: at.deck.action_leave(),
}
