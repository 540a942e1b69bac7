"""`replace` makes everything under a supervisor like a description, all of it or nothing (docs/operating.md)."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from engine import AgentSpec, CommandRefusedError, DynamicSupervisor, Failover, Limits, Retry, RunResult
from engine.core.commands import ReplaceTeam, SupervisorSpec
from engine.host.pending_commands import Applied
from tests.meaning.diary import Diary, during, told
from tests.meaning.stages import staged

pytestmark = pytest.mark.anyio


async def replaced(
    chief: DynamicSupervisor, *members: AgentSpec | SupervisorSpec | str, how: str = "drain", **settings: Any
) -> Applied:
    """Send what `quarterdeck replace` sends; a name is a member as it is."""

    def described(member: AgentSpec | SupervisorSpec | str) -> AgentSpec | SupervisorSpec:
        if isinstance(member, str):
            return chief._state.spec_of(chief._agent(member))
        return chief._engine.callables.with_references(member) if isinstance(member, AgentSpec) else member

    team = SupervisorSpec(name="any", members=[described(one) for one in members], **settings)
    return await chief._engine.order(lambda: ReplaceTeam(supervisor=chief._target, team=team, mode=how))


@pytest.mark.parametrize("stage", ["alone", "twins", "paused"])
@pytest.mark.parametrize(
    ("how", "of_ada", "of_bob", "ended_s"),
    [
        ("drain", "ada0 ada1 ada2", "bob0 bob1 bob2", 3),
        ("migrate", "ada0 ada1 adanew2", "bob0 bob1 cyd2", 3),
        ("requeue", "ada0 ada1 ada2", "bob0 bob1 cyd2", 3),
        ("abort", "adanew0 adanew1 adanew2", "bob0 cyd1 cyd2", 4.5),
    ],
)
async def test_what_differs_is_swapped_what_is_missing_removed_and_what_is_new_works(
    stage: str, how: str, of_ada: str, of_bob: str, ended_s: float
) -> None:
    diary = Diary()
    workers = [diary.in_steps(name, "dig") for name in ("ada", "bob", "dan")]

    async with staged(stage, diary, *workers, participants=["ada", "bob"], coordination_mode="parallel") as chief:
        before = chief.active_agents

        async def act(run_id: str) -> None:
            async with diary.at(1.5):
                new = diary.in_steps("ada", "dig", team="new")
                applied = await replaced(
                    chief, new, diary.in_steps("cyd", "dig"), "dan", how=how, mode="parallel", participants=["ada"]
                )
                counts = [applied.result[f"agents_{what}"] for what in ("added", "swapped", "removed")]
                idle_left = 1 if stage == "paused" else 0  # who has nothing to do, and is not described
                assert counts == [1, 1, 1 + idle_left]

        result = await during(diary, chief, act)

        after = chief.active_agents
        assert {name: one.generation for name, one in after.items()} == {"ada": 2, "cyd": 1, "dan": 1}
        assert [after[name].id for name in ("ada", "dan")] == [before[name].id for name in ("ada", "dan")]
        assert ((await told(chief)).output, diary.now_s()) == ("adanew0 adanew1 adanew2", ended_s + 3)

    assert [section.split("\n\n")[1] for section in str(result.output).split("## ")[1:]] == [of_ada, of_bob]


@pytest.mark.parametrize(
    "settings",
    [{"participants": ["nobody"]}, {"mode": "zigzag"}, {"mode": "delegate", "aggregation": "synthesis"}],
)
async def test_a_replacement_that_cannot_be_changes_nothing(settings: dict[str, Any]) -> None:
    diary = Diary()

    async with staged("twins", diary, *(diary.agent(name, takes_s=2) for name in ("ada", "bob"))) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(1):
                before = repr(chief.active_agents)  # figures that there are not yet are NaN, which equals nothing
                with pytest.raises(CommandRefusedError):
                    await replaced(chief, diary.agent("cyd"), how="abort", **settings)
                assert repr(chief.active_agents) == before

        result = await during(diary, chief, act)
        assert result.output == (await told(chief)).output == "bob(ada(go))"

    assert diary.counts() == {"ada": 2, "bob": 2}


@pytest.mark.parametrize(
    ("how", "output", "order", "ended_s"),
    [
        ("drain", "ben(bob(ada(ann(go))))", ["ann", "ada", "bob", "ben"], 9),
        ("abort", "ben(ann(go))", ["ann", "ada", "ben"], 7),
    ],
)
async def test_a_team_that_is_described_no_more_ends_its_work_or_is_stopped_and_gets_nothing_new(
    how: str, output: str, order: list[str], ended_s: float
) -> None:
    diary = Diary()
    ann, ada, bob, ben = (diary.agent(name, takes_s=2) for name in ("ann", "ada", "bob", "ben"))
    chief, beside, top = (diary.supervisor(name) for name in ("chief", "beside", "top"))
    await chief.add_agent(ann)
    await chief.add_sub_supervisor("below", diary.supervisor("below", ada, bob))
    await chief.add_agent(ben)
    await beside.add_sub_supervisor("below", diary.supervisor("below", diary.agent("far", team="other")))
    for name, team in (("chief", chief), ("beside", beside)):
        await top.add_sub_supervisor(name, team)

    async with top:

        async def act(run_id: str) -> None:
            async with diary.at(3):
                await replaced(chief, "ann", "ben", how=how)
                later = await chief.submit("later")
            assert (await chief.wait(later)).output == "ben(ann(later))"

        result = await during(diary, chief, act)

        assert [one.name for one in chief._state.supervisors.values()].count("below") == 1
        assert (result.output, diary.now_s()) == (output, ended_s)
        assert (await told(beside)).output == "far(go)"
    assert [one.agent for one in diary.entries if "go" in one.text and not one.team] == order


SILENCE = ConnectionError("nobody answers")


async def digging(
    diary: Diary, ada: AgentSpec, act: Callable[[DynamicSupervisor, DynamicSupervisor], Awaitable[Any]]
) -> RunResult:
    """Return what a request comes to whose lead has delegated to ada, in a team that is replaced after a second."""

    async def lead(task: Any, ctx: Any) -> Any:
        return await ctx.delegate("ada", "a hole")

    chief = diary.supervisor("chief", diary.agent("lead", body=lead), coordination_mode="delegate", lead="lead")
    bob = diary.agent("bob", "dig", takes_s=2)
    below = diary.supervisor("below", ada, bob, coordination_mode="parallel")
    await chief.add_sub_supervisor("below", below)
    async with chief:

        async def replace(run_id: str) -> None:
            async with diary.at(1):
                await replaced(chief, "lead", mode="delegate")
                await act(chief, below)

        result = await during(diary, chief, replace)
        assert [one.name for one in chief._state.supervisors.values()] == ["chief"]
    return result


async def nothing(chief: DynamicSupervisor, below: DynamicSupervisor) -> None:
    """Let everybody work."""


async def removed(chief: DynamicSupervisor, below: DynamicSupervisor) -> None:
    """Remove who is at work, and let somebody else of its team take the work over."""
    await below.remove_agent("ada", mode="requeue")


@pytest.mark.parametrize(
    ("spec", "act"),
    [
        ({"says": SILENCE, "on_failure": [Failover()]}, nothing),
        ({"says": SILENCE, "on_failure": [Retry(1, base_s=1), Failover()]}, nothing),
        ({"says": SILENCE, "limits": Limits(attempts=1), "on_failure": [Retry(3)]}, nothing),
        ({}, removed),
    ],
    ids=["failover", "failover after a retry", "spent", "removed"],
)
async def test_work_that_was_delegated_into_a_team_that_leaves_is_taken_over_within_it(
    spec: dict[str, Any], act: Callable[[DynamicSupervisor, DynamicSupervisor], Awaitable[Any]]
) -> None:
    diary = Diary()

    result = await digging(diary, diary.agent("ada", "dig", takes_s=2, **spec), act)

    assert (result.status, result.output) == ("done", "bob(a hole)")
    assert diary.order()[-1] == "bob"


async def test_work_elsewhere_is_not_taken_over_by_a_team_that_leaves() -> None:
    diary = Diary()
    ada = diary.fails(9, "ada", "dig", takes_s=2, on_failure=[Failover()])
    chief = diary.supervisor("chief", ada)
    below = diary.supervisor("below", diary.agent("bob", "dig", takes_s=5))
    await chief.add_sub_supervisor("below", below)

    async with chief:
        await below.submit("something else")

        async def replace(run_id: str) -> None:
            async with diary.at(1):
                await replaced(chief, "ada", participants=["ada"])

        result = await during(diary, chief, replace)

    assert (result.status, diary.counts()) == ("failed", {"ada": 1, "bob": 1})
