"""Servers of models with odd habits, each asked by an agent: one engine, one process of litellm, one server."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest

from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Retry
from engine.platform.clock import VirtualClock
from engine.runtimes.functions.tools import idempotent
from tests.model_server import ModelServer, Say, model_server
from tests.runtime.engines import Engine, running
from tests.runtime.odd_habits import HABITS, Decides, repeated

pytestmark = pytest.mark.anyio


@idempotent
def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"sun in {city}"


@pytest.fixture(scope="module")
async def odd() -> AsyncIterator[tuple[Engine, ModelServer]]:
    """An engine, and a server that has the habit which a request names as its model."""
    async with AsyncExitStack() as stack:
        server = stack.enter_context(model_server())
        server.by(answered)
        engine = await stack.enter_async_context(running(clock=VirtualClock()))
        yield engine, server
        await engine.host.stop()


def answered(body: Mapping[str, Any]) -> Say:
    """Answer a request as its habit has it."""
    says: Say | Decides = HABITS[body["model"]].says
    if callable(says):
        return says(body)
    return (
        repeated(body) if any(message["role"] == "tool" or nameless(message) for message in body["messages"]) else says
    )


def nameless(message: Mapping[str, Any]) -> bool:
    """Return True for the result of a call without a name."""
    return str(message.get("content")).startswith("[result] ")


@pytest.mark.parametrize("name", HABITS)
async def test_an_odd_server_costs_what_its_answers_are_worth(odd: tuple[Engine, ModelServer], name: str) -> None:
    (engine, server), habit = odd, HABITS[name]
    before = len(server.seen)
    spec = AgentSpec(
        name=name, agent_type="ReactAgent", model="odd", on_failure=(Retry(1),),
        **({"tools": (weather,)} if habit.schema is None else {"output": habit.schema}),
    )  # fmt: skip
    model = ModelSpec(model=f"openai/{name}", base_url=server.url)
    await engine.hire(spec, name=f"team-{name}", options=SupervisorOptions(models={"odd": model}))

    summary, output = await engine.ended(await engine.submit(supervisor=f"team-{name}"))

    assert output == habit.output
    assert (habit.error or "") in (summary.error or "")
    assert bool(summary.error) is bool(habit.error)
    assert len(server.seen) - before == habit.requests
    assert (None if summary.usage.cost_usd is None else str(summary.usage.cost_usd)) == habit.cost
    if habit.thought is not None:
        assert await last_thought(engine) == habit.thought


async def last_thought(engine: Engine) -> Any:
    """Return the thought of the last answer that is recorded."""
    records = await engine.journal("step_recorded")
    return json.loads(records[-1].body)["output"]["thinking"]
