"""Queue work with duties: urgent first, by a deadline, tried again, given to another, at last decided by a person."""

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor, Escalate, Failover, Retry, Task
from quarterdeck import Context as AgentContext

log: list[str] = []


async def pay(task: Task, ctx: AgentContext) -> str:
    if "4711" in task.text:
        log.append(f"cashier tries {task.text}")
        raise ConnectionError("the bank does not answer")
    await anyio.sleep(0.05)
    log.append(f"cashier: {task.text}")
    return f"{task.text}: paid"


async def pay_by_hand(task: Task, ctx: AgentContext) -> str:
    log.append(f"accountant looks at {task.text}")
    raise PermissionError("somebody has to sign")


async def main() -> None:
    cashier = AgentSpec(name="cashier", specialties=["payment"], run=pay)
    accountant = AgentSpec(name="accountant", specialties=["payment"], run=pay_by_hand)
    async with DynamicSupervisor(name="accounts", agent_specs=[cashier, accountant], participants=["cashier"]) as team:
        earlier = await team.submit("Pay invoice 1", priority=9)
        later = await team.submit("Pay invoice 2", priority=9)
        task_id = await team.submit(
            "Pay invoice 4711",
            priority=0,
            deadline_s=60,
            on_failure=[Retry(3, base_s=0.01), Failover(), Escalate(after_s=30, default="reject")],
        )
        print("asked at once:", (await team.status(task_id)).status)

        question = await team.next_question()
        print("asked of a person:", question.options)
        await team.answer(question.id, "use", output="Pay invoice 4711: signed and paid")

        print(await team.wait(task_id))
        await team.wait(earlier)
        await team.wait(later)
        print("asked later:", (await team.status(task_id)).status)
    tried = [line for line in log if "4711" in line]
    print(len(tried), "tries;", tried[-1])
    print("before invoice 2:", log.index(tried[0]) < log.index("cashier: Pay invoice 2"))


if __name__ == "__main__":
    anyio.run(main)
