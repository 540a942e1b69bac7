"""A new ability while the team lives: appended, it is there for the very next decision.

With `QUARTERDECK_MODEL=openai/gpt-4o-mini` and a key a real model plays the agents; without it, scripted answers.
"""

import os
import statistics

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor, ModelSpec

OFFLINE = {
    "researcher-offline": ModelSpec(replies=[{"text": "looked up: {text}"}]),
    "data_scientist-offline": ModelSpec(
        replies=[
            {"calls": [{"name": "load_table", "arguments": {"name": "this dataset"}}]},
            {"calls": [{"name": "fit_model", "arguments": {"values": [1.0, 2.1, 2.9, 4.2]}}]},
            {"calls": [{"name": "plot", "arguments": {"slope": 1.04, "intercept": 0.99}}]},
            {"text": "model: {text}"},
        ]
    ),
}


def load_table(name: str) -> list[float]:
    """Return the values of a data set."""
    return [1.0, 2.1, 2.9, 4.2]


def fit_model(values: list[float]) -> dict[str, float]:
    """Fit a line to values."""
    slope, intercept = statistics.linear_regression(range(len(values)), values)
    return {"slope": round(slope, 2), "intercept": round(intercept, 2)}


def plot(slope: float, intercept: float) -> str:
    """Show a line."""
    return f"y = {slope} x + {intercept}"


def model_of(name: str) -> str:
    return os.environ.get("QUARTERDECK_MODEL") or f"{name}-offline"


async def main() -> None:
    researcher = AgentSpec(
        name="researcher", model=model_of("researcher"), specialties=["research", "analysis", "data"]
    )
    async with DynamicSupervisor(name="newsroom", auto_discover=True, models=OFFLINE, agent_specs=[researcher]) as team:
        print(await team.arun("Analyze this dataset and build a predictive model", conversation=None))

        team.agent_specs.append(
            AgentSpec(
                name="data_scientist",
                agent_type="ReactAgent",
                model=model_of("data_scientist"),
                description="Statistics and machine learning",
                specialties=["statistics", "machine learning", "data science"],
                tools=[load_table, fit_model, plot],
            )
        )
        print([spec.name for spec in team.find_matching_agent_specs("Build a predictive model")])
        print(await team.arun("Analyze this dataset and build a predictive model", conversation=None))


if __name__ == "__main__":
    anyio.run(main)
