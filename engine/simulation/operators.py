"""Operators of a simulation: every command, right and wrong.

A command that is not in `SPECIAL` is drawn from its fields, by their names and types; so one that is new to the engine
takes part by itself. Kinds of acts are the types of the commands.
"""

from collections.abc import Callable
from dataclasses import fields
from random import Random
from typing import Any

from engine.core.commands import COMMAND_KINDS, Command, StopEngine, Submit
from engine.core.state import State
from engine.simulation.drawing import SKILLS, drawn

LONG = "a request that is longer than what the state keeps, so that it is read from the journal each time. " * 3

WEIGHTS: dict[str, float] = {
    "submit": 8.0,
    "load_team": 0.2,
    "import_state": 0.1,
    "hand_over": 0.2,
    "answer": 0.5,
    "stop_engine": 0.3,
    "ping": 0.2,
    "remove_member": 0.5,
    "trust_references": 0.1,
    "register_spec": 0.3,
    "unregister_spec": 0.2,
}
"""How often each kind of command is given, relative to the others; 1 where nothing is said."""


def acts() -> dict[str, float]:
    """Return every kind of command with its weight."""
    return {kind: WEIGHTS.get(kind, 1.0) for kind in COMMAND_KINDS}


def drawn_command(kind: str, draw: Random, state: State, number: int) -> Command | None:
    """Return a command of a kind, as chance and the state of the moment have it; None where its own checks refuse it.

    Args:
        kind: The type of the command.
        draw: Source of chance.
        state: What its names are taken from.
        number: Tells requests apart.
    """
    special = SPECIAL.get(kind)
    try:
        if special is not None:
            return special(draw, state, number)
        command: Command = drawn(COMMAND_KINDS[kind], draw, state)
    except ValueError:
        return None
    return command


def _submit(draw: Random, state: State, number: int) -> Command:
    skills = sorted({word for spec in state.specs.values() for word in spec.specialties}) or list(SKILLS)
    words = " and ".join(draw.sample(skills, min(len(skills), draw.randint(1, 2))))
    request: Any = f"request {number}: {words}"
    if draw.random() < 0.15:
        request = draw.choice([f"{request} {LONG}", {"title": f"request {number}", "about": words}, ""])
    command: Submit = drawn(Submit, draw, state, left_out=0.85)
    supervisor = draw.choice([None, command.supervisor])
    if _wants_list(state, supervisor) and draw.random() < 0.9:
        request = [f"{request}, item {place}" for place in range(draw.randint(0, 6))]
    values = {one.name: getattr(command, one.name) for one in fields(Submit)}
    return Submit(**(values | {"request": request, "supervisor": supervisor}))


def _wants_list(state: State, supervisor: str | None) -> bool:
    """Tell whether who gets the request makes one task for each item of a list."""
    found = next((one for one in state.supervisors.values() if supervisor in (None, one.id, one.name)), None)
    return found is not None and found.mode == "map"


def _stop_engine(draw: Random, state: State, number: int) -> Command:
    return StopEngine(token=draw.choice([None, None, 1]))


SPECIAL: dict[str, Callable[[Random, State, int], Command]] = {"submit": _submit, "stop_engine": _stop_engine}
"""Commands that are not drawn from their fields alone."""
