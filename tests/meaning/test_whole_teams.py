"""A whole team goes elsewhere as one value, and a program that starts again gets what it declares: for every team.

Teams are drawn with every option that there is, from the fields of the options, so one that is new takes part by
itself. What their agents do is a function of the program.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import anyio
import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine import AgentSpec, CommandRefusedError, DiscoveryConfig, DynamicSupervisor, RunFailed
from engine.archive.reading import read_state
from engine.core.documents.document import read_document, references_in
from engine.core.queries.team.declared import describe_member
from engine.core.records.records import copy_with, field_names
from engine.core.specs.options import SupervisorOptions
from engine.platform.clock import VirtualClock
from engine.runtimes.functions.kinds import WITHOUT_CONTEXT
from engine.simulation.drawing import TOOLS
from engine.simulation.teams import UNUSED_FIELDS, draw_mode, draw_options, draw_spec
from tests.patience import PATIENCE_S

T = TypeVar("T")

NAMES = ("ada", "bob", "cyd", "dan")
seeds = st.integers(0, 2**32)
NOT_DRAWN = {*UNUSED_FIELDS, *WITHOUT_CONTEXT.unused, "run_in", "output"}
"""Fields of a spec that are about code, do nothing for a function of its text, or hold a schema."""


async def work(text: str) -> str:
    return f"did {text}"


@dataclass(frozen=True)
class Written:
    """What somebody has written in a program: one supervisor, and those that join it."""

    name: str
    specs: list[AgentSpec]
    arguments: dict[str, Any]
    below: "list[Written]"


def written(draw: Random, name: str = "chief", *, depth: int = 1, specs: list[AgentSpec] | None = None) -> Written:
    """Return a program as chance has it; with these agents, where they are given."""
    specs = specs or [_spec(draw, one) for one in draw.sample(NAMES, draw.randint(1, 3))]
    agents, mode = [one.name for one in specs], draw_mode(draw)
    drawn = {
        "coordination_mode": mode,
        "options": _options(draw, mode, agents),
        "auto_discover": draw.random() < 0.2,
        "discovery": DiscoveryConfig(max_matches=draw.randint(1, 5)),
        "participants": draw.sample(agents, draw.randint(1, len(agents))),
        "default_agent": draw.choice(agents),
        "aggregator": draw.choice(agents),
        "max_agents": draw.randint(10, 60),
        "max_parallel": draw.randint(1, 10),
    }
    left_out = [one for one in drawn if one not in ("coordination_mode", "options") and draw.random() < 0.5]
    names = ("north", "south")[: draw.choice([0, 0, 1, 2])] if depth < 3 else ()
    below = [written(draw, one, depth=depth + 1) for one in names]
    return Written(name, specs, {key: value for key, value in drawn.items() if key not in left_out}, below)


def _options(draw: Random, mode: str, agents: list[str]) -> SupervisorOptions:
    options = _right(SupervisorOptions, lambda: draw_options(draw, mode, agents, agents))
    limits = options.limits
    return options if limits is None else copy_with(options, limits=copy_with(limits, depth=None))


def _spec(draw: Random, name: str) -> AgentSpec:
    drawn = _right(AgentSpec, lambda: draw_spec(draw, name))
    kept = {name: getattr(drawn, name) for name in field_names(AgentSpec) if name not in NOT_DRAWN}
    return AgentSpec(**(kept | {"agent_type": "function", "run": work}))


def _right(kind: type[T], make: Callable[[], T]) -> T:
    """Return the first of what is drawn that is within the bounds of its fields."""
    while True:
        value = make()
        with suppress(msgspec.ValidationError):
            msgspec.json.decode(msgspec.json.encode(value), type=kind)
            return value


async def built(program: Written, *, clock: VirtualClock | None = None, **arguments: Any) -> DynamicSupervisor:
    root = DynamicSupervisor(
        program.name, agent_specs=program.specs, clock=clock or VirtualClock(), **program.arguments, **arguments
    )
    for one in program.below:
        await root.add_sub_supervisor(one.name, await built(one))
    return root


def carried(value: Any, name: str = "chief") -> Any:
    """Return a state after it was written and read, its first supervisor under another name."""
    value = json.loads(json.dumps(value))
    next(one for one in value["state"]["supervisors"].values() if "parent_id" not in one)["name"] = name
    return value


def hash_of(value: Any) -> str:
    return read_document(msgspec.json.encode(value["state"]), value["texts"]).sha256


def programs_of(value: Any) -> list[str]:
    """Return the programs, addresses and drawn tools that an operator has to trust before a state comes in."""
    found = references_in(read_state(carried(value)).state)
    return [one for one in found if one.startswith(("exec:", "net:")) or one in TOOLS]


def tree(team: DynamicSupervisor) -> Any:
    return describe_member(team._state, team._supervisor.id)


async def outcome(team: DynamicSupervisor, run_id: str) -> str:
    try:
        return str(await team.wait(run_id))
    except RunFailed as failed:
        return str(failed)


async def first_outcome(team: DynamicSupervisor) -> str:
    try:
        return str(await team.arun("go", deadline_s=1000))
    except (CommandRefusedError, RunFailed) as error:
        return str(error)


def run(program: Any, *arguments: Any) -> None:
    async def main() -> None:
        with anyio.fail_after(PATIENCE_S):
            await program(*arguments)

    anyio.run(main)


@given(seeds, st.sampled_from(["in memory", "on a file"]), st.sampled_from(["chief", "other"]))
@example(5811, "in memory", "other")
@settings(max_examples=15)
def test_every_team_goes_elsewhere_whole_and_its_work_goes_on(seed: int, where: str, name: str) -> None:
    async def main(folder: Path) -> None:
        clock = VirtualClock()
        team = await built(written(Random(seed)), clock=clock)
        await first_outcome(team)
        await team.pause()
        async with team:
            run_id = None
            with suppress(CommandRefusedError):
                run_id = await team.submit("go on", deadline_s=1000)
            await clock.sleep_until(clock.now_ms() + 1000)  # the engine's own work does not wait for who is paused
            clock.hold()
            value = await team.serialize_complete_state()
            await team.resume()
            clock.release()
            expected = None if run_id is None else await outcome(team, run_id)

        clock = VirtualClock()
        clock.hold()
        twin = DynamicSupervisor(name, store=folder / "team.db" if where == "on a file" else None, clock=clock)
        await twin.deserialize_state(carried(value), trusted=programs_of(value))
        assert hash_of(carried(await twin.serialize_complete_state(), name)) == hash_of(carried(value, name))
        async with twin:
            await twin.resume()
            clock.release()
            came = None if run_id is None else await outcome(twin, run_id)
            # An error may name the supervisor, which has another name here.
            assert (came and came.replace("chief", name)) == (expected and expected.replace("chief", name))

    with TemporaryDirectory() as folder:
        run(main, Path(folder))


@given(seeds, st.sampled_from(["the same", "other options", "fewer options", "more options"]))
@settings(max_examples=15)
def test_a_program_that_starts_again_on_its_file_gets_what_it_declares(seed: int, says: str) -> None:
    draw = Random(seed)
    before = written(draw)
    if says == "more options":
        before = bare(before)
    after = {"the same": before, "fewer options": bare(before)}.get(says) or again(draw, before)

    async def main(path: Path) -> None:
        await first_outcome(await built(before, store=path))
        team = await built(after, store=path)
        async with team:
            assert tree(team) == tree(await built(after))
            await first_outcome(team)

    with TemporaryDirectory() as folder:
        run(main, Path(folder) / "team.db")


def bare(program: Written) -> Written:
    """Return a program with no option, whose agents have none either."""
    specs = [AgentSpec(name=one.name, run=work) for one in program.specs]
    return Written(program.name, specs, {}, [bare(one) for one in program.below])


def again(draw: Random, program: Written) -> Written:
    """Return a program with the same members and other options."""
    specs = [_spec(draw, one.name) for one in program.specs]
    fresh = written(draw, program.name, depth=3, specs=specs)
    return replace(fresh, below=[again(draw, one) for one in program.below])
