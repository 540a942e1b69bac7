"""Outputs of agents that no model plays, held against the `output` schema of their spec.

A schema may take processor time, so a thread compares. What a stopped attempt returns is partial and fits or not.
"""

from functools import partial
from typing import Any

import anyio.to_thread

from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.specs.spec import AgentSpec
from engine.errors import EngineError, Unusable
from engine.models.bounds import SCHEMA_IN_LOOP_CHARACTERS
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.threads import Threads
from engine.runtimes.model.output import SchemaMismatch, check_schema, check_value, validate_output
from engine.runtimes.values import json_value


class OutputMismatch(EngineError):
    """The output of an agent does not fit the schema of its spec."""

    def __init__(self, fault: Exception) -> None:
        super().__init__(f"its output does not fit the schema of its spec: {fault}")


async def check_output_schema(spec: AgentSpec) -> None:
    """Refuse a spec whose `output` is no schema; a long one is looked at in a thread.

    Raises:
        Unusable: In one line.
    """
    if spec.output is None:
        return
    try:
        if len(as_text(spec.output)) > SCHEMA_IN_LOOP_CHARACTERS:
            await anyio.to_thread.run_sync(check_schema, spec.output)
        else:
            check_schema(spec.output)
    except Unusable as unusable:
        raise Unusable(f"agent {spec.name!r}: output: {unusable.reason}") from unusable


async def typed_value(work: Work, value: Any, threads: Threads) -> JsonValue:
    """Return an output that fits the schema of the agent's spec, or any where that has none.

    Raises:
        OutputMismatch: If it does not fit.
        NotJson: If there is a schema and it is no JSON.
    """
    if work.spec.output is None or work.attempt.saw_stopping:
        return value  # type: ignore[no-any-return]  # the host converts it
    output = json_value(value)
    try:
        await threads.run(partial(check_value, output, work.spec.output))
    except SchemaMismatch as unfit:
        raise OutputMismatch(unfit) from unfit
    return output


async def typed_text(work: Work, text: str, threads: Threads) -> JsonValue:
    """Return the JSON that a text is, which fits the schema of the agent's spec; the text where that has none.

    Raises:
        OutputMismatch: If it is no JSON, or does not fit.
    """
    if work.spec.output is None or work.attempt.saw_stopping:
        return text
    try:
        return await threads.run(partial(validate_output, text, work.spec.output))
    except SchemaMismatch as unfit:
        raise OutputMismatch(unfit) from unfit
