"""Function agents that are `async def`: what they get, what they may ask, what they may return."""

import gc
import weakref
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from pydantic import JsonValue

from engine.core.commands import Cancel
from engine.core.specs.spec import AgentSpec, Retry
from engine.errors import DelegationFailed, NotJson
from tests.runtime.engines import Engines, soon

pytestmark = pytest.mark.anyio


async def echo(text: JsonValue) -> JsonValue:
    return text


async def shout(text: str) -> str:
    return text.upper()


def agent(name: str, run: Callable[..., Any], **fields: Any) -> AgentSpec:
    return AgentSpec(name=name, run=run, **fields)


async def test_a_function_of_the_text_gets_the_request(engine: Engines) -> None:
    async with engine(agent("echo", echo)) as running:
        assert await running.ask("how are you?") == "how are you?"


async def test_a_ctx_that_was_kept_fails_the_attempt_that_calls_it(engine: Engines) -> None:
    kept: list[Any] = []

    async def keep(task: Any, ctx: Any) -> Any:
        kept.append(ctx)
        return await kept[0].step("look", echo, task.text)

    async with engine(agent("keeper", keep, on_failure=[])) as running:
        assert await running.ask("first") == "first"
        assert "this ctx is of an attempt of 'keeper' at t2 that is over" in await running.fails("second")


@pytest.mark.parametrize("call", ["emit", "step"])
async def test_a_ctx_raises_at_once_in_another_event_loop(engine: Engines, call: str) -> None:
    async def work(task: Any, ctx: Any) -> JsonValue:
        async def elsewhere() -> None:
            if call == "emit":
                ctx.emit("hello")
            else:
                await ctx.step("look", echo, "hello")

        await anyio.to_thread.run_sync(lambda: anyio.run(elsewhere))
        return "done"

    async with engine(agent("loops", work, on_failure=[])) as running:
        assert "the ctx of an async def is in use from the event loop of thread" in await running.fails()


async def test_in_a_sequence_each_gets_the_output_of_the_one_before(engine: Engines) -> None:
    async def add(text: str) -> str:
        return f"{text}+"

    async with engine(agent("first", add), agent("second", add), agent("third", add)) as running:
        assert await running.ask("go") == "go+++"


async def test_an_output_that_is_no_text_goes_on_as_json_text(engine: Engines) -> None:
    async def numbers(text: str) -> list[int]:
        return [1, 2]

    async with engine(agent("numbers", numbers), agent("echo", echo)) as running:
        assert await running.ask() == "[1, 2]"


async def test_a_function_of_task_and_ctx_sees_request_inputs_and_options(engine: Engines, tmp_path: Path) -> None:
    async def look(task: Any, ctx: Any) -> JsonValue:
        return {
            "request": task.request,
            "text": task.text,
            "inputs": [[one.agent, one.output] for one in task.inputs],
            "options": task.options,
            "attempt": task.attempt,
            "agent": ctx.agent,
            "folder": str(ctx.folder),
            "same": ctx.task is task,
        }

    specs = agent("shout", shout), agent("look", look, options={"depth": 3})
    async with engine(*specs, host={"folder": tmp_path}) as running:
        assert await running.ask("hi") == {
            "request": "hi",
            "text": "HI",
            "inputs": [["shout", "HI"]],
            "options": {"depth": 3},
            "attempt": 1,
            "agent": "look",
            "folder": str(tmp_path),
            "same": True,
        }


async def test_long_texts_reach_the_next_agent_whole(engine: Engines) -> None:
    async with engine(agent("shout", shout), agent("echo", echo)) as running:
        assert await running.ask("long " * 10_000) == "LONG " * 10_000


async def test_a_delegation_brings_the_output_of_another(engine: Engines) -> None:
    async def lead(task: Any, ctx: Any) -> str:
        return f"they said {await ctx.delegate('shout', 'hello')}"

    async with engine(agent("lead", lead), agent("shout", shout), participants=["lead"]) as running:
        assert await running.ask() == "they said HELLO"


async def test_a_delegated_value_arrives_as_it_was_given(engine: Engines) -> None:
    async def lead(task: Any, ctx: Any) -> Any:
        return await ctx.delegate("echo", {"rows": [1, 2], "deep": {"a": None}})

    async with engine(agent("lead", lead), agent("echo", echo), participants=["lead"]) as running:
        assert await running.ask() == {"rows": [1, 2], "deep": {"a": None}}


async def test_a_parent_that_waits_holds_no_slot(engine: Engines) -> None:
    async def countdown(task: Any, ctx: Any) -> str:
        left = int(task.text)
        return "liftoff" if left == 0 else str(await ctx.delegate("count", str(left - 1)))

    async with engine(agent("count", countdown)) as running:
        assert await running.ask("6") == "liftoff"


async def test_a_map_keeps_the_order_of_its_items(engine: Engines) -> None:
    async def slow_first(text: str) -> str:
        for _ in range(20 - int(text)):
            await anyio.lowlevel.checkpoint()
        return f"<{text}>"

    async def lead(task: Any, ctx: Any) -> list[str]:
        found: list[str] = await ctx.map("work", [str(number) for number in range(20)])
        return found

    workers = [agent(f"w{number}", slow_first, specialties=["work"]) for number in range(5)]
    async with engine(agent("lead", lead), *workers, participants=["lead"]) as running:
        assert await running.ask() == [f"<{number}>" for number in range(20)]


async def test_a_map_of_nothing_is_nothing(engine: Engines) -> None:
    async def lead(task: Any, ctx: Any) -> list[str]:
        found: list[str] = await ctx.map("nobody-is-asked", [])
        return found

    async with engine(agent("lead", lead)) as running:
        assert await running.ask() == []


async def test_a_map_over_what_never_ends_is_refused(engine: Engines) -> None:
    async def lead(task: Any, ctx: Any) -> str:
        with pytest.raises(NotJson, match="more than 200,000 values"):
            await ctx.map("nobody-is-asked", count())
        return "refused"

    async with engine(agent("lead", lead)) as running:
        assert await running.ask() == "refused"


async def picky(text: str) -> str:
    if text == "bad":
        raise ValueError("not this one")
    return text


async def test_failures_of_a_map_stand_in_place_where_they_are_wanted(engine: Engines) -> None:
    async def lead(task: Any, ctx: Any) -> list[str]:
        found = await ctx.map("picky", ["a", "bad", "c"], return_failures=True)
        return [f"failed: {one.reason}" if isinstance(one, DelegationFailed) else one for one in found]

    async with engine(agent("lead", lead), agent("picky", picky), participants=["lead"]) as running:
        output = await running.ask()

    assert isinstance(output, list)
    assert output[0] == "a"
    assert "not this one" in str(output[1])
    assert output[2] == "c"


async def test_a_failed_delegation_is_raised_and_fails_who_does_not_catch_it(engine: Engines) -> None:
    async def lead(task: Any, ctx: Any) -> Any:
        return await ctx.delegate("picky", "bad")

    async with engine(agent("lead", lead), agent("picky", picky), participants=["lead"]) as running:
        assert "not this one" in await running.fails()


async def test_asking_somebody_unknown_is_refused_with_the_nearest_names(engine: Engines) -> None:
    async def lead(task: Any, ctx: Any) -> str:
        with pytest.raises(DelegationFailed) as refused:
            await ctx.delegate("pikcy", "x")
        return refused.value.reason

    async with engine(agent("lead", lead), agent("picky", picky), participants=["lead"]) as running:
        assert "picky" in str(await running.ask())


async def test_delegations_at_the_same_time_each_get_their_own_answer(engine: Engines) -> None:
    async def lead(task: Any, ctx: Any) -> list[str]:
        answers = [""] * 10

        async def one(place: int) -> None:
            answers[place] = await ctx.delegate("shout", f"n{place}")

        async with anyio.create_task_group() as group:
            for place in range(10):
                group.start_soon(one, place)
        return answers

    shouters = agent("shout", shout, max_concurrency=4)
    async with engine(agent("lead", lead), shouters, participants=["lead"]) as running:
        assert await running.ask() == [f"N{place}" for place in range(10)]


async def test_a_step_answers_with_what_json_has_of_its_output(engine: Engines) -> None:
    async def pair(number: int) -> tuple[int, int]:
        return number, number + 1

    async def steps(task: Any, ctx: Any) -> Any:
        return [await ctx.step("async", pair, 1), await ctx.step("plain", divmod, 7, 2)]

    async with engine(agent("steps", steps)) as running:
        assert await running.ask() == [[1, 2], [3, 1]]
        assert len(await running.journal("step_recorded")) == 2


def weigh(text: str, *, unit: str = "kg") -> str:
    return f"{len(text)} {unit}"


async def test_a_tool_is_called_by_the_last_part_of_its_reference_and_recorded(engine: Engines) -> None:
    async def carry(task: Any, ctx: Any) -> Any:
        return await ctx.tool("weigh", "apples", unit="g")

    async with engine(agent("carry", carry, tools=[weigh])) as running:
        assert await running.ask() == "6 g"
        assert len(await running.journal("step_recorded")) == 1


async def test_an_unknown_tool_is_an_error_that_names_the_known_ones(engine: Engines) -> None:
    async def carry(task: Any, ctx: Any) -> Any:
        return await ctx.tool("wiegh", "apples")

    async with engine(agent("carry", carry, tools=[weigh])) as running:
        assert "weigh" in await running.fails()


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (float("nan"), "nan"),
        ({"a": [1, b"bytes"]}, "a[1]"),
        ({1, 2}, "set"),
        ({1: "one"}, "key"),
        (10**5000, "digits"),
    ],
    ids=["nan", "bytes", "set", "key", "digits"],
)
async def test_an_output_that_is_not_json_fails_the_attempt_and_says_where(
    engine: Engines, output: object, said: str
) -> None:
    async def bad(text: str) -> object:
        return output

    async with engine(agent("bad", bad)) as running:
        assert said in await running.fails()


async def test_half_a_character_in_an_output_is_replaced(engine: Engines) -> None:
    async def half(text: str) -> str:
        return "so \ud83d it is"

    async with engine(agent("half", half)) as running:
        assert await running.ask() == "so \ufffd it is"


class Grumpy(BaseException):
    """Not even an Exception."""


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), Grumpy("no"), StopAsyncIteration()])
async def test_whatever_a_function_raises_fails_the_attempt_and_not_the_engine(
    engine: Engines, error: BaseException
) -> None:
    async def bad(text: str) -> str:
        if text == "bad":
            raise error
        return "fine"

    async with engine(agent("bad", bad)) as running:
        await running.fails("bad")

        assert await running.ask("good") == "fine"


async def test_an_error_is_one_line_without_the_secrets_of_the_environment(
    engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "sk-1234567890")

    async def bad(text: str) -> str:
        raise ValueError("\nwrong key sk-1234567890\nand\x1b[31m more")

    async with engine(agent("bad", bad)) as running:
        error = await running.fails()

    assert "wrong key [SHOP_API_KEY]" in error
    assert "\n" not in error


async def test_a_cancelled_error_out_of_nowhere_is_a_failure(engine: Engines) -> None:
    async def bad(text: str) -> str:
        raise anyio.get_cancelled_exc_class()

    async with engine(agent("bad", bad)) as running:
        assert "CancelledError" in await running.fails()


async def test_a_cancelled_error_at_the_moment_of_a_cancellation_ends_the_attempt(engine: Engines) -> None:
    async def bad(task: Any, ctx: Any) -> str:
        ctx._work.stop()  # as the engine stops it in the turn of the loop in which it goes on
        ctx._work.attempt.stop_now()
        raise anyio.get_cancelled_exc_class()

    async with engine(agent("bad", bad)) as running:
        summary, _ = await running.ended(await running.submit())

    assert summary.status == "cancelled"


async def test_a_failure_that_says_nothing_is_told_by_its_class(engine: Engines) -> None:
    async def checks(text: str) -> None:
        raise NotImplementedError

    async def looks_up(text: str) -> str:
        return {"a": "b"}[text]

    async with engine(agent("bad", checks)) as running:
        assert (await running.fails()).endswith("NotImplementedError")
    async with engine(agent("bad", looks_up)) as running:
        assert "KeyError: '" in await running.fails()


async def test_a_failure_is_tried_again_after_its_back_off(engine: Engines) -> None:
    async def flaky(task: Any, ctx: Any) -> str:
        if task.attempt < 3:
            raise ConnectionError("again")
        return f"at attempt {task.attempt}"

    retried = agent("flaky", flaky, on_failure=[Retry(retries=5, base_s=0.001, cap_s=0.002)])
    async with engine(retried) as running:
        assert await running.ask() == "at attempt 3"


async def test_a_function_that_yields_is_refused_with_what_to_do(engine: Engines) -> None:
    async def stream(text: str) -> Any:
        yield text

    async with engine(agent("stream", stream)) as running:
        await running.until(lambda state: "ctx.emit" in (state.agents["a1"].error or ""))


async def test_a_function_of_three_is_refused(engine: Engines) -> None:
    async def three(a: str, b: str, c: str) -> str:
        return a

    async with engine(agent("three", three)) as running:
        await running.until(lambda state: "(text) or (task, ctx)" in (state.agents["a1"].error or ""))


async def test_a_callable_object_and_a_lambda_that_gives_a_coroutine_are_functions_too(engine: Engines) -> None:
    class Adder:
        async def __call__(self, text: str) -> str:
            return f"{text}!"

    call: Callable[[str], Awaitable[str]] = lambda text: shout(text)  # noqa: E731

    async with engine(agent("adder", Adder()), agent("lambda", call)) as running:
        assert await running.ask("go") == "GO!"


async def test_cancelling_the_run_of_a_waiting_parent_ends_it_and_keeps_what_it_emitted(engine: Engines) -> None:
    begun = anyio.Event()

    async def forever(text: str) -> str:
        begun.set()
        await anyio.sleep_forever()
        return "never"

    async def lead(task: Any, ctx: Any) -> Any:
        ctx.emit("so far ")
        ctx.emit("so good")
        return await ctx.delegate("forever", "x")

    specs = agent("lead", lead), agent("forever", forever)
    async with engine(*specs, participants=["lead"], host={"grace_s": 0.05}) as running:
        run_id = await running.submit()
        await begun.wait()
        await running.host.order(Cancel(target=run_id))
        summary, _ = await running.ended(run_id)
        bodies = [record.body for record in await running.journal("attempt_cancelled")]

    assert summary.status == "cancelled"
    assert any(b"so far so good" in body for body in bodies)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda ctx: ctx.delegate(5, "x"), "ctx.delegate: target must be a text, not 5"),
        (lambda ctx: ctx.map(None, ["x"]), "ctx.map: target must be a text, not None"),
        (lambda ctx: ctx.map("work", "abc"), "ctx.map: items must be a list, not 'abc'"),
        (lambda ctx: ctx.map("work", {"a": 1}), "ctx.map: items must be a list, not {'a': 1}"),
        (lambda ctx: ctx.map("work", 5), "ctx.map: items must be a list, not 5"),
        (lambda ctx: ctx.step(5, shout, "x"), "ctx.step: name must be a text, not 5"),
        (lambda ctx: ctx.sleep(float("inf")), "ctx.sleep: seconds must be a number, at most 315,360,000, not inf"),
        (lambda ctx: ctx.sleep(float("nan")), "ctx.sleep: seconds must be a number, at most 315,360,000, not nan"),
    ],
)
async def test_what_cannot_be_asked_is_an_error_of_the_agents_code_and_no_defect(
    engine: Engines, caplog: pytest.LogCaptureFixture, ask: Callable[[Any], Awaitable[Any]], says: str
) -> None:
    async def lead(task: Any, ctx: Any) -> JsonValue:
        return await ask(ctx)  # type: ignore[no-any-return]

    async with engine(agent("lead", lead)) as running:
        assert await running.fails() == f"lead: {says}"

    assert not [record for record in caplog.records if "defect" in record.message]


async def test_names_of_steps_and_targets_with_half_characters_are_written_whole(engine: Engines) -> None:
    async def lead(task: Any, ctx: Any) -> JsonValue:
        await ctx.step("half \ud83d", shout, "x")
        return await ctx.delegate("half \ud83d", "x")  # type: ignore[no-any-return]

    async with engine(agent("lead", lead)) as running:
        assert "no agent can 'half \ufffd'" in await running.fails()
        assert len(await running.journal("step_recorded")) == 1


async def test_an_exception_whose_own_text_ends_the_program_fails_its_attempt_alone(engine: Engines) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise SystemExit("gone")

        @property
        def retry_after(self) -> float:
            raise KeyboardInterrupt

    async def odd(text: str) -> str:
        raise Odd

    def odd_in_thread(text: str) -> str:
        raise Odd

    for run in (odd, odd_in_thread):
        async with engine(agent("odd", run)) as running:
            assert await running.fails() == "odd: its text cannot be read (SystemExit)"


async def test_an_attempt_that_has_ended_is_freed_without_a_collection(engine: Engines) -> None:
    attempts: list[weakref.ref[Any]] = []

    async def work(task: Any, ctx: Any) -> str:
        attempts.append(weakref.ref(ctx._work))
        return str(await ctx.step("read", str.upper, "a page"))

    async def is_freed() -> bool:
        return attempts[-1]() is None

    gc.disable()
    try:
        async with engine(agent("ada", work)) as running:
            assert await running.ask() == "A PAGE"
            assert await soon(is_freed)
    finally:
        gc.enable()
