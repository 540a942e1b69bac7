"""Two specialists, found by themselves: one request that needs two abilities goes to two agents, in its own order."""

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor, Task
from quarterdeck import Context as AgentContext

LIBRARY = {
    "quantum": ["error rates fell below the surface code's threshold", "one logical qubit outlived its physical ones"],
}


def search_web(topic: str) -> list[str]:
    """Stand in for a search: look into a library of two lines."""
    return [line for word, lines in LIBRARY.items() if word in topic.lower() for line in lines]


def analyse(findings: list[str]) -> str:
    return "; ".join(sorted(findings)) or "nothing was found"


async def research(task: Task, ctx: AgentContext) -> str:
    findings = await ctx.tool("search_web", task.text)
    return str(await ctx.tool("analyse", findings))


async def write(text: str) -> str:
    return f"Summary. {text[:1].upper()}{text[1:]}."


async def main() -> None:
    team = DynamicSupervisor(
        name="newsroom",
        auto_discover=True,
        agent_specs=[
            AgentSpec(
                name="researcher",
                agent_type="ReactAgent",
                description="Finds and checks facts",
                specialties=["research", "analysis", "data"],
                tools=[search_web, analyse],
                run=research,
            ),
            AgentSpec(
                name="writer",
                agent_type="SimpleAgent",
                description="Writes and edits texts",
                specialties=["writing", "editing", "content"],
                run=write,
            ),
        ],
    )
    result = await team.arun("Research the state of quantum error correction and write a two-page summary")
    print(result)
    print(f"{result.run_id}: {result.status}, {result.tasks} tasks")


if __name__ == "__main__":
    anyio.run(main)
