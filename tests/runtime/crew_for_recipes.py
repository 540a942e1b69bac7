"""Agents that make agents, for tests of recipes; a module, so that a new process can import them."""

from typing import Any


async def solve(task: Any, ctx: Any) -> Any:
    """Solve by an agent that this one makes."""
    if "parser" not in ctx.state:
        ctx.state["parser"] = await ctx.create_agent("parser", "You parse.", run="parse")
    parser = ctx.state["parser"]
    return {"parsed": await parser(task.value), "by": ctx.agent}


def parse(text: str) -> list[str]:
    """Split a text into words."""
    return text.split()


async def architect(task: Any, ctx: Any) -> Any:
    """Make a solver once, and call the one that is kept."""
    if "solver" not in ctx.state:
        ctx.state["solver"] = await ctx.create_agent(
            "solver", "You solve.", capabilities=["agents", "parse"], run="solve"
        )
    return await ctx.state["solver"](task.value)


def architect_in_thread(task: Any, ctx: Any) -> Any:
    """Make a parser and call it, in a plain function."""
    parser = ctx.create_agent("parser", "You parse.", run="parse")
    return parser(task.value)
