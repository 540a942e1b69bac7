"""Checks outputs of agents without a model against the `output` schema of their spec.

The check runs in a thread, because it may take processor time. The partial output of a stopped attempt is not checked.
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
from engine.runtimes.model.output import SchemaMismatch, check_schema, check_value, parse_output
from engine.runtimes.values import json_value


class OutputMismatch(EngineError):
    """The output of an agent does not fit the schema of its spec."""

    def __init__(self, fault: Exception) -> None:
        super().__init__(f"its output does not fit the schema of its spec: {fault}")


async def check_output_schema(spec: AgentSpec) -> None:
    """Check the `output` schema of a spec, in a thread if it is long.

    Raises:
        Unusable: If it is not a valid schema; one line.
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
    """Return an output after checking it against the schema of the agent's spec, if it has one.

    Raises:
        OutputMismatch: If it does not fit.
        NotJson: If there is a schema, and the output is not JSON.
    """
    if work.spec.output is None or work.attempt.saw_stopping:
        return value  # type: ignore[no-any-return]  # the host converts it
    output = json_value(value)
    try:
        await threads.run(partial(check_value, output, work.spec.output))
    except SchemaMismatch as mismatch:
        raise OutputMismatch(mismatch) from mismatch
    return output


async def typed_text(work: Work, text: str, threads: Threads) -> JsonValue:
    """Return the JSON value of a text, checked against the schema of the agent's spec; without one the text itself.

    Raises:
        OutputMismatch: If the text is not JSON, or does not fit.
    """
    if work.spec.output is None or work.attempt.saw_stopping:
        return text
    try:
        return await threads.run(partial(parse_output, text, work.spec.output))
    except SchemaMismatch as mismatch:
        raise OutputMismatch(mismatch) from mismatch
