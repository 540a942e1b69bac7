"""A model that leads: it gives work to exactly the members that are there, and may answer with a member's words.

With `QUARTERDECK_MODEL=openai/gpt-4o` and a key a real model plays everybody; without it, scripted answers.
"""

import os

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor, ModelSpec

OFFLINE = {
    "chief-offline": ModelSpec(
        replies=[
            {
                "calls": [
                    {"name": "delegate", "arguments": {"worker": "researcher", "instructions": "What happened?"}},
                    {"name": "delegate", "arguments": {"worker": "fact_checkers", "instructions": "Is the tram new?"}},
                ]
            },
            {"calls": [{"name": "delegate", "arguments": {"worker": "writer", "instructions": "Write: {text}"}}]},
            {"calls": [{"name": "forward_message", "arguments": {"worker": "writer"}}]},
        ]
    ),
    "researcher-offline": ModelSpec(replies=[{"text": "A tram line opened in Lisbon."}]),
    "writer-offline": ModelSpec(replies=[{"text": "Lisbon has a new tram line."}]),
    "checker-offline": ModelSpec(replies=[{"text": "It is new."}]),
}


def model_of(name: str) -> str:
    return os.environ.get("QUARTERDECK_MODEL") or f"{name}-offline"


async def main() -> None:
    researcher = AgentSpec(name="researcher", model=model_of("researcher"), description="Finds facts")
    writer = AgentSpec(name="writer", model=model_of("writer"), description="Writes short texts")
    checkers = [AgentSpec(name=name, model=model_of("checker")) for name in ("ada", "bob")]
    fact_checkers = DynamicSupervisor(name="fact_checkers", coordination_mode="parallel", agent_specs=checkers)

    chief = DynamicSupervisor(
        name="chief",
        coordination_mode="delegate",
        lead=AgentSpec(
            name="chief",
            agent_type="ReactAgent",
            model=model_of("chief"),
            instructions="You run a small newsroom.",
        ),
        agent_specs=[researcher, writer, fact_checkers],
        models=OFFLINE,
    )
    async for event in chief.stream("What happened in Lisbon today?"):
        if event.kind == "task_ended" and event.depth == 2:
            print(f"{event.agent}: {event.status}")
        if event.kind == "completed":
            print(event.result)


if __name__ == "__main__":
    anyio.run(main)
