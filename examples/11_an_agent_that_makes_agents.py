"""An agent that makes an agent: start it again, and the new process finds the solver and calls it.

With `QUARTERDECK_MODEL=openai/gpt-4o` and a key a real model plays the solver; without it, scripted answers.
"""

import math
import os
import sys

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor, ModelSpec, Task
from quarterdeck import Context as AgentContext

os.environ.setdefault("QUARTERDECK_MODEL", "offline")
OFFLINE = ModelSpec(
    replies=[
        {"match": "x² = (?P<square>[0-9]+)", "calls": [{"name": "square_root", "arguments": {"number": 2}}]},
        {"text": "x is {text} or -{text}"},
    ]
)


def square_root(number: float) -> float:
    """Return the positive square root of a number."""
    return round(math.sqrt(number), 4)


async def architect(task: Task, ctx: AgentContext) -> str:
    if "solver" in ctx.state:
        print("found again:", ctx.state["solver"].path)
        answer: str = await ctx.state["solver"](task.text)
        return answer
    solver = await ctx.create_agent(name="solver", primer="You solve equations.", capabilities=["math", "agents"])
    ctx.state["solver"] = solver  # stored; a new process finds it and calls it again
    print("made:", solver.path)
    first: str = await solver("Solve x² = 2")
    return first


async def main(store: str) -> None:
    team = DynamicSupervisor(
        name="maths",
        agent_specs=[AgentSpec(name="architect", run=architect)],
        toolsets={"math": [square_root]},
        models={"offline": OFFLINE},
        store=store,
    )
    async with team:
        print(await team.arun("Solve x² = 2"))
        print(team.list_active_agents())


if __name__ == "__main__":
    anyio.run(main, sys.argv[1] if len(sys.argv) > 1 else "maths.db")
