"""What every kind of message has to have: the tables of handlers are found by annotations, and miss what has others."""

from collections.abc import Collection, Mapping
from types import FunctionType, ModuleType
from typing import Any, get_args

import pytest

from dashboard.views.words.sentences import SENTENCES
from engine.core import commands, events
from engine.core.commands import COMMANDS
from engine.core.commands.base import CommandBase
from engine.core.decide import ON_COMMAND, ON_MESSAGE
from engine.core.effects import table as effects_table
from engine.core.events import EVENTS, Event
from engine.core.fold import FOLD
from engine.core.followups import FOLLOWUPS
from engine.core.followups import table as followups_table
from engine.core.handlers import handlers_in
from engine.core.records.records import facts_of
from engine.core.signals import SIGNALS
from engine.core.state import State

FILES = "in a file that `_FILES` of its __init__.py names"


@pytest.mark.parametrize(
    ("kinds", "handlers", "wanted"),
    [
        (EVENTS, FOLD, f"engine/core/fold/: (state: State, event: events.NAME) -> None, {FILES}"),
        (
            COMMANDS,
            ON_COMMAND,
            f"engine/core/decide/: (state: State, command: NAME, ctx: DecisionContext) -> Decided, {FILES}",
        ),
        (
            (*SIGNALS, *FOLLOWUPS),
            ON_MESSAGE,
            f"engine/core/decide/: (state: State, ANY: NAME, ctx: DecisionContext) -> list[Event], {FILES}",
        ),
        (EVENTS, SENTENCES, "SENTENCES of dashboard/views/words/sentences.py: a line for each"),
    ],
    ids=["fold", "commands", "signals and follow-ups", "sentences"],
)
def test_every_kind_of_message_is_handled(kinds: Collection[type], handlers: Mapping[type, Any], wanted: str) -> None:
    assert sorted(kind.__name__ for kind in kinds if kind not in handlers) == [], f"missing in {wanted}"


@pytest.mark.parametrize("table", [followups_table, effects_table])
def test_every_function_of_one_kind_of_event_is_in_its_table(table: ModuleType) -> None:
    found = {*vars(table)["_FOLLOWUPS" if table is followups_table else "_EFFECTS"].values()}
    missed = [
        name
        for name, one in vars(table).items()
        if isinstance(one, FunctionType) and one.__module__ == table.__name__ and one not in found
        if {*_kinds_of_second(one)} & {*EVENTS}
    ]

    assert missed == [], "their annotations are not those of handlers: (state: State, event: KIND) -> list[…]"


def _kinds_of_second(function: FunctionType) -> tuple[Any, ...]:
    _, second, *_ = [*function.__annotations__.values(), None, None]
    return get_args(second) or (second,)


def test_every_class_of_event_is_a_record() -> None:
    classes = {one for one in vars(events).values() if isinstance(one, type) and issubclass(one, Event)}
    left_out = sorted(one.__name__ for one in classes - {*EVENTS} if "__slots__" not in vars(one))

    assert left_out == [], "write `@fact` above them, or make them bases of events, as in events/base.py"


def test_every_command_is_in_the_union() -> None:
    left_out = {*facts_of(CommandBase, vars(commands))} - {*COMMANDS}

    assert left_out == set(), "name them in `Command` of engine/core/commands/__init__.py"


def _pause(state: State, event: events.RunPaused) -> None:
    assert event.run_id in state.runs


def _pause_too(state: State, event: events.RunPaused | events.RunResumed) -> None:
    assert event.run_id in state.runs


def test_two_handlers_of_one_kind_are_named() -> None:
    file = {"__name__": __name__, "_pause": _pause, "_pause_too": _pause_too}

    with pytest.raises(TypeError, match=r"^RunPaused has two handlers, .*\._pause and .*\._pause_too; "):
        handlers_in([file], EVENTS, result_hint=None)
