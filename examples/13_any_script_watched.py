"""Any script, watched: with a file as its store, `quarterdeck --db team.db` in another terminal shows it at work.

Start it again and the team is still there, with everything that it has done. What is changed in the other terminal is
changed here.
"""

import sys

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor, StoreBusy, Task
from quarterdeck import Context as AgentContext


async def count(task: Task, ctx: AgentContext) -> str:
    words = task.text.split()
    for done, word in enumerate(words, 1):
        ctx.progress(done, len(words), word)
        await ctx.sleep(0.05)
    return f"{len(words)} words"


async def main(store: str) -> None:
    team = DynamicSupervisor(name="counting", agent_specs=[AgentSpec(name="counter", run=count)], store=store)
    try:
        async with team:
            result = await team.arun("watch me count these words")
            print(f"{result} in {result.run_id}; {team.active_agents['counter'].tasks} tasks so far")
    except StoreBusy as busy:
        sys.exit(f"{busy}\nwatch that one with: quarterdeck --db {store}")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1] if len(sys.argv) > 1 else "team.db")
