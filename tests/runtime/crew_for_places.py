"""A crew of every kind of work that notes what it finishes, under names that are the same in every life of a run."""

from typing import Any

done: list[str] = []
"""What was finished, in order."""


async def look(place: int) -> str:
    done.append(f"look {place}")
    return "seen " * 30 + str(place)


async def scout(task: Any, ctx: Any) -> list[str]:
    places = [await ctx.step("look", look, place) for place in range(3)]
    done.append("scout")
    return places


async def lead(task: Any, ctx: Any) -> dict[str, Any]:
    counted = await ctx.map("count", [f"item {number}" for number in range(4)])
    middle = await ctx.step("look", look, 7)
    checked = await ctx.delegate("check", f"after {len(counted)}")
    done.append("lead")
    return {"counted": counted, "middle": middle, "checked": checked}


async def count(task: Any, ctx: Any) -> int:
    if task.text == "item 2" and task.attempt == 1:
        raise ConnectionError("not the first time")
    done.append(f"count {task.text}")
    return len(task.text)


def read(text: str) -> str:
    done.append(f"read {text}")
    return f"{text}, read"


async def sign(text: str) -> str:
    done.append(f"sign {text}")
    return f"{text}, signed"


async def write(task: Any, ctx: Any) -> str:
    done.append("write")
    return "\n".join(str(each.output) for each in task.inputs)
