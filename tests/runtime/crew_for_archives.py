"""A crew that notes what it really does, and stops at every place where a state may be carried away."""

from collections.abc import Awaitable, Callable
from typing import Any

done: list[str] = []
"""What was really done, in order."""
hook: list[Callable[[str], Awaitable[None]]] = []
"""Called at every place, by its name; where work is under way and nothing of it is recorded yet."""
LONG = "words that are too many to stand in the state itself " * 4


async def _place(name: str) -> None:
    for call in hook:
        await call(name)


async def read(text: str) -> str:
    done.append(f"read {text}")
    return f"{text} {LONG}"


async def surveyor(task: Any, ctx: Any) -> dict[str, Any]:
    await _place("surveyor begins")
    text = await ctx.step("read", read, task.request)
    await _place("surveyor has read")
    parts = await ctx.map("counting", [f"part {number} {LONG}" for number in range(4)])
    await _place("surveyor has its parts")
    end = await ctx.step("read", read, "the end")
    done.append("survey")
    return {"text": text, "parts": parts, "end": end}


async def boss(task: Any, ctx: Any) -> Any:
    made = await ctx.create_agent("made", "You count.", run="counter")
    await _place("boss has made it")
    return await made(task.request)


async def counter(text: str) -> int:
    await _place(f"counter at {text[:6]}")
    done.append(f"count {text[:6]}")
    return len(text)


async def writer(task: Any, ctx: Any) -> str:
    await _place("writer begins")
    done.append("write")
    return f"report of {len(str(task.inputs))} characters"
