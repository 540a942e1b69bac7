"""Programs that speak lines of JSON: real ones, in both directions, that behave and misbehave."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from anyio.lowlevel import checkpoint

from engine.children.child import LINES_PER_TURN
from engine.core.commands import Answer, Steer
from engine.core.records.records import copy_with
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.platform.clock import VirtualClock
from engine.runtimes.programs import jsonl_conversation, lines
from engine.runtimes.programs.jsonl_conversation import MAX_PENDING_REQUESTS
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines
from tests.runtime.test_process_agents import cancelled, program, shown

pytestmark = pytest.mark.anyio

BEGINS = """
import json, sys, time
def say(**line): print(json.dumps(line), flush=True)
def hear(): return json.loads(sys.stdin.readline() or '{"type": "end"}')
task = hear()
"""


def speaker(code: str, **options: Any) -> AgentSpec:
    return program(sys.executable, "-c", BEGINS + code, name="speaker", protocol="jsonl", **options)


async def steps(running: Engine) -> list[tuple[str, Any]]:
    found = [json.loads(record.body) for record in await running.journal("step_recorded")]
    return [(one["name"], one["output"]) for one in found]


async def test_it_is_told_the_task_and_says_its_output(engine: Engines) -> None:
    async with engine(speaker("say(type='result', output=task)")) as running:
        told = await running.ask({"files": ["ä"]})

    assert told == {
        "type": "task", "task_id": "t2", "attempt": 1, "text": '{"files": ["ä"]}', "request": {"files": ["ä"]},
        "labels": {}, "inputs": [], "steps": [],
    }  # fmt: skip


async def test_its_text_is_shown_as_it_comes_and_is_the_output_where_it_says_none(engine: Engines) -> None:
    code = "say(type='text', text='one '); say(type='text', text='two\\n'); say(type='text', text='three\\n')"

    async with engine(speaker(code)) as running:
        assert await running.ask() == "one two\nthree"
    async with engine(speaker("say(type='text', text='so far'); time.sleep(1000)")) as running:
        await running.submit()
        assert await shown(running, "output") == "so far"


async def test_what_is_no_line_of_ours_is_shown_as_text(engine: Engines) -> None:
    code = """
print('Traceback: no'); print('{"type": "text"'); print('{"type": "other"}'); print('[1]'); print('{"a": NaN}')
sys.stdout.flush(); sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush(); print('{"type": []}')
print('{' * 100_000); say(type='usage', tokens_in=-1); say(type='step'); print('no end', end='')
"""
    async with engine(speaker(code)) as running:
        output = str(await running.ask()).split("\n")

    assert output[:6] == [
        "Traceback: no",
        '{"type": "text"',
        '{"type": "other"}',
        "[1]",
        '{"a": NaN}',
        "\N{REPLACEMENT CHARACTER}",
    ]
    assert output[6] == '{"type": []}'
    assert output[8].endswith("[not understood: tokens_in must be a whole number, 0 or more, not -1]")
    assert output[9].endswith("[not understood: Object missing required field `name`]")
    assert output[10:] == ["no end"]


async def test_what_it_spent_is_counted(engine: Engines) -> None:
    code = """
say(type='usage', tokens_in=100, tokens_out=5, cost_usd=0.25); say(type='step', name='read', output=1)
say(type='usage', tokens_in=11, tokens_cached=3, cost_usd='0.5'); say(type='result', output='done')
"""
    async with engine(speaker(code)) as running:
        summary, _ = await running.ended(await running.submit())

    assert (summary.usage.tokens_in, summary.usage.tokens_out, summary.usage.tokens_cached) == (111, 5, 3)
    assert str(summary.usage.cost_usd) == "0.75"


async def test_its_steps_are_journaled_and_told_to_the_next_attempt(engine: Engines, tmp_path: Path) -> None:
    code = """
done = [(each["name"], each["output"]) for each in task["steps"]]
for page in range(len(done), 4):
    say(type='step', name='page', output={'page': page})
    if page == 2 and not done: time.sleep(1000)
say(type='result', output=done)
"""
    path = tmp_path / "team.db"
    async with engine(speaker(code), path=path) as running:
        await running.submit()
        with anyio.fail_after(PATIENCE_S):
            while len(await steps(running)) < 3:
                await anyio.lowlevel.checkpoint()

    async with engine(path=path) as running:
        _, output = await running.ended("r1")
        journaled = await steps(running)

    assert output == [["page", {"page": page}] for page in range(3)]
    assert journaled == [("page", {"page": page}) for page in range(4)]


async def test_cancelling_tells_it_first_and_what_it_says_then_is_partial(engine: Engines) -> None:
    code = "say(type='text', text='x'); told = hear(); say(type='result', output=told['type'])"

    async with engine(speaker(code)) as running:
        run_id = await running.submit()
        await shown(running, "output")
        stopped = await cancelled(running, run_id)

    assert stopped["partial"] == "cancel"


ENDS = {
    "say(type='result', output=told)": {"type": "cancel"},
    "say(type='text', text='no number')": "no number",
}


@pytest.mark.parametrize("end", ENDS)
async def test_what_one_says_that_is_cancelled_need_not_fit_the_schema_of_its_output(engine: Engines, end: str) -> None:
    spec = speaker(f"say(type='step', name='begun'); told = hear(); {end}")
    async with engine(msgspec.structs.replace(spec, output={"type": "number"})) as running:
        run_id = await running.submit()
        while not await steps(running):
            await anyio.lowlevel.checkpoint()
        stopped = await cancelled(running, run_id)

    assert stopped["partial"] == ENDS[end]


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("say(type='text', text='[1'); say(type='text', text=']\\n')", [1]),
        ("say(type='text', text='no'); say(type='result', output=[2])", [2]),
        ("say(type='result', output=3)", None),
        ("say(type='text', text='[no')", None),
    ],
)
async def test_its_result_or_else_its_text_fits_the_schema_of_its_output(
    engine: Engines, code: str, output: Any
) -> None:
    async with engine(msgspec.structs.replace(speaker(code), output={"type": "array"})) as running:
        if output is None:
            assert "its output does not fit the schema of its spec" in await running.fails()
        else:
            assert await running.ask() == output


async def test_one_that_does_not_exit_after_its_result_is_ended(engine: Engines) -> None:
    spec = speaker("say(type='result', output='done'); time.sleep(1000)")

    async with engine(spec, clock=VirtualClock()) as running:
        assert await running.ask() == "done"


async def test_one_that_says_its_result_again_and_again_gives_the_last_and_is_waited_for_once(engine: Engines) -> None:
    again = "[say(type='result', output=number) for number in range(300)]"

    async with engine(speaker(again)) as running:
        assert await running.ask() == 299
    async with engine(speaker(f"{again}; say(type='text', text='said'); time.sleep(1000)")) as running:
        before = len(asyncio.all_tasks())
        await running.submit()
        await shown(running, "output")
        assert len(asyncio.all_tasks()) < before + 50


async def test_an_exit_status_counts_also_after_a_result(engine: Engines) -> None:
    async with engine(speaker("say(type='result', output='done'); sys.exit('no space')")) as running:
        assert "exited with 1: no space" in await running.fails()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('x' * 200_000)", "it wrote a line of more than 100,000 bytes; see output_bytes"),
        ("print('x' * 200_000, end=''); sys.stdout.flush(); time.sleep(1000)", "it wrote a line of more than"),
        ("while True: say(type='text', text='x' * 1000)", "its output is longer than 100,000 bytes"),
        ("sys.exit(3)", "exited with 3"),
        ("sys.stderr.write('no room\\n  \\n'); sys.exit(3)", "exited with 3: no room"),
    ],
)
async def test_one_that_says_too_much_or_leaves_fails_in_one_line(engine: Engines, code: str, said: str) -> None:
    async with engine(speaker(code, output_bytes=100_000)) as running:
        assert said in await running.fails()


async def test_its_questions_reach_people_and_the_answers_come_back_to_it(engine: Engines) -> None:
    code = """
say(type='ask', id=7, question='Which reef?', options=['north', 'south'])
say(type='ask', id='x', question='How deep?')
say(type='result', output=sorted((str(each['id']), each['answer']) for each in (hear(), hear())))
"""
    async with engine(speaker(code)) as running:
        run_id = await running.submit()
        await running.until(lambda state: len(state.escalations) == 2)
        asked = {each.question: name for name, each in running.state.escalations.items()}
        reef, deep = (next(name for said, name in asked.items() if what in said) for what in ("reef", "deep"))
        await running.host.order(Answer(escalation=deep, answer="reply", output="4 m"))
        await running.host.order(Answer(escalation=reef, answer="south"))
        _, output = await running.ended(run_id)

    assert output == [["7", "south"], ["x", "4 m"]]


async def test_one_that_floods_the_inbox_with_questions_fails(engine: Engines) -> None:
    code = f"""
for number in range({MAX_PENDING_REQUESTS + 1}): say(type='ask', id=number, question=f'Is it {{number}}?')
time.sleep(1000)
"""
    async with engine(speaker(code)) as running:
        assert f"it asked more than {MAX_PENDING_REQUESTS} questions at once" in await running.fails()
        assert not running.state.escalations


async def test_a_question_with_options_that_nobody_could_read_is_not_asked(engine: Engines) -> None:
    for options in ([""], ["x" * 201], [str(number) for number in range(21)]):
        code = f"say(type='ask', id=1, question='Which?', options={options!r})"
        async with engine(speaker(code)) as running:
            assert "[not understood: " in str(await running.ask())


async def test_a_question_that_was_answered_is_not_asked_again_after_a_crash(engine: Engines, tmp_path: Path) -> None:
    code = """
say(type='ask', id=1, question='Go on?'); answer = hear()['answer']
if task['steps']: say(type='result', output=answer)
else: say(type='step', name='asked'); time.sleep(1000)
"""
    path = tmp_path / "team.db"
    async with engine(speaker(code), path=path) as running:
        await running.submit()
        await running.until(lambda state: len(state.escalations) == 1)
        (question,) = running.state.escalations
        await running.host.order(Answer(escalation=question, answer="reply", output="yes"))
        with anyio.fail_after(PATIENCE_S):
            while not await steps(running):
                await anyio.lowlevel.checkpoint()

    async with engine(path=path) as running:
        _, output = await running.ended("r1")
        assert not running.state.escalations

    assert output == "yes"


async def test_what_a_person_says_reaches_it_and_the_attempt_after_a_crash(engine: Engines, tmp_path: Path) -> None:
    code = """
said = [hear()['text']]
if not task['steps']:
    say(type='step', name='first'); time.sleep(1000)
said.append(hear()['text'])
say(type='result', output=said)
"""
    path = tmp_path / "team.db"
    async with engine(speaker(code), path=path) as running:
        run_id = await running.submit()
        await shown(running, "process")
        await running.host.order(Steer(target=run_id, text="to the north"))
        with anyio.fail_after(PATIENCE_S):
            while not [one for one in await steps(running) if one[0] == "first"]:
                await anyio.lowlevel.checkpoint()

    async with engine(path=path) as running:
        await shown(running, "process")
        await running.host.order(Steer(target="r1", text="and slowly"))
        _, output = await running.ended("r1")

    assert output == ["to the north", "and slowly"]


@pytest.mark.parametrize("then", ["stop", "fail", "ask"])
async def test_a_program_whose_last_step_spends_the_rest_of_a_budget_is_done(engine: Engines, then: Any) -> None:
    code = "say(type='usage', tokens_in=10); say(type='step', name='page', output=1); say(type='result', output='all')"
    spec = copy_with(speaker(code), limits=Limits(tokens=10, then=then))

    async with engine(spec, options=SupervisorOptions(run_limits=Limits(tokens=5, then=then))) as running:
        assert await running.ask() == "all"
        assert not await running.journal("escalated")


async def test_what_is_said_to_be_spent_before_a_step_counts_and_behind_the_last_one_does_not(engine: Engines) -> None:
    code = """
say(type='usage', tokens_in=10)
say(type='step', name='page', output=0)
say(type='usage', tokens_in=3)
say(type='step', name='page', output=1)
say(type='usage', tokens_in=100)
while hear()['type'] != 'cancel': pass
"""
    async with engine(speaker(code), options=SupervisorOptions(run_limits=Limits(tokens=10))) as running:
        await running.fails()
        assert len(await steps(running)) == 2
        (ended,) = await running.journal("run_finished")
    assert json.loads(ended.body)["figures"]["usage"]["tokens_in"] == 13


async def test_a_program_that_goes_on_after_a_budget_is_spent_is_stopped_at_its_next_step(engine: Engines) -> None:
    code = """
say(type='usage', tokens_in=10)
for page in range(3): say(type='step', name='page', output=page)
while hear()['type'] != 'cancel': pass
say(type='result', output='part')
"""
    async with engine(speaker(code), options=SupervisorOptions(run_limits=Limits(tokens=10))) as running:
        assert await running.fails() == "budget of 10 tokens is spent (10)"
        assert len(await steps(running)) == 2


async def test_a_flood_of_lines_leaves_the_loop_its_turns(engine: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    read, before, most, heard = 0, 0, 0, lines.parse

    def counted(line: bytes) -> lines.Line | str:
        nonlocal read
        read += 1
        return heard(line)

    async def takes_turns() -> None:
        nonlocal before, most
        while True:
            await checkpoint()
            most, before = max(most, read - before), read

    monkeypatch.setattr(lines, "parse", counted)
    async with engine(speaker("sys.stdout.write('{}\\n' * 20_000)")) as running, anyio.create_task_group() as group:
        group.start_soon(takes_turns)
        assert str(await running.ask()).count("{}") == 20_000
        group.cancel_scope.cancel()

    assert most <= 2 * LINES_PER_TURN


@pytest.mark.parametrize(
    ("bound", "code", "said"),
    [
        ("MAX_LINES", "while True: say(type='usage', tokens_in=1)", "it wrote more than 50 lines"),
        ("MAX_STEPS", "while True: say(type='step', name='page')", "it wrote more than 50 steps"),
    ],
)
async def test_one_that_writes_on_and_on_is_ended_and_its_attempt_fails(
    engine: Engines, bound: str, code: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl_conversation, bound, 50)
    async with engine(speaker(code)) as running:
        assert said in await running.fails()
