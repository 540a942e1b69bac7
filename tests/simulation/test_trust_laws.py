"""Which code comes into a team, against a dict of what was allowed: simulated agents have none."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.core.commands import (
    AddAgent,
    ChangeSupervisor,
    Command,
    LoadTeam,
    RegisterSpec,
    SupervisorSpec,
    SwapAgent,
)
from engine.core.events import CommandRefused
from engine.core.specs.model_spec import McpSpec, ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from tests.world import World, team_world

REFERENCES = ("crew:run", "crew:saw", "tools:cut")
ADDRESS, SERVER = "net:http://models.test/v1 [env TEAM_KEY]", "exec:mcp-files . [env TOKEN]"
EVERYTHING = (*REFERENCES, ADDRESS, SERVER)
MODELS = {"fast": ModelSpec(model="openai/fast", base_url="http://models.test/v1", key_env="TEAM_KEY")}
SERVERS = {"files": McpSpec(argv=("mcp-files", "."), env=("TOKEN",))}
PATHS = ("team.yaml", "elsewhere.yaml")

Draw = Callable[[st.SearchStrategy[Any]], Any]


def brought(draw: Draw, number: int, world: World) -> Command:
    """Draw a command that brings a spec that nobody has yet."""
    spec = AgentSpec(
        name=f"new{number}",
        description=f"the spec of command {number}",
        run=draw(st.sampled_from(REFERENCES)),
        tools=tuple(draw(st.lists(st.sampled_from(REFERENCES), max_size=2, unique=True))),
    )
    options = SupervisorOptions(models=draw(st.sampled_from([{}, MODELS])), mcp=draw(st.sampled_from([{}, SERVERS])))
    team = SupervisorSpec(name=f"team{number}", members=[spec], options=options)
    loaded = LoadTeam(path=draw(st.sampled_from(PATHS)), folder=".", text="", sha256="0", team=team)
    swapped = SwapAgent(agent="ada", spec=spec.with_name("ada"))
    models = {"other": ModelSpec(model=f"openai/{number}"), **options.models}
    set_anew = ChangeSupervisor(
        supervisor=world.state.roots[0].name, options=SupervisorOptions(models=models, mcp=options.mcp)
    )
    kinds = [AddAgent(spec=spec), RegisterSpec(spec=spec), swapped, loaded, set_anew]
    command: Command = draw(st.sampled_from(kinds))
    return command


def named_by(command: Any) -> set[str]:
    options = command.team.options if isinstance(command, LoadTeam) else getattr(command, "options", None)
    named = set()
    if options is not None:
        named = {ADDRESS for name in options.models if name in MODELS} | {SERVER for _ in options.mcp}
    if isinstance(command, ChangeSupervisor):
        return named
    spec: Any = command.team.members[0] if isinstance(command, LoadTeam) else command.spec
    return {spec.run, *spec.tools, *named}


def outcome(world: World, command: Command) -> str | None:
    """Give an order, and return why it is refused; None where it is carried out."""
    refusals = [event for event in world.order(command) if isinstance(event, CommandRefused)]
    return refusals[0].reason if refusals else None


@given(st.data())
def test_code_comes_in_where_it_is_trusted_already_or_granted_with_the_order(data: st.DataObject) -> None:
    world = team_world(AgentSpec(name="ada", run="crew:run"))
    trusted, path = {"crew:run": ""}, "team.yaml"
    for number in range(data.draw(st.integers(1, 6))):
        world.untrusted = data.draw(st.sets(st.sampled_from(EVERYTHING)))
        world.code = data.draw(st.dictionaries(st.sampled_from(EVERYTHING), st.sampled_from(["one", "two"])))
        command = brought(data.draw, number, world)
        named = named_by(command)
        is_elsewhere = isinstance(command, LoadTeam) and command.path != path

        reason = outcome(world, command)

        missing = {one for one in named & world.untrusted if is_elsewhere or one not in trusted}
        assert (reason is None) == (not missing), reason
        if missing:
            assert reason == f"not trusted: {', '.join(sorted(missing))}; allow them with --trust"
        else:
            trusted |= {one: world.code.get(one, "") for one in named - world.untrusted}
            path = command.path if isinstance(command, LoadTeam) else path
        assert world.state.trusted == trusted


@given(st.data())
def test_a_spec_that_an_agent_has_is_swapped_in_again_only_where_other_code_is_granted(data: st.DataObject) -> None:
    spec = AgentSpec(name="ada", run="crew:run", tools=("tools:cut",))
    world = team_world(spec)
    trusted = {"crew:run": "", "tools:cut": ""}
    for _ in range(data.draw(st.integers(1, 5))):
        world.untrusted = data.draw(st.sets(st.sampled_from([*trusted])))
        world.code = {one: f"{one} {data.draw(st.integers(1, 2))}" for one in trusted}
        granted = {one: world.code[one] for one in trusted if one not in world.untrusted}

        reason = outcome(world, SwapAgent(agent="ada", spec=spec))

        assert (reason is None) == ({**trusted, **granted} != trusted), reason
        trusted |= granted
        assert world.state.trusted == trusted
