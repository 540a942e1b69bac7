"""The crew of the soak: work of every kind that takes little and leaves nothing."""

import time
from typing import Any

import anyio

PIECE_S = 0.1


async def piece(text: str) -> str:
    """Do a step."""
    await anyio.sleep(PIECE_S)
    return text[::-1]


async def lead(task: Any, ctx: Any) -> list[Any]:
    """Have things counted and weighed, with a step and some output between."""
    counted = await ctx.map("count", [f"{task.id} item {number}" for number in range(4)])
    ctx.emit(f"counted {len(counted)}\n")
    said = await ctx.step("between", piece, task.text)
    return [said, await ctx.delegate("weigh", task.text)]


async def count(text: str) -> dict[str, Any]:
    """Count one thing, and bring back more than a state holds of it."""
    await anyio.sleep(PIECE_S)
    return {"item": text, "told": f"{text} was counted. " * 20}


async def count_anew(text: str) -> dict[str, Any]:
    """Do what `count` does: what an agent that counts is swapped to."""
    return await count(text)


def weigh(task: Any, ctx: Any) -> int:
    """Weigh one thing in a thread."""
    time.sleep(PIECE_S)
    ctx.progress(1, 2, "weighed")
    return len(task.text)


def grind(text: str) -> str:
    """Grind one thing in a process."""
    return text.upper()


_tries = 0


async def stumble(text: str) -> str:
    """Fail at every third try."""
    global _tries
    _tries += 1
    if _tries % 3 == 0:
        raise ConnectionError("not this time")
    return text
