"""A crew that works in many short steps, and notes each in a ledger, from inside the step."""

import json
import os
import time
from pathlib import Path
from typing import Any

import anyio

LEDGER = Path(__file__).with_name("ledger.jsonl")
MARKS = os.open(LEDGER.with_name("marks"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
STEPS = 12
STEP_S = 0.02


async def pace(name: str) -> str:
    """Do one step, and note that it came to its end."""
    await anyio.sleep(STEP_S)
    ledger = os.open(LEDGER, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(ledger, json.dumps([os.getpid(), name]).encode() + b"\n")
    finally:
        os.close(ledger)
    return name


async def walk(task: Any, ctx: Any) -> list[str]:
    """Go some steps."""
    return [await ctx.step(f"pace {number}", pace, f"{task.id}/{number}") for number in range(STEPS)]


async def mark(text: str) -> str:
    """Note at once, without a step, who works and when."""
    os.write(MARKS, f"{os.getpid()} {time.monotonic_ns()}\n".encode())
    return text


async def many(task: Any, ctx: Any) -> int:
    """Have thousands of marks made."""
    return len(await ctx.map("mark", [str(number) for number in range(20_000)]))


async def lead(task: Any, ctx: Any) -> list[Any]:
    """Have others walk, and wait for them."""
    found: list[Any] = await ctx.map("walk", [f"way {number}" for number in range(4)])
    return found


def block(text: str) -> str:
    """Hold the engine's loop until a file is there."""
    while not LEDGER.with_name("go on").exists():
        time.sleep(0.01)  # what code of an agent should not do
    return text


async def hold(text: str) -> str:
    """Block the loop, as no async agent should."""
    return block(text)
