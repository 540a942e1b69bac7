"""Every command that takes a target does the same by each form of naming its object.

Commands are found by walking what there is, so that a new one is covered without a line here. Methods of the Python API
are in `tests/runtime/test_targets_of_methods.py`.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from random import Random
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.core.commands import COMMANDS, Command, Order, SupervisorSpec, SwapAgent
from engine.core.commands.team import NamesObject
from engine.core.decisions.decision_context import DecisionContext
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.events import CommandApplied, CommandRefused
from engine.core.queries.team.tree import lineage_of
from engine.core.records.records import copy_with
from engine.core.state import Agent, State, Supervisor
from engine.core.step import step
from engine.simulation.drawing import draw_valid_record
from tests.depth import examples
from tests.story import applied, submitted
from tests.world import agent, team_world

OTHER_TEXTS = {
    "add", "aggregator", "answer", "capabilities", "catalogue", "category", "command_id", "conversation",
    "description", "fields", "folder", "insights", "lead", "mode", "model", "name", "path", "primer", "reason",
    "recipes", "registered", "remove", "run", "segment", "sha256", "specialties", "supersedes", "tags", "text", "to",
    "where",
}  # fmt: skip
"""Texts in commands that name no object of a team, or a member only as a setting does: by its name."""


def is_target(hint: Any) -> bool:
    """Return whether a type is that of a target, or of several."""
    names = any(isinstance(one, NamesObject) for one in getattr(hint, "__metadata__", ()))
    return names or any(is_target(one) for one in get_args(hint))


def is_text(hint: Any) -> bool:
    """Return whether a type is a text or texts; a mapping and a choice of a few words are none."""
    return hint is str or (get_origin(hint) not in (dict, Mapping) and any(is_text(one) for one in get_args(hint)))


def texts(hints: dict[str, Any]) -> set[str]:
    """Return the names of what takes texts that are no targets."""
    return {name for name, hint in hints.items() if not is_target(hint) and is_text(hint)}


def hints_of(thing: Any) -> dict[str, Any]:
    hints = get_type_hints(thing, include_extras=True)
    return {name: hint for name, hint in hints.items() if name not in ("return", "type")}


# Every form of naming an object


def trail(state: State, member: Agent | Supervisor) -> list[str]:
    """Return the names from the root down to a member."""
    if isinstance(member, Agent):
        return [*trail(state, state.supervisors[member.supervisor_id]), member.name]
    return [one.name for one in lineage_of(state, member)][::-1]


def forms(state: State, subject: Any) -> list[str]:
    """Return all that names an object in the whole tree: its id, its path, what of the path is its alone."""
    if not isinstance(subject, Agent | Supervisor):
        return [f"@{subject.id}", *([subject.id] if subject.id != "r1" else [])]  # r1 is a name, too
    members: list[Agent | Supervisor] = [*state.agents.values(), *state.supervisors.values()]
    trails = [trail(state, one) for one in members]
    names = trail(state, subject)
    ends = [names[place:] for place in range(len(names))]
    alone = ["/".join(end) for end in ends if sum(one[-len(end) :] == end for one in trails) == 1]
    return [f"@{subject.id}", subject.id, f"/{'/'.join(names)}", *(one for one in alone if one != "r1")]


def objects(state: State) -> list[Any]:
    return [*state.agents.values(), *state.supervisors.values(), *state.runs.values(), *state.tasks.values()]


# Commands


def places(cls: Any) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the targets in a command; the last part of a path is a field."""
    for name, hint in hints_of(cls).items():
        if is_target(hint):
            yield (name,)
        for inner in get_args(hint):
            if inner in COMMANDS:
                yield from ((name, *path) for path in places(inner))


def put(command: Any, path: tuple[str, ...], target: str) -> Any:
    """Return a command with a target at a path of it."""
    name, *rest = path
    value = getattr(command, name)
    if rest:
        return copy_with(command, **{name: [put(value[0], tuple(rest), target)]})
    return copy_with(command, **{name: [target] if isinstance(value, list) else target})


PLACES = [(cls, path) for cls in COMMANDS for path in places(cls)]


@cache
def team_bytes() -> bytes:
    """Return a team of three levels at work: every agent can be rolled back, two are called dan, one r1."""
    low = SupervisorSpec(name="low", members=[agent("cyd"), agent("dan")])
    world = team_world(agent("ada"), agent("r1"), SupervisorSpec(name="sub", members=[agent("bea"), agent("dan"), low]))
    submitted(world)
    for one in list(world.state.agents.values()):
        applied(world, SwapAgent(agent=f"@{one.id}", spec=agent(one.name, "more")))
    return encode_state(world.state)


def outcome(command: Command, target: str) -> Any:
    """Return what a command does to the team; of a refusal the code, and the reason where the object is known."""
    state = decode_state(team_bytes())
    events, _ = step(state, Order(id="c1", command=command), DecisionContext(now_ms=state.at_ms + 10, jitter=0.5))
    for event in events:
        if isinstance(event, CommandRefused):
            return event.code, "" if event.code.startswith("unknown") else event.reason.replace(target, "TARGET")
    return [copy_with(event, args={}) if isinstance(event, CommandApplied) else event for event in events]


def test_every_text_of_a_command_that_names_an_object_is_a_target() -> None:
    assert set().union(*(texts(hints_of(cls)) for cls in COMMANDS)) == OTHER_TEXTS


@pytest.mark.parametrize(("cls", "path"), PLACES, ids=[f"{cls.__name__}.{'.'.join(path)}" for cls, path in PLACES])
@settings(max_examples=examples(2))
@given(seed=st.integers(0, 10_000))
def test_a_command_does_the_same_by_each_form_of_its_target(cls: Any, path: tuple[str, ...], seed: int) -> None:
    state, draw = decode_state(team_bytes()), Random(seed)
    command = draw_valid_record(cls, draw, state, omission_share=1.0)
    for name in path[:-1]:
        inner = next(one for one in get_args(hints_of(cls)[name]) if one in COMMANDS)
        command = copy_with(command, **{name: [draw_valid_record(inner, draw, state, omission_share=1.0)]})
    assume(command is not None)
    by_id, *others = forms(state, draw.choice(objects(state)))

    expected = outcome(put(command, path, by_id), by_id)
    for target in others:
        assert outcome(put(command, path, target), target) == expected, target
