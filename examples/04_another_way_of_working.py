"""Another way of working, in the middle of the work: finished work is kept, the rest is planned anew."""

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor, Task
from quarterdeck import Context as AgentContext


async def main() -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def research(text: str) -> str:
        begun.set()
        await go_on.wait()
        await anyio.sleep(0.002)
        return f"facts about {text}"

    async def analyse(text: str) -> str:
        await anyio.sleep(0.002)
        return f"figures about {text.splitlines()[0]}"

    async def write(task: Task, ctx: AgentContext) -> str:
        return f"one text out of {', '.join(one.agent for one in task.inputs)}"

    researcher = AgentSpec(name="researcher", specialties=["research"], run=research)
    analyst = AgentSpec(name="analyst", specialties=["analysis"], run=analyse)
    writer = AgentSpec(name="writer", specialties=["writing", "editing"], run=write)

    team = DynamicSupervisor(name="desk", coordination_mode="sequential", agent_specs=[researcher, analyst, writer])

    async def switch_while_it_works() -> None:
        await begun.wait()
        outcome = await team.reconfigure_coordination(
            {"mode": "parallel", "aggregation": "synthesis", "preserve_agent_states": True}
        )
        print(outcome.summary)
        go_on.set()

    async with team, anyio.create_task_group() as group:
        group.start_soon(switch_while_it_works)
        print(await team.arun("tides"))
        print(team.coordination_mode)
        await team.reconfigure_coordination({"mode": "sequential"})
        await team.enable_auto_coordination_optimization(
            {"performance_threshold": 0.85, "switch_to_parallel_when_slow": True, "optimize_agent_selection": True}
        )
        for number in range(20):  # it goes by the figures of 20 runs
            await team.arun(f"tides of day {number}")
    print(team.coordination_mode, "by itself")


if __name__ == "__main__":
    anyio.run(main)
