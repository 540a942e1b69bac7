"""Agents that note what they really do, and wait in the middle of it."""

from typing import Any

import anyio

done: list[str] = []
"""What was really done, in order."""
reached = anyio.Event()
"""Set when the lead has recorded its second step."""
go_on = anyio.Event()
"""What the lead waits for then."""
long_texts = False


async def worker(text: str) -> str:
    done.append(f"work for {text}")
    return f"for {text}: done"


async def spell(letter: str) -> str:
    done.append(f"step {letter}")
    return letter.upper() * (1000 if long_texts else 1)


async def lead(task: Any, ctx: Any) -> list[str]:
    first = await ctx.step("spell", spell, "a")
    work = await ctx.delegate("worker", "lead")
    second = await ctx.step("spell", spell, "b")
    reached.set()
    await go_on.wait()
    return [first, work, second, await ctx.step("spell", spell, "c")]
