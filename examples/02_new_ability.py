"""A new ability while the team lives: appended, it is there for the very next decision."""

import statistics

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor, Task
from quarterdeck import Context as AgentContext


def load_table(name: str) -> list[float]:
    """Stand in for a data set."""
    return [1.0, 2.1, 2.9, 4.2]


def fit_model(values: list[float]) -> dict[str, float]:
    slope, intercept = statistics.linear_regression(range(len(values)), values)
    return {"slope": round(slope, 2), "intercept": round(intercept, 2)}


def plot(model: dict[str, float]) -> str:
    return f"y = {model['slope']} x + {model['intercept']}"


async def study(task: Task, ctx: AgentContext) -> str:
    model = await ctx.tool("fit_model", await ctx.tool("load_table", task.text))
    return f"model: {await ctx.tool('plot', model)}"


async def look_up(text: str) -> str:
    return f"looked up: {text}"


async def main() -> None:
    researcher = AgentSpec(name="researcher", specialties=["research", "analysis", "data"], run=look_up)
    async with DynamicSupervisor(name="newsroom", auto_discover=True, agent_specs=[researcher]) as team:
        print(await team.arun("Analyze this dataset and build a predictive model"))

        team.agent_specs.append(
            AgentSpec(
                name="data_scientist",
                agent_type="ReactAgent",
                description="Statistics and machine learning",
                specialties=["statistics", "machine learning", "data science"],
                tools=[load_table, fit_model, plot],
                run=study,
            )
        )
        print([spec.name for spec in team.find_matching_agent_specs("Build a predictive model")])
        print(await team.arun("Analyze this dataset and build a predictive model"))


if __name__ == "__main__":
    anyio.run(main)
