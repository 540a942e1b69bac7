"""The crew of the chaos runs: whatever it does, it also writes into a ledger beside this file.

The ledger is what proves from outside that nothing finished is done again: a line when a piece of work begins and one
when it ends, each on disk before the work goes on. What the crew puts out depends on the request alone, so that a run
that was torn apart can be held against one that was left in peace.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import anyio

LEDGER = Path(__file__).with_name("ledger.jsonl")
PIECE_S = float(os.environ.get("CHAOS_PIECE_S", "0.004"))
"""How long a piece of work takes."""


def note(what: str, name: str, *, engine: int | None = None) -> None:
    """Append one line to the ledger, on disk when this returns."""
    line = json.dumps({"what": what, "name": name, "engine": engine or os.getpid()}).encode() + b"\n"
    ledger = os.open(LEDGER, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(ledger, line)
        os.fsync(ledger)
    finally:
        os.close(ledger)


def noted(what: str, name: str) -> bool:
    """Return True when the ledger has such a line."""
    wanted = f'{{"what": "{what}", "name": "{name}", '
    return LEDGER.exists() and any(line.startswith(wanted) for line in LEDGER.read_text().splitlines())


async def piece(name: str) -> int:
    """Do a piece of work in the loop."""
    note("begin", name)
    await anyio.sleep(PIECE_S)
    note("end", name)
    return len(name.partition("/")[2])


def blocking_piece(name: str) -> int:
    """Do a piece of work that blocks its thread."""
    note("begin", name)
    time.sleep(PIECE_S)
    note("end", name)
    return len(name.partition("/")[2])


def failing_piece(name: str) -> int:
    """Do a piece of work that fails the first time."""
    note("begin", name)
    if not noted("failed", name):
        note("failed", name)
        raise ConnectionError("not the first time")
    note("end", name)
    return 1


async def scout(task: Any, ctx: Any) -> list[str]:
    """Find what there is to do, step by step."""
    note("begin", task.id)
    sizes = [await ctx.step(f"look {place}", piece, f"{task.id}/look {place}") for place in range(6)]
    note("end", task.id)
    return [f"{task.request}:{place}:{size}" for place, size in enumerate(sizes)]


async def counting_lead(task: Any, ctx: Any) -> dict[str, Any]:
    """Have many things counted, in two waves, with a step between them."""
    note("begin", task.id)
    first = await ctx.map("count", [f"first {number}" for number in range(48)])
    middle = await ctx.step("between", piece, f"{task.id}/between")
    second = await ctx.map("count", [f"second {number}" for number in range(32)])
    note("end", task.id)
    return {"counted": first + second, "middle": middle}


async def weighing_lead(task: Any, ctx: Any) -> dict[str, Any]:
    """Have things weighed by workers that fail at first, and ground in other processes."""
    note("begin", task.id)
    weights = await ctx.map("weigh", [f"load {number}" for number in range(12)])
    ground = await ctx.map("grind", [f"grain {number}" for number in range(4)])
    note("end", task.id)
    return {"weights": weights, "ground": ground}


async def count(text: str) -> dict[str, Any]:
    """Count one thing, without steps."""
    note("begin", text)
    await anyio.sleep(PIECE_S)
    note("end", text)
    return {"item": text, "count": sum(map(ord, text))}


async def count_anew(text: str) -> dict[str, Any]:
    """Do what `count` does: what an agent that counts is swapped to."""
    return await count(text)


def weigh(task: Any, ctx: Any) -> int:
    """Weigh one thing in a thread; the second of its steps fails the first time."""
    note("begin", task.id)
    weight: int = ctx.step("put on", blocking_piece, f"{task.id}/put on")
    weight += ctx.step("read off", failing_piece, f"{task.id}/read off")
    weight += ctx.step("take off", blocking_piece, f"{task.id}/take off")
    note("end", task.id)
    return weight + len(task.text)


def grind(text: str) -> dict[str, Any]:
    """Grind one thing, in a process of its own."""
    engine = os.getppid()
    note("begin", text, engine=engine)
    time.sleep(PIECE_S)
    note("end", text, engine=engine)
    return {"item": text, "ground": text[::-1]}


async def drill(task: Any, ctx: Any) -> str:
    """Do three steps; all who drill come to the same result, however they are coordinated."""
    note("begin", task.id)
    for number in range(3):
        await ctx.step(f"move {number}", piece, f"{task.id}/move {number}")
    note("end", task.id)
    return "drilled"


async def writer(task: Any, ctx: Any) -> str:
    """Write the report from what the others found, and what one more capability and one more team say to it."""
    note("begin", task.id)
    last = await ctx.delegate("count", "the last thing")
    checked = await ctx.delegate("archive", "what was written")
    lines = [json.dumps(said(each), sort_keys=True) for each in task.inputs]
    note("end", task.id)
    return "\n".join([task.request, *lines, json.dumps([last, checked], sort_keys=True)])


def said(result: Any) -> Any:
    """Return what a member found; of those who drill the one word that they all say, however it was put together."""
    return "drilled" if result.agent == "drills" and "drilled" in json.dumps(result.output) else result.output


async def put_away(text: str) -> dict[str, str]:
    """Put a text away."""
    note("begin", f"put away {text}")
    note("end", f"put away {text}")
    return {"item": f"put away {text}"}


async def seal(text: str) -> dict[str, str]:
    """Seal what was put away."""
    note("begin", f"seal {text}")
    note("end", f"seal {text}")
    return {"item": f"seal {text}"}
