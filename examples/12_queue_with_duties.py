"""Queue work with duties: submitted, it is tried again when it fails, and may be asked for at any time."""

import anyio

from engine import AgentSpec, DynamicSupervisor, Retry, Task
from engine import Context as AgentContext


async def pay(task: Task, ctx: AgentContext) -> str:
    if task.attempt < 3:
        raise ConnectionError("the bank does not answer")
    return f"{task.text}: paid at attempt {task.attempt}"


async def main() -> None:
    cashier = AgentSpec(name="cashier", specialties=["payment"], run=pay)
    async with DynamicSupervisor(name="accounts", agent_specs=[cashier]) as team:
        task_id = await team.submit("Pay invoice 4711", on_failure=[Retry(3, base_s=0.01)])
        print("asked at once:", (await team.status(task_id)).status)
        print(await team.wait(task_id))
        print("asked later:", (await team.status(task_id)).status)


if __name__ == "__main__":
    anyio.run(main)
