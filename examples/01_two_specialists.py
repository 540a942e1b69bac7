"""Two specialists, found by themselves: one request that needs two abilities goes to two agents, in its own order.

With `QUARTERDECK_MODEL=openai/gpt-4o-mini` and a key a real model plays them; without it, scripted answers.
"""

import os

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor, ModelSpec

LIBRARY = {
    "quantum": ["error rates fell below the surface code's threshold", "one logical qubit outlived its physical ones"],
}
OFFLINE = {
    "researcher-offline": ModelSpec(
        replies=[
            {"calls": [{"name": "search_web", "arguments": {"topic": "quantum error correction"}}]},
            {"calls": [{"name": "analyse", "arguments": {"findings": LIBRARY["quantum"]}}]},
            {"text": "{text}"},
        ]
    ),
    "writer-offline": ModelSpec(
        replies=[
            {
                "match": "outlived",
                "text": "Summary. Error rates fell below the surface code's threshold;"
                " one logical qubit outlived its physical ones.",
            }
        ]
    ),
}


def search_web(topic: str) -> list[str]:
    """Stand in for a search: look into a library of two lines."""
    return [line for word, lines in LIBRARY.items() if word in topic.lower() for line in lines]


def analyse(findings: list[str]) -> str:
    """Bring findings into one line."""
    return "; ".join(sorted(findings)) or "nothing was found"


def model_of(name: str) -> str:
    return os.environ.get("QUARTERDECK_MODEL") or f"{name}-offline"


async def main() -> None:
    team = DynamicSupervisor(
        name="newsroom",
        auto_discover=True,
        models=OFFLINE,
        agent_specs=[
            AgentSpec(
                name="researcher",
                agent_type="ReactAgent",
                model=model_of("researcher"),
                description="Finds and checks facts",
                specialties=["research", "analysis", "data"],
                tools=[search_web, analyse],
            ),
            AgentSpec(
                name="writer",
                agent_type="SimpleAgent",
                model=model_of("writer"),
                description="Writes and edits texts",
                specialties=["writing", "editing", "content"],
            ),
        ],
    )
    result = await team.arun("Research the state of quantum error correction and write a two-page summary")
    print(result)
    print(f"{result.run_id}: {result.status}, {result.tasks} tasks")


if __name__ == "__main__":
    anyio.run(main)
