"""Runs work at most once for a task: its start is journaled first, as that of a tool call."""

from collections.abc import Awaitable, Callable

from engine.core.records.records import JsonValue
from engine.runtimes.attempts.work import Work


async def run_once(work: Work, name: str, run: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
    """Return the result of `run`, or the recorded one; after an interruption a person says whether it happened.

    Args:
        name: Name of the work, for the person.
        run: Does the work of the task. An error ends it; an interruption leaves its outcome unknown.
    """
    value = await work.value()
    key = work.attempt.key(f"tool:{name}", value)
    if work.attempt.is_recorded(key):
        return await work.attempt.recorded_output(key)
    await work.tool_began(name, key)
    began_ms = work.attempt.now_ms()
    try:
        output = await run()
    except Exception as error:  # any error is the end of the work
        await work.tool_raised(key, error)
        raise
    step = work.finished_step("tool", f"tool:{name}", key, output, step_input=value, began_ms=began_ms)
    await work.attempt.record(step)
    return output
