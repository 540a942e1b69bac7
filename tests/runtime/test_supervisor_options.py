"""What a supervisor is made from: nothing that is asked for is swallowed."""

import pytest

from engine import (
    AgentSpec,
    CommandRefusedError,
    DiscoveryConfig,
    DynamicSupervisor,
    NotInThisVersion,
    Retry,
    Skip,
    UnknownOption,
    UnknownRuntime,
)

pytestmark = pytest.mark.anyio


async def echo(text: str) -> str:
    return text


ONE = AgentSpec(name="one", run=echo)


def test_what_this_version_does_not_do_is_said() -> None:
    with pytest.raises(NotInThisVersion, match="enable_auto_evolution") as raised:
        DynamicSupervisor("team", enable_auto_evolution=True)
    assert "\n" not in str(raised.value)


def test_what_is_no_failure_policy_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(TypeError, match="Retry, Failover, Escalate, Fail, Skip"):
        DynamicSupervisor("team", on_failure=[object()])  # type: ignore[list-item]


async def test_a_misspelled_duty_of_a_request_is_an_error_with_the_nearest_name() -> None:
    team = DynamicSupervisor("team", agent_specs=[ONE])

    with pytest.raises(UnknownOption, match="did you mean priority"):
        await team.arun("x", priorty=0)  # type: ignore[call-arg]


def test_a_misspelled_option_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UnknownOption, match="did you mean auto_discover"):
        DynamicSupervisor("team", auto_discovr=True)  # type: ignore[arg-type]


def test_two_agents_of_one_name_are_refused_with_what_to_do() -> None:
    with pytest.raises(CommandRefusedError, match="'one'; choose another name"):
        DynamicSupervisor("team", agent_specs=[ONE, ONE])


@pytest.mark.parametrize("name", ["", "9lives", "a b", "ä", "x" * 65])
def test_a_name_that_cannot_be_says_what_can(name: str) -> None:
    with pytest.raises((ValueError, CommandRefusedError), match="use a letter"):
        DynamicSupervisor(name)


def test_an_unknown_strategy_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(CommandRefusedError, match=r"there are .*map, parallel"):
        DynamicSupervisor("team", coordination_mode="paralel", agent_specs=[ONE])


def test_an_unknown_agent_type_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownRuntime, match="ReactAgent"):
        DynamicSupervisor("team", agent_specs=[AgentSpec(name="one", agent_type="ReactAgnt", run=echo)])


def test_a_participant_that_is_not_there_is_refused() -> None:
    with pytest.raises(CommandRefusedError, match="did you mean one"):
        DynamicSupervisor("team", agent_specs=[ONE], participants=["onne"])


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
