"""Model agents of a simulation: the real loop, on models whose answers are drawn (`models.py`)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any
from zlib import crc32

from typing_extensions import override

from engine.core.commands import SupervisorSpec
from engine.core.records.records import JsonValue, copy_with
from engine.core.specs.spec import AgentSpec
from engine.runtimes.attempts.work import Work
from engine.runtimes.code import Code
from engine.runtimes.functions.tools import tool
from engine.runtimes.model.lookup import NamedModel
from engine.runtimes.model.options import options_of
from engine.runtimes.model.runtime import ModelRuntime
from engine.runtimes.model.turn import Turns
from engine.runtimes.toolbox.call_limit import CallLimit
from engine.runtimes.toolbox.functions import FunctionTool
from engine.runtimes.toolbox.kit import Kit
from engine.simulation.models import FIRST, MISHAPS, SPARE, models_of
from engine.simulation.playing import CURRENT_ATTEMPT, PlayedAttempt
from engine.simulation.teams import map_specs

if TYPE_CHECKING:
    from engine.simulation.world import World

AGENT_TYPES = ("ReactAgent", "ReactAgent", "ReactAgent", "MemoryAgent", "SimpleAgent")
PERMISSIONS = ("ask_human", "remember", "recall", "list_workers", "create_agent")
MAX_WORK_S = 120.0
TIME_LIMIT_DIVISOR = 10
"""A piece of work of an agent of a user's own team takes at most its time limit divided by this."""
LEADERLESS_SHARE = 0.3
"""Share of teams without a model as lead."""


def to_model_agent(spec: AgentSpec) -> AgentSpec:
    """Return the spec of a simulated agent, as a model agent for half of the specs.

    A hash decides, not a draw: other decisions of the seed stay as they are. Each quotient is an independent choice.
    """
    number = crc32(f"{spec.name} {spec.specialties} {spec.weight}".encode())
    if number % 2 or spec.is_played_by_model:
        return spec
    agent_type = AGENT_TYPES[number // 2 % len(AGENT_TYPES)]
    is_simple = agent_type == "SimpleAgent"
    return copy_with(
        spec,
        agent_type=agent_type,
        model=[FIRST, SPARE] if number // 10 % 2 else FIRST,
        tools=() if is_simple else spec.tools,
        mcp=(),
        may=() if is_simple else PERMISSIONS[: number // 20 % (len(PERMISSIONS) + 1)],
        approve={"send": "always"} if number // 120 % 5 == 0 and "crew:send" in spec.tools and not is_simple else {},
        output=None,
        run=None,
        run_in=None,
        options={} if is_simple else {"turns": 4, "tools_at_once": 2, "result_chars": 1_000},
    )


def with_models(team: SupervisorSpec, draw: Random) -> SupervisorSpec:
    """Return a drawn team in which half of the agents are model agents, mostly with one of them as lead."""
    mixed_team = map_specs(team, to_model_agent)
    options = copy_with(mixed_team.options, models=models_of(draw))
    leads = [
        member.name
        for member in mixed_team.members
        if isinstance(member, AgentSpec) and member.agent_type == "ReactAgent"
    ]
    if not leads or draw.random() < LEADERLESS_SHARE:
        return copy_with(mixed_team, options=options)
    return copy_with(mixed_team, mode="delegate", options=copy_with(options, lead=leads[0], settings={}))


class SimulatedModelAgent(ModelRuntime):
    """Runs one agent by the real loop."""

    def __init__(self, spec: AgentSpec, code: Code, world: "World") -> None:
        super().__init__(spec, code, options_of(spec))
        self._world = world
        if spec.agent_type != "SimpleAgent":
            named = (str(reference).rpartition(":")[2] for reference in spec.tools)
            self._kit = Kit(spec, code, {name: _tools()[name] for name in named})

    @override
    async def check(self) -> None:
        """Check that the code is there; raises Unusable if it is not."""
        self._world.check_code(self._spec.name)

    @override
    async def execute(self, work: Work) -> JsonValue:
        """Run this attempt of the agent."""
        world = self._world
        world.check_begin(work)
        world.models.note_attempt(work)
        try:
            with _current_attempt(await self._open_attempt(work)):
                return await super().execute(work)
        finally:
            world.note_end(work)

    async def _open_attempt(self, work: Work) -> PlayedAttempt:
        world = self._world
        task, key, draw, mishap = await world.open_attempt(work, "model", MISHAPS)
        limits_s = (self._spec.timeout_s, self._spec.step_timeout_s)
        work_limits_s = [limit_s / TIME_LIMIT_DIVISOR for limit_s in limits_s if limit_s is not None]
        return PlayedAttempt(
            world=world,
            work=work,
            key=key,
            text=task.text,
            longest_s=min([MAX_WORK_S, *(work_limits_s if world.plan.has_user_team else [])]),
            turns=self._options.turns,
            mishap=mishap,
            wrong_turn=draw.choice([0, 0, 1, 2]),
        )

    @override
    def _turns(self, work: Work, models: Sequence[NamedModel], output: JsonValue) -> Turns:
        return _SimulatedTurns(work, models, params=self._options.request_params, output=output)


@contextmanager
def _current_attempt(attempt: PlayedAttempt) -> Iterator[None]:
    """Make the attempt that of the running code."""
    token = CURRENT_ATTEMPT.set(attempt)
    try:
        yield
    finally:
        CURRENT_ATTEMPT.reset(token)


class _SimulatedTurns(Turns):
    """Keeps the step for which a model is called."""

    @override
    async def ask(self, name: str, key: str, **options: Any) -> Any:
        """Call the model for a turn."""
        CURRENT_ATTEMPT.get().step = name, key
        return await super().ask(name, key, **options)


@cache
def _tools() -> dict[str, FunctionTool]:
    """Return the tools of all agents: one that must not be called twice, and one that may be."""

    async def send(number: int) -> JsonValue:
        """Send a number."""
        attempt = CURRENT_ATTEMPT.get()
        with attempt.world.models.watch_tool_call(attempt):
            await attempt.work.attempt.sleep(attempt.seconds(Random(f"{attempt.key} {number}"), MAX_WORK_S))
        if number == 2 and attempt.world.should_fail("a tool", 0.0):
            raise ConnectionError("the other side is not there")
        return f"sent {number}"

    @tool(idempotent=True)
    async def look(at: int) -> JsonValue:
        """Look at something."""
        return f"a line of what is there, long enough to be shown in part, number {at}\n" * (30 if at == 1 else 1)

    tools = {"send": FunctionTool("send", send, CallLimit(None)), "look": FunctionTool("look", look, CallLimit(None))}
    for function_tool in tools.values():
        function_tool.describe()
    return tools
