"""What the docstrings of the public names promise: duties of a request, fields of a spec, options, calls of `ctx`."""

import os
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import AgentSpec, Circuit, Limits, Pool, Restart, Retry, RunFailed, Skip
from engine.core.specs.options import Preempt, SupervisorOptions
from engine.errors import AgentCrashed, CommandRefusedError
from tests.meaning.diary import Diary, told
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
PAGE = Path(__file__).resolve().parents[2] / "docs/reference/python.md"
TO_DIG: dict[str, Any] = {"coordination_mode": "map", "coordination_settings": {"to": "dig"}}


def fails(diary: Diary, name: str, *specialties: str, error: type[Exception] = RuntimeError, **spec: Any) -> AgentSpec:
    """An agent that takes a second, and fails."""

    async def body(task: Any, ctx: Any) -> str:
        raise error("no")

    return diary.agent(name, *specialties, takes_s=1, body=body, **spec)


def hard(diary: Diary, name: str, seconds: float, **spec: Any) -> AgentSpec:
    """An agent that comes to no step."""

    async def body(task: Any, ctx: Any) -> str:
        await diary.works(seconds)
        return f"{name}({task.text})"

    return diary.agent(name, body=body, **spec)


@pytest.mark.parametrize(("call", "status", "ended_s"), [("arun", "cancelled", 2), ("wait", "done", 3)])
async def test_cancelling_the_caller_of_arun_cancels_the_run_and_of_wait_leaves_it(
    call: str, status: str, ended_s: float
) -> None:
    diary = Diary()

    async def body(task: Any, ctx: Any) -> str:
        for number in range(3):
            await ctx.step(f"{number}", lambda: diary.works(1))
        return "done"

    async with diary.supervisor("chief", diary.agent("ada", body=body)) as chief:
        if call == "wait":
            await chief.submit("go")
        async with anyio.create_task_group() as group:
            group.start_soon(getattr(chief, call), "r1" if call == "wait" else "go")
            await diary.clock.sleep_until(diary.clock.now_ms() + 1500)
            group.cancel_scope.cancel()
        if call == "wait":
            await chief.wait("r1")

        assert ((await chief.status("r1")).status, diary.now_s()) == (status, ended_s)


async def test_leaving_a_stream_early_cancels_the_run() -> None:
    diary = Diary()

    async with diary.supervisor("chief", diary.agent("ada"), diary.agent("bob", takes_s=50)) as chief:
        async with aclosing(chief.stream("go")) as events:
            async for event in events:
                if event.kind == "task_ended":
                    break

        assert (await chief.status("r1")).status == "cancelled"
    assert diary.now_s() == 0


async def test_the_failure_policies_of_a_request_stand_in_place_of_those_of_the_specs() -> None:
    diary = Diary()

    async with diary.supervisor("chief", fails(diary, "ada", on_failure=[Retry(9)])) as chief:
        result = await told(chief, on_failure=[Skip()])

    assert (result.status, diary.counts()) == ("skipped", {"ada": 1})


async def test_the_policies_of_a_supervisor_are_for_agents_without_any_also_in_teams_that_join() -> None:
    diary = Diary()
    below = diary.supervisor("below", fails(diary, "bob"), fails(diary, "cyd", on_failure=[Skip()]))
    chief = diary.supervisor("chief", fails(diary, "ada"), on_failure=[Retry(2, 0.001, 0.001), Skip()])
    await chief.add_sub_supervisor("below", below)

    async with chief:
        await told(chief)

    assert diary.counts() == {"ada": 3, "bob": 3, "cyd": 1}


@pytest.mark.parametrize("where", ["spec", "options"])
async def test_a_budget_of_a_task_is_for_each_task(where: str) -> None:
    diary = Diary()
    limits = Limits(attempts=2)
    spec: dict[str, Any] = {"task_limits": limits} if where == "spec" else {}
    options = SupervisorOptions() if where == "spec" else SupervisorOptions(task_limits=limits)

    async with diary.supervisor(
        "chief", fails(diary, "ada", "dig", on_failure=[Retry(9, 0.001, 0.001)], **spec), options=options, **TO_DIG
    ) as chief:
        result = await told(chief, [1, 2, 3])

    assert (result.status, diary.counts()) == ("failed", {"ada": 6})


@pytest.mark.parametrize("where", ["spec", "options"])
async def test_a_budget_of_an_agent_is_for_all_that_it_does(where: str) -> None:
    diary = Diary()
    limits = Limits(attempts=2)
    spec: dict[str, Any] = {"limits": limits} if where == "spec" else {}
    options = SupervisorOptions() if where == "spec" else SupervisorOptions(agent_limits=limits)

    async with diary.supervisor("chief", diary.agent("ada", **spec), options=options) as chief:
        results = [await told(chief) for _ in range(3)]

    assert [result.status for result in results] == ["done", "done", "failed"]
    assert diary.counts() == {"ada": 2}


@pytest.mark.parametrize("where", ["request", "options"])
async def test_a_budget_of_a_run_is_for_each_run(where: str) -> None:
    diary = Diary()
    limits = Limits(attempts=1)
    duties: dict[str, Any] = {"limits": limits} if where == "request" else {}
    options = SupervisorOptions() if where == "request" else SupervisorOptions(run_limits=limits)

    async with diary.supervisor("chief", diary.agent("ada"), diary.agent("bob"), options=options) as chief:
        results = [await told(chief, **duties) for _ in range(2)]

    assert [result.status for result in results] == ["failed", "failed"]
    assert diary.counts() == {"ada": 2}


@pytest.mark.parametrize(("then", "ended_s"), [("stop", 3), ("fail", 2.5)])
async def test_a_budget_of_tokens_stops_at_the_next_step_or_fails_now(then: Any, ended_s: float) -> None:
    diary = Diary()

    async def spends(task: Any, ctx: Any) -> str:
        for number in range(9):
            await ctx.step(f"{number}", lambda: diary.works(1))
        return "done"

    async def other(task: Any, ctx: Any) -> str:
        await ctx.sleep(2.5)
        ctx.spent(tokens_in=99)
        return "spent"

    workers = [diary.agent("ada", body=spends), diary.agent("bob", body=other)]
    limits = Limits(tokens=50, then=then)
    async with diary.supervisor("chief", *workers, coordination_mode="parallel", limits=limits) as chief:
        result = await told(chief)

        assert (result.status, diary.now_s()) == ("failed", ended_s)


async def test_a_step_that_takes_longer_than_its_limit_fails_the_attempt_then() -> None:
    diary = Diary()

    async def body(task: Any, ctx: Any) -> str:
        await ctx.step("short", lambda: diary.works(2))
        await ctx.step("long", lambda: diary.works(50))
        return "done"

    async with diary.supervisor("chief", diary.agent("ada", body=body, step_timeout_s=3)) as chief:
        result = await told(chief)

        assert "'long' took longer than 3 s" in str(result.error)
        assert diary.now_s() == 5


@pytest.mark.parametrize(("grace_s", "ended_s"), [(None, 7), (0, 2), (3, 5)])
async def test_code_without_steps_is_aborted_after_the_grace(grace_s: float | None, ended_s: float) -> None:
    diary = Diary()

    async with diary.supervisor("chief", hard(diary, "ada", 50), options=SupervisorOptions(grace_s=grace_s)) as chief:
        run_id = await chief.submit("go")
        async with diary.at(2):
            await chief.cancel(run_id)
        with pytest.raises(RunFailed):
            await chief.wait(run_id)

        assert diary.now_s() == ended_s


async def test_the_instances_of_a_pool_go_one_after_another_once_they_are_idle() -> None:
    diary = Diary()
    sizes: list[tuple[float, int]] = []

    async with diary.supervisor(
        "chief", diary.agent("ada", "dig", takes_s=1, pool=Pool(max=3, grow_at=1, idle_s=10)), **TO_DIG
    ) as chief:
        await told(chief, list(range(6)))
        for second in (3, 11, 15, 21, 25, 31, 40):
            async with diary.at(second):
                sizes.append((second, chief._state.agents["a1"].size))

    assert diary.of("ada")[-1].ended_s == 2
    assert [size for _, size in sizes] == [3, 3, 2, 2, 1, 1, 1]


async def test_a_crash_restarts_the_agent_and_one_too_many_fails_its_supervisor() -> None:
    diary = Diary()
    options = SupervisorOptions(restart=Restart("one_for_one", intensity=1, period_s=60))

    async with diary.supervisor("chief", fails(diary, "ada", error=AgentCrashed), options=options) as chief:
        results = [await told(chief) for _ in range(2)]
        with pytest.raises(CommandRefusedError):
            await chief.arun("go")
        await chief.resume()
        results.append(await told(chief))

    assert [result.status for result in results] == ["failed"] * 3
    assert diary.counts() == {"ada": 3}


async def test_the_circuit_of_a_supervisor_is_for_agents_without_one() -> None:
    diary = Diary()
    options = SupervisorOptions(circuit=Circuit(failures=1, cool_s=30))

    async with diary.supervisor("chief", fails(diary, "ada"), options=options) as chief:
        await told(chief)
        await told(chief)
        await told(chief)

    assert [one.began_s for one in diary.entries] == [0, 31, 92]


@pytest.mark.parametrize(
    ("preempt", "began"),
    [
        (Preempt(at="now"), [("usual", 0), ("urgent", 1), ("usual", 5)]),
        (Preempt(at="never"), [("usual", 0), ("urgent", 4)]),
        (Preempt(at="now", urgent=3), [("usual", 0), ("urgent", 1), ("usual", 5)]),
        (Preempt(at="now", limit=0), [("usual", 0), ("urgent", 4)]),
    ],
)
async def test_when_an_urgent_task_takes_a_slot(preempt: Preempt, began: list[tuple[str, float]]) -> None:
    diary = Diary()
    ada = diary.agent("ada", takes_s=4)

    async with diary.supervisor("chief", ada, options=SupervisorOptions(preempt=preempt)) as chief:
        run_id = await chief.submit("usual")
        async with diary.at(1):
            urgent = await chief.submit("urgent", priority=0)
        await chief.wait(run_id)
        await chief.wait(urgent)

    assert [(one.text, one.began_s) for one in diary.entries] == began


async def test_no_more_agents_than_allowed_are_added() -> None:
    diary = Diary()

    async with diary.supervisor("chief", diary.agent("ada"), max_agents=2) as chief:
        await chief.add_agent(diary.agent("bob"))
        with pytest.raises(CommandRefusedError):
            await chief.add_agent(diary.agent("cyd"))

        assert chief.list_active_agents() == ["ada", "bob"]


async def test_a_failed_delegation_raises_and_a_map_returns_failures_where_it_is_asked_to() -> None:
    diary = Diary()

    async def lead(task: Any, ctx: Any) -> list[str]:
        said = [type(one).__name__ for one in await ctx.map("dig", [1, 2], return_failures=True)]
        for call in (ctx.delegate("dig", 3), ctx.map("dig", [4])):
            try:
                await call
            except Exception as error:
                said.append(type(error).__name__)
        return said

    members = [diary.agent("lead", body=lead), fails(diary, "ada", "dig")]
    async with diary.supervisor("chief", *members, coordination_mode="delegate", lead="lead") as chief:
        result = await told(chief)

    assert isinstance(result.output, list)
    assert len(set(map(str, result.output))) == 1
    assert (len(result.output), diary.counts()) == (4, {"lead": 1, "ada": 4})


async def test_what_was_emitted_is_the_partial_result_of_an_attempt_that_is_stopped() -> None:
    diary = Diary()

    async def body(task: Any, ctx: Any) -> str:
        ctx.emit("so ")
        ctx.emit("far")
        await ctx.sleep(50)
        return "done"

    async with diary.supervisor("chief", diary.agent("ada", body=body)) as chief:
        run_id = await chief.submit("go")
        async with diary.at(2):
            await chief.cancel(run_id)
        with pytest.raises(RunFailed) as failed:
            await chief.wait(run_id)

    assert (failed.value.result.output, diary.now_s()) == ("so far", 2)


async def test_least_load_gives_a_task_to_whoever_has_least_to_do() -> None:
    diary = Diary()
    workers = [diary.agent("ada", "dig", takes_s=5, max_concurrency=4), diary.agent("bob", "dig", takes_s=5)]

    async with diary.supervisor("chief", *workers, options=SupervisorOptions(balance="least_load"), **TO_DIG) as chief:
        await told(chief, list(range(5)))

    assert diary.order() == ["ada", "bob", "ada", "ada", "ada"]


def test_the_example_of_a_test_with_a_virtual_clock_prints_what_the_page_says(tmp_path: Path) -> None:
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## Tests of a team")
    program, said = section.split("```python\n")[1].split("```")[0], section.split("```text\n")[1].split("```")[0]

    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], env={**os.environ, "PYTHONPATH": str(PAGE.parents[2])},
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip

    assert (ran.stdout, ran.stderr) == (said, "")
