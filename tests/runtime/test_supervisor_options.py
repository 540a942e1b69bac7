"""What a supervisor is made from: nothing that is asked for is swallowed."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from engine import (
    AgentSpec,
    CommandRefusedError,
    Context,
    DiscoveryConfig,
    DynamicSupervisor,
    Fail,
    Limits,
    NotInThisVersion,
    Retry,
    Skip,
    Task,
    UnknownOption,
    UnknownRuntime,
)
from engine.teamfile import TeamFileError, parse_team
from engine.teamfile.build import supervisor_spec

pytestmark = pytest.mark.anyio


async def echo(text: str) -> str:
    return text


ONE = AgentSpec(name="one", run=echo)


def test_what_this_version_does_not_do_is_said() -> None:
    with pytest.raises(NotInThisVersion, match="enable_auto_evolution") as raised:
        DynamicSupervisor("team", enable_auto_evolution=True)
    assert "\n" not in str(raised.value)


def test_what_is_no_failure_policy_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"on_failure\[0\] must be Retry\(…\), Failover\(…\), Escalate"):
        DynamicSupervisor("team", on_failure=[object()])  # type: ignore[list-item]


async def test_a_misspelled_duty_of_a_request_is_an_error_with_the_nearest_name() -> None:
    team = DynamicSupervisor("team", agent_specs=[ONE])

    with pytest.raises(UnknownOption, match="did you mean priority"):
        await team.arun("x", priorty=0)  # type: ignore[call-arg]


def test_a_misspelled_option_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UnknownOption, match="did you mean auto_discover"):
        DynamicSupervisor("team", auto_discovr=True)  # type: ignore[arg-type]


def test_a_template_for_a_lead_is_kept_with_its_model_and_refused_where_no_model_leads() -> None:
    with pytest.raises(ValueError, match="has an instructions_template, and no model= that leads by them"):
        DynamicSupervisor("team", instructions_template="Ask {worker_descriptions}", agent_specs=[ONE])
    with pytest.raises(TeamFileError, match="instructions_template: is for a model that leads; name it with 'model'"):
        parse_team("{version: 1, supervisor: {name: x, instructions_template: y}}", Path("team.yaml"))

    file = parse_team("{version: 1, supervisor: {name: x, model: m, instructions_template: y}}", Path("team.yaml"))
    assert supervisor_spec(file.team).options.instructions_template == "y"
    assert DynamicSupervisor("x", model="m", instructions_template="y").name == "x"


def test_two_agents_of_one_name_are_refused_with_what_to_do() -> None:
    with pytest.raises(CommandRefusedError, match="'one'; choose another name"):
        DynamicSupervisor("team", agent_specs=[ONE, ONE])


@pytest.mark.parametrize("name", ["", "9lives", "a b", "ä", "x" * 65])
def test_a_name_that_cannot_be_says_what_can(name: str) -> None:
    with pytest.raises((ValueError, CommandRefusedError), match="an ASCII letter, then up to 63"):
        DynamicSupervisor(name)


def test_an_unknown_strategy_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(CommandRefusedError, match=r"there are .*map, parallel"):
        DynamicSupervisor("team", coordination_mode="paralel", agent_specs=[ONE])


def test_an_unknown_agent_type_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownRuntime, match="ReactAgent"):
        DynamicSupervisor("team", agent_specs=[AgentSpec(name="one", agent_type="ReactAgnt", run=echo)])


async def test_a_participant_that_is_not_there_is_refused_when_the_team_is_whole() -> None:
    team = DynamicSupervisor("team", agent_specs=[ONE], participants=["onne"])

    with pytest.raises(CommandRefusedError, match="did you mean one"):
        await team.arun("go")


def test_more_agents_than_there_may_be_are_refused() -> None:
    with pytest.raises(ValueError, match="max_agents is 0"):
        DynamicSupervisor("team", agent_specs=[ONE], max_agents=0)


async def test_participants_narrow_and_order_who_takes_part() -> None:
    async def a(text: str) -> str:
        return text + "a"

    async def b(text: str) -> str:
        return text + "b"

    specs = [AgentSpec(name="a", run=a), ONE, AgentSpec(name="b", run=b)]
    team = DynamicSupervisor("team", agent_specs=specs, participants=["b", "a"])

    assert str(await team.arun("x")) == "xba"


async def test_discovery_gives_a_request_to_no_more_agents_than_told() -> None:
    specs = [AgentSpec(name=name, specialties=[name], run=echo) for name in ("alpha", "beta", "gamma")]
    team = DynamicSupervisor(
        "team", agent_specs=specs, auto_discover=True, discovery=DiscoveryConfig(max_matches=2), default_agent="beta"
    )

    assert (await team.arun("alpha beta gamma")).tasks == 2
    assert (await team.arun("something else entirely")).tasks == 1


async def test_the_failure_policies_of_the_team_are_those_of_agents_without_any() -> None:
    tries = dict.fromkeys(["plain", "own"], 0)

    def failing(name: str, times: int) -> AgentSpec:
        async def fails(text: str) -> str:
            tries[name] += 1
            if tries[name] <= times:
                raise OSError("not yet")
            return text

        return AgentSpec(name=name, run=fails, on_failure=[Skip()] if name == "own" else ())

    team = DynamicSupervisor("team", agent_specs=[failing("plain", 2), failing("own", 9)], on_failure=[Retry(5, 0.001)])

    await team.arun("x")

    assert tries == {"plain": 3, "own": 1}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"limits": {"tokens": 5}}, "supervisor 'team': limits must be Limits(…), or None, not {'tokens': 5}"),
        ({"discovery": {}}, "supervisor 'team': discovery must be DiscoveryConfig(…), or None, not {}"),
        ({"durability": "bogus"}, "supervisor 'team': durability must be full or normal, not 'bogus'"),
        (
            {"accept_loss": -1},
            "supervisor 'team': accept_loss must be a whole number, 0 to 1,000,000,000,000, or None, not -1",
        ),
        ({"max_parallel": 1.5}, "supervisor 'team': max_parallel must be a whole number, not 1.5"),
        ({"auto_discover": "yes"}, "supervisor 'team': auto_discover must be True or False, not 'yes'"),
        ({"options": {"grace_s": 1}}, "supervisor 'team': options must be SupervisorOptions(…), or None, not {"),
        ({"participants": "one"}, "supervisor 'team': participants must be a list, or None, not 'one'"),
        (
            {"agent_specs": ["one"]},
            "supervisor 'team': agent_specs[0] must be AgentSpec(…), SpecifiedAgent(…) or DynamicSupervisor(…), not",
        ),
        ({"agent_specs": iter(["one"])}, "an agent must be AgentSpec(…), not 'one'"),
        ({"on_failure": [Fail(), Retry(1)]}, "supervisor 'team': on_failure[1] comes after fail"),
        ({"store": 5}, "supervisor 'team': store must be a text or PathLike(…), or None, not 5"),
        ({"coordination_strategies": ["a"]}, "supervisor 'team': coordination_strategies must be a mapping, or None"),
    ],
)
def test_an_option_that_cannot_be_is_refused_in_one_line(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=r"must be|comes after") as refused:
        DynamicSupervisor("team", **options)

    assert str(refused.value).startswith(says)


@pytest.mark.parametrize(
    ("duty", "says"),
    [
        ({"deadline_s": "5"}, "a request: deadline_s must be a number of seconds above 0"),
        ({"deadline_s": float("nan")}, "a request: deadline_s must be a number of seconds above 0"),
        ({"priority": "0"}, "a request: priority must be a whole number from 0, the most urgent, to 9, not '0'"),
        ({"limits": {"tokens": 5}}, "a request: limits must be Limits(…), not {'tokens': 5}"),
        ({"on_failure": Retry(1)}, "a request: on_failure must be a list"),
        ({"on_failure": [Fail(), Retry(1)]}, "a request: on_failure[1] comes after fail"),
        ({"after": "r1"}, "a request: after must be a list, not 'r1'"),
        ({"category": "nobodys"}, "supervisor 'team' has no strategy for the category 'nobodys'; it has none"),
    ],
)
async def test_a_duty_that_cannot_be_is_refused_in_one_line(duty: dict[str, Any], says: str) -> None:
    team = DynamicSupervisor("team", agent_specs=[ONE])

    with pytest.raises(CommandRefusedError) as refused:
        await team.arun("x", **duty)

    assert refused.value.reason.startswith(says)


async def test_a_change_that_cannot_be_is_refused_in_one_line_with_and_without_an_engine() -> None:
    team = DynamicSupervisor("team", agent_specs=[ONE])
    broken = AgentSpec(name="two", run=echo)
    broken.weight = float("inf")

    for _ in range(2):
        with pytest.raises(CommandRefusedError, match="agent 'two': weight must be a number"):
            await team.add_agent(broken)
        with pytest.raises(CommandRefusedError, match="max_parallel must be a whole number"):
            await team.set_options(max_parallel=2.5)  # type: ignore[arg-type]
        async with team:
            with pytest.raises(CommandRefusedError, match="agent 'two': weight must be"):
                await team.add_agent(broken)
    assert str(await team.arun("still here")) == "still here"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda team: team.add_agent(5), "agent must be AgentSpec(…) or SpecifiedAgent(…), not 5"),
        (lambda team: team.swap_agent("one", 5), "spec must be AgentSpec(…), SpecifiedAgent(…) or a text, not 5"),
        (
            lambda team: team.swap_agent("one", ONE, rollback_after=3),
            "rollback_after must be two whole numbers",
        ),
        (lambda team: team.swap_agents([ONE]), "specs must be a mapping, not ["),
        (lambda team: team.change_capabilities("one", add="toml"), "add must be a list, not 'toml'"),
        (lambda team: team.pause(5), "target must be a text, or None, not 5"),
        (lambda team: team.move("one", None), "parent must be a text, not None"),
        (lambda team: team.reassign("t1", 5), "agent must be a text, not 5"),
        (lambda team: team.wait(1), "id must be a text, not 1"),
        (lambda team: team.reconfigure_coordination("parallel"), "settings must be a mapping, not 'parallel'"),
        (lambda team: team.deserialize_state([1]), "state must be a mapping, not [1]"),
        (lambda team: team.deserialize_state({}, trusted="code:run"), "trusted must be a list, not 'code:run'"),
    ],
)
async def test_an_argument_of_another_type_is_refused_before_it_is_looked_into(
    call: Callable[[DynamicSupervisor], Awaitable[object]], says: str
) -> None:
    team = DynamicSupervisor("team", agent_specs=[ONE])

    with pytest.raises(CommandRefusedError) as refused:
        await call(team)

    assert refused.value.reason.partition(": ")[2].startswith(says)


async def test_a_team_whose_times_are_as_long_as_they_may_be_starts_again_on_its_file(tmp_path: Path) -> None:
    async def repeat(task: Task, _ctx: Context) -> str:
        return task.text

    ten_years_s = 315_360_000
    spec = AgentSpec(name="one", run=repeat, timeout_s=ten_years_s, step_timeout_s=ten_years_s, weight=0.001)
    limits = Limits(run_s=ten_years_s, time_s=ten_years_s, tokens=10**12, attempts=10**9)

    for _ in range(2):
        team = DynamicSupervisor("team", agent_specs=[spec], limits=limits, store=tmp_path / "team.db")
        assert str(await team.arun("on", deadline_s=ten_years_s)) == "on"
