"""Base types of actions: an action, its arguments, and the screen that it is called on.

An action is called by its key, by its word in the `:` line, or by a click on the key; all of that comes from its row
in the table of `dashboard.actions`.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, get_args

from textual.app import App

from dashboard.deck.deck import Deck
from dashboard.views.changes.targets import Find, Target, agent_behind, find_target, supervisor_behind
from dashboard.views.words.amounts import pluralize
from engine.core.errors import Refused
from engine.core.queries.targets import find_agent, find_any, find_supervisor, shortest_targets
from engine.core.queries.team.tree import agents_of
from engine.core.state import State, SwapMode

if TYPE_CHECKING:
    from dashboard.dialogs.dialog import Dialog

FLAGS = frozenset({"now"})
"""Options without a value."""
REPEATED = frozenset({"after", "label"})
"""Options that may stand several times; their values are the lines of one text."""
Completer: TypeAlias = Callable[[State, str], list[str]]
"""Returns completions for a word, from the state and the word before."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Arguments typed after a command word; empty for a key."""

    words: tuple[str, ...] = ()
    options: dict[str, str] | None = None
    typed_words: tuple[str, ...] = ()
    """Every word, options included, as it was typed."""

    def rest_as_line(self) -> str:
        """Return the words after the first argument as one line."""
        return " ".join(self.typed_words[1:] if self.words else self.typed_words)

    def word(self, place: int = 0) -> str | None:
        """Return an argument, or None."""
        return self.words[place] if place < len(self.words) else None

    def option(self, name: str) -> str | None:
        """Return the value of an option, or None."""
        return (self.options or {}).get(name)


class ActionScreen(Protocol):
    """A screen on which an operator acts."""

    @property
    def app(self) -> App[Any]: ...

    @property
    def deck(self) -> Deck: ...

    @property
    def state(self) -> State:
        """The state of the team at the last redraw."""
        raise NotImplementedError

    def target(self) -> Target | None:
        """Return the object under the cursor."""

    def explain_no_target(self) -> str:
        """Return why the object under the cursor cannot be changed, or a hint to choose one."""
        raise NotImplementedError

    def selected_key(self) -> str:
        """Return the key of the row under the cursor."""
        raise NotImplementedError

    def id_at_cursor(self, *, whole: bool = False) -> str:
        """Return the id, or the seq, of the object under the cursor; of the page itself if `whole`."""
        raise NotImplementedError

    def copyable_text(self) -> tuple[str, str]:
        """Return a description of the text that can be copied here, and the text."""
        raise NotImplementedError

    def marked_keys(self) -> list[str]:
        """Return the keys of the marked rows that still exist, in the order of marking."""
        raise NotImplementedError

    def unmark(self) -> None:
        """Clear all marks."""

    def action_help(self) -> None:
        """Show the keys and command words of this screen."""

    def action_jump(self) -> None:
        """Label everything that can be jumped to with a letter."""

    def action_reset_sizes(self) -> None:
        """Reset every pane to its default size."""


def warn_of_marks(screen: ActionScreen, action_name: str) -> None:
    """Warn that an action is for one row."""
    marked = pluralize(len(screen.marked_keys()), "marked row")
    screen.deck.messages.warn(f"{action_name} cannot be done to {marked} at once; esc clears the marks")


def show_dialog(screen: ActionScreen, dialog: "Dialog") -> None:
    """Open a dialog, and send the command that it returns."""
    deck = screen.deck
    deck.push_screen(dialog, lambda command: deck.commands.send(command, receive=dialog.handle_outcome))


def require_target(screen: ActionScreen, name: str | None, find: Find = find_any) -> Target | None:
    """Return the object that `find` resolves a name to, or the one under the cursor; warn if there is none."""
    try:
        target = find_target(screen.state, name, find) if name else screen.target()
    except Refused as refused:
        _warn_missing(screen, refused.reason)
        return None
    if target is None:
        _warn_missing(screen, screen.explain_no_target())
    return target


def _warn_missing(screen: ActionScreen, text: str) -> None:
    """Warn that an object is missing; while the file is still being read, say that instead."""
    opening = screen.deck.view.situation.opening
    screen.deck.messages.warn("the file is still being read; press the key again in a moment" if opening else text)


def require_agent(screen: ActionScreen, name: str | None) -> str | None:
    """Return the agent of the named object or of the one under the cursor, the lead of a team; warn if none."""
    target = require_target(screen, name, find_agent)
    agent_id = agent_behind(screen.state, target)
    if target is not None and agent_id is None:
        names = [agent.name for agent in agents_of(screen.state, target.id)] if target.kind == "supervisor" else []
        hint = f"has no lead; name one of its agents: {', '.join(names[:3])}" if names else "has no agent to swap"
        screen.deck.messages.warn(f"{target.label} {hint}")
    return agent_id


def require_supervisor(screen: ActionScreen, name: str | None) -> tuple[str | None, Target | None]:
    """Return the supervisor of the named object or of the one under the cursor, and that object; warn if none."""
    target = require_target(screen, name, find_supervisor) if name else screen.target()
    supervisor_id = supervisor_behind(screen.state, target)
    if supervisor_id is None or (name and target is None):
        _warn_missing(screen, "there is no supervisor here")
        return None, target
    return supervisor_id, target


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something that an operator can do."""

    name: str
    """Its command word, and its name in bindings."""
    run: Callable[[ActionScreen, CommandLine], None]
    key: str = ""
    """Textual's name of the key, several separated by commas; empty for an action without a key."""
    label: str = ""
    """Label beside the key in the last line of a screen; empty for its name."""
    key_text: str = ""
    """The key as the help writes it, if it differs; without it and `key_help` the key is not listed."""
    key_help: str = ""
    """Description of the key in the help."""
    arguments: str = ""
    """Syntax of the arguments."""
    about: str = ""
    """Description of the command word; empty for an action without one."""
    targets: Completer | None = None
    """Completes the first argument, the object."""
    values: Completer | None = None
    """Completes the second argument."""
    writes: bool = False
    """Whether it changes the team; such an action is refused and hidden in a read-only dashboard."""
    for_marked: bool = False
    """Whether it applies to all marked rows; other actions are refused while rows are marked."""
    options: Collection[str] | None = ()
    """Names of its `--` options; None if everything after the word is one line."""
    verbatim: bool = False
    """Whether everything after the word is one text, including quotes."""

    def call(self, screen: ActionScreen, line: CommandLine) -> None:
        """Perform the action if it is allowed."""
        if self.writes and not screen.deck.access.can_write():
            return
        takes_one = self.writes and self.targets is not None and not self.for_marked
        if takes_one and line.word() is None and screen.marked_keys():
            warn_of_marks(screen, self.name)
        else:
            self.run(screen, line)


def agents(state: State, _before: str = "") -> list[str]:
    """Return the words for every agent."""
    words_by_id = shortest_targets(state)
    return sorted(words_by_id[agent_id] for agent_id in state.agents)


def supervisors(state: State, _before: str = "") -> list[str]:
    """Return the words for every supervisor."""
    words_by_id = shortest_targets(state)
    return [words_by_id[supervisor_id] for supervisor_id in state.supervisors]


def members(state: State, _before: str = "") -> list[str]:
    """Return the words for every agent and supervisor."""
    return agents(state) + supervisors(state)


def open_work(state: State, _before: str = "") -> list[str]:
    """Return the ids of open runs and tasks."""
    return [*state.runs, *(task.id for task in state.tasks.values() if not task.ended)]


def one_of(*names: str) -> Completer:
    """Return a completer for a fixed list of words."""
    return lambda state, before: list(names)


OPTIONS: dict[str, Completer] = {
    "--with": lambda state, before: sorted(state.registry),
    "--model": lambda state, before: sorted(
        {name for team in state.supervisors.values() for name in team.options.models}
    ),
    "--under": supervisors,
    "--mode": one_of(*get_args(SwapMode)),
}
"""Completers of the values of options."""
