"""A registry: agents that are described, found by their words, and added when they are wanted."""

import anyio

from quarterdeck import AgentInfo, AgentRegistry, AgentSpec, DynamicSupervisor, create_agent_from_spec


async def code(text: str) -> str:
    return f"def solve():  # {text}"


async def main() -> None:
    coder_spec = AgentSpec(name="coder", agent_type="ReactAgent", run=code)
    registry = AgentRegistry()
    registry.register_agent(
        AgentInfo(
            agent=create_agent_from_spec(coder_spec),
            name="coder",
            description="Python programming and automation",
            capability="python coding automation",
        )
    )
    team = DynamicSupervisor(name="desk", agent_registry=registry, auto_discover=True)
    print("available:", team.list_available_agents(), "active:", team.list_active_agents())
    print("for automation:", [spec.name for spec in team.find_matching_agent_specs("Automate the report")])

    await team.add_agent_from_registry("coder")
    print("available:", team.list_available_agents(), "active:", team.list_active_agents())
    print(await team.arun("Automate the monthly report in Python"))


if __name__ == "__main__":
    anyio.run(main)
