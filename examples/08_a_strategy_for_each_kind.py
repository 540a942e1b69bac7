"""A strategy for each kind of work: the words of a request say which, and the strategy brings its own graph."""

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor, Task
from quarterdeck import Context as AgentContext

drafts = 0


async def note(task: Task, ctx: AgentContext) -> str:
    return f"a note on {task.request}"


async def put_together(task: Task, ctx: AgentContext) -> str:
    return f"{len(task.inputs)} notes in one"


async def calculate(task: Task, ctx: AgentContext) -> str:
    return "42 %" if "no unit" in task.text else "42"


async def check(task: Task, ctx: AgentContext) -> dict[str, object]:
    figure = str(task.inputs[-1].output)
    return {"approved": figure.endswith("%"), "reasons": ["no unit"], "figure": figure}


async def draft(task: Task, ctx: AgentContext) -> str:
    global drafts
    drafts += 1
    return f"draft {drafts}"


async def criticise(task: Task, ctx: AgentContext) -> dict[str, float]:
    return {"score": 0.4 * drafts}


async def build(task: Task, ctx: AgentContext) -> str:
    return "a patch"


async def review(task: Task, ctx: AgentContext) -> str:
    return f"{task.text.splitlines()[-1]}, reviewed"


def spec(name: str, category: str, specialties: list[str], run: object) -> AgentSpec:
    return AgentSpec(name=name, category=category, specialties=specialties, run=run)  # type: ignore[arg-type]


twelve_specs = [
    spec("librarian", "research", ["research", "sources"], note),
    spec("reader", "research", ["research", "papers"], note),
    spec("compiler", "research", ["research", "summarize", "combine"], put_together),
    spec("statistician", "analysis", ["analysis", "figures"], calculate),
    spec("auditor", "analysis", ["analysis", "audit"], check),
    spec("writer", "content", ["content", "writing"], draft),
    spec("critic", "content", ["content", "criticism"], criticise),
    spec("coder", "technical", ["technical", "code"], build),
    spec("reviewer", "technical", ["technical", "review"], review),
    spec("architect", "technical", ["technical", "architecture"], review),
    spec("driver", "errands", ["driving"], note),
    spec("cook", "errands", ["cooking"], note),
]


async def main() -> None:
    team = DynamicSupervisor(
        name="studio",
        agent_specs=twelve_specs,
        coordination_strategies={
            "research_tasks": "parallel_then_synthesis",
            "analysis_tasks": "sequential_with_validation",
            "content_tasks": "iterative_refinement",
            "technical_tasks": "hierarchical_review",
        },
    )
    async with team:
        print("research:", await team.arun("Research the sources on tides"))
        print("analysis:", await team.arun("An analysis of the figures"))
        print("content:", await team.arun("Write content about tides"))
        print("technical:", await team.arun("Fix the bug", category="technical"))


if __name__ == "__main__":
    anyio.run(main)
