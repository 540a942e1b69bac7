"""Outputs of agents that no model plays: with a schema, JSON that fits it; without one, what they are."""

from typing import Any

import pytest

from engine.core.specs.spec import AgentSpec
from engine.errors import Unusable
from engine.models.bounds import SCHEMA_IN_LOOP_CHARACTERS
from engine.runtimes.typed_output import check_output_schema

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("length", [0, SCHEMA_IN_LOOP_CHARACTERS])
async def test_a_schema_is_looked_at_however_long_it_is(length: int) -> None:
    def spec(kind: Any) -> AgentSpec:
        return AgentSpec(name="ada", output={"type": kind, "description": "x" * length})

    await check_output_schema(AgentSpec(name="ada"))
    await check_output_schema(spec("object"))
    with pytest.raises(Unusable, match=r"^agent 'ada': output: "):
        await check_output_schema(spec("a thing"))
