"""A hierarchy: work flows down, results and events flow up, all of it in one journal."""

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor


def maker(what: str) -> AgentSpec:
    async def make(text: str) -> str:
        return f"{text} > {what}"

    return AgentSpec(name=f"{what}_maker", specialties=[what], run=make)


async def main() -> None:
    department = DynamicSupervisor(name="department", agent_specs=[maker("plan")])
    lead = DynamicSupervisor(name="lead", agent_specs=[maker("design")])
    developers = DynamicSupervisor(
        name="developers", coordination_mode="parallel", agent_specs=[maker("backend"), maker("frontend")]
    )

    await department.add_sub_supervisor("team_lead", lead)
    await lead.add_sub_supervisor("developers", developers)

    result = await department.arun("Build the order service")
    print(result)
    print(f"{result.tasks} tasks; {department.get_supervision_metrics().agents} agents in the department")

    print(await lead.arun("Only the lead's part"))
    print([agent.tasks for agent in developers.active_agents.values()])


if __name__ == "__main__":
    anyio.run(main)
