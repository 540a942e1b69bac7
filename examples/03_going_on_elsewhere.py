"""Everything in one value, going on elsewhere: agents, registry, history and figures, as JSON."""

import json

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor


async def write(text: str) -> str:
    return f"A piece: {text}"


async def main() -> None:
    team = DynamicSupervisor(name="desk", agent_specs=[AgentSpec(name="writer", specialties=["writing"], run=write)])
    print(await team.arun("Begin a piece about tides"))

    state = json.loads(json.dumps(await team.serialize_complete_state()))
    twin = DynamicSupervisor(name="twin")
    await twin.deserialize_state(state)

    print(twin.name, twin.list_active_agents(), f"{twin.active_agents['writer'].tasks} task done before")
    print(await twin.arun("Go on with the previous piece"))


if __name__ == "__main__":
    anyio.run(main)
