"""Scripted agents: on the engine's clock, and the same each time."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import JsonValue

from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Retry
from engine.platform.clock import VirtualClock
from tests.runtime.engines import Engines

pytestmark = pytest.mark.anyio
SLOW = {"name": "look", "delay_s": 1}


def scripted(name: str, *rules: Mapping[str, Any], **fields: Any) -> AgentSpec:
    return AgentSpec(name=name, agent_type="scripted", options={"script": [dict(rule) for rule in rules]}, **fields)


async def test_without_a_rule_it_says_its_name_and_the_text(engine: Engines) -> None:
    async with engine(scripted("parrot")) as running:
        assert await running.ask("hello") == "parrot: hello"


async def test_the_first_rule_that_fits_the_text_is_played(engine: Engines) -> None:
    rules = {"match": "^refund", "output": "no"}, {"match": "price", "output": {"eur": 3}}, {"output": "{agent}?"}
    async with engine(scripted("clerk", *rules)) as running:
        assert await running.ask("refund, please") == "no"
        assert await running.ask("the price of a refund") == {"eur": 3}
        assert await running.ask("hm") == "clerk?"


async def test_delays_pass_on_the_engines_clock(engine: Engines) -> None:
    clock = VirtualClock()
    slow = scripted("slow", {"delay_s": 7200, "steps": [{"name": "rest", "delay_s": 1800}]})
    async with engine(slow, clock=clock) as running:
        began_ms = clock.now_ms()
        await running.ask()

        assert clock.now_ms() - began_ms == 9_000_000


async def test_agents_in_parallel_take_the_time_of_the_slowest(engine: Engines) -> None:
    clock = VirtualClock()
    crew = [scripted(f"a{number}", {"delay_s": number, "output": str(number)}) for number in (3, 1, 2)]
    async with engine(*crew, clock=clock, mode="parallel") as running:
        began_ms = clock.now_ms()
        await running.ask()

        assert clock.now_ms() - began_ms == 3_000


async def test_it_fails_as_often_as_it_is_told_and_then_goes_on(engine: Engines) -> None:
    rules = {"times": 2, "fail": "no {text} at attempt {attempt}"}, {"output": "at last"}
    spec = scripted("flaky", *rules, on_failure=[Retry(retries=3)])
    async with engine(spec, clock=VirtualClock()) as running:
        assert await running.ask("luck") == "at last"
        bodies = [record.body for record in await running.journal("attempt_failed")]

    assert b"no luck at attempt 1" in bodies[0]
    assert b"no luck at attempt 2" in bodies[1]


async def test_it_delegates_and_maps(engine: Engines) -> None:
    lead = scripted("lead", {"map": {"to": "echo", "items": ["{text} 1", "{text} 2"]}, "output": "got {answer}"})
    asks = scripted("asks", {"delegate": {"to": "lead", "text": "say {text}"}, "output": "{answer}!"})
    async with engine(asks, lead, scripted("echo"), participants=["asks"], clock=VirtualClock()) as running:
        assert await running.ask("x") == 'got ["echo: say x 1", "echo: say x 2"]!'


async def test_a_failed_delegation_can_have_an_answer_of_its_own(engine: Engines) -> None:
    asks = scripted("asks", {"delegate": {"to": "bad", "or_output": "nobody"}, "output": "{answer}"})
    async with engine(asks, scripted("bad", {"fail": "no"}), participants=["asks"]) as running:
        assert await running.ask() == "nobody"


async def test_draws_are_the_same_each_time(engine: Engines) -> None:
    spec = scripted("dice", {"delay_s": [1, 100], "fail": "unlucky", "fail_rate": 0.5, "output": "lucky"})

    async def played() -> list[tuple[str, int]]:
        clock = VirtualClock()
        found = []
        async with engine(spec, clock=clock) as running:
            for _ in range(10):
                summary, _ = await running.ended(await running.submit())
                found.append((str(summary.status), clock.now_ms()))
        return found

    first = await played()

    assert first == await played()
    assert {status for status, _ in first} == {"done", "failed"}


async def test_progress_and_output_are_shown_while_it_works(engine: Engines) -> None:
    rule = {"delay_s": 4, "progress": 4, "emit": ["one ", "two"], "emit_every_s": 1, "steps": [SLOW]}
    clock = VirtualClock()

    async with engine(scripted("busy", rule), clock=clock) as running:
        begin_ms = clock.now_ms()
        run_id = await running.submit()
        shown = []
        for at_ms in (2_500, 4_500, 5_500):
            await clock.sleep_until(begin_ms + at_ms)
            shown.append(list(running.store.live.texts().values()))
        await running.ended(run_id)

        assert running.store.live.texts() == {}

    done = '{"done": 4, "total": 4, "note": ""}'
    assert shown == [['{"done": 2, "total": 4, "note": ""}'], [done, "one "], [done, "one two"]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"script": [{"outputs": "x"}]}, "options.script.0.outputs"),
        ({"script": [{"match": "("}]}, "not a regular expression"),
        ({"scripts": []}, "options.scripts"),
    ],
)
async def test_a_script_that_is_none_puts_the_agent_in_error_and_names_the_place(
    engine: Engines, options: dict[str, JsonValue], said: str
) -> None:
    spec = AgentSpec(name="odd", agent_type="scripted", options=options)
    async with engine(spec) as running:
        await running.until(lambda state: said in (state.agents["a1"].error or ""))


async def test_an_expression_that_takes_too_long_fails_its_task_alone(engine: Engines) -> None:
    slow = {"match": "(.*a){20}b", "output": "never"}
    async with engine(scripted("clerk", slow), scripted("other"), mode="parallel") as running:
        error = await running.fails("a" * 3_000)

        assert "it takes longer than 0.1 s; write it without nested repetitions" in error


async def test_a_reply_of_a_scripted_model_that_takes_too_long_to_find_fails_the_task(engine: Engines) -> None:
    replies = [{"match": "(.*a){20}b", "text": "never"}]
    options = SupervisorOptions(models={"fake": ModelSpec(replies=replies)})
    async with engine(AgentSpec(name="ada", model="fake"), options=options) as running:
        assert "it takes longer than 0.1 s" in await running.fails("a" * 3_000)
        assert await running.ask("hello") == "hello"
