"""Agents made of others: a team as one agent, members who speak in turn, an agent that remembers, plans of a model."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from dashboard.cli.printing.items import task_item
from engine import AgentSpec
from engine.core.activities import Activities
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from tests.runtime.engines import Engine, Engines, running

pytestmark = pytest.mark.anyio


def spoken(**models: list[Any]) -> SupervisorOptions:
    return SupervisorOptions(models={name: ModelSpec(replies=tuple(said)) for name, said in models.items()})


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def worker(name: str, text: str = "") -> AgentSpec:
    async def work(given: str) -> str:
        return text or f"{name}: {given}"

    return AgentSpec(name=name, run=work)


def crew(**spec: Any) -> AgentSpec:
    return AgentSpec(name="crew", **{"agent_type": "MultiAgent", **spec})


def talk(**spec: Any) -> AgentSpec:
    return AgentSpec(name="talk", **{"agent_type": "ConversationAgent", **spec})


async def delegated(engine: Engine) -> list[str]:
    events = [json.loads(record.body) for record in await engine.journal("delegated")]
    return [child["input"] for event in events for child in event["children"]]


async def test_a_team_as_one_agent_works_in_its_order(engine: Engines) -> None:
    spec = crew(options={"team": ["ada", "bob"]})

    async with engine(spec, worker("ada", "A"), worker("bob", "B"), participants=["crew"]) as running:
        assert await running.ask("Go") == "B"
        assert await delegated(running) == ["Go", "Go\n\n## ada\n\nA"]


async def test_a_team_as_one_agent_works_at_once_and_joins_what_it_has(engine: Engines) -> None:
    spec = crew(options={"team": ["ada", "bob"], "mode": "parallel"})

    async with engine(spec, worker("ada", "A"), worker("bob", "B"), participants=["crew"]) as running:
        assert await running.ask("Go") == "## ada\n\nA\n\n## bob\n\nB"


async def test_the_model_of_a_team_as_one_agent_says_what_has_come_of_it(engine: Engines) -> None:
    spec = crew(model="fake", options={"team": ["ada"]})

    async with engine(
        spec, worker("ada", "A"), participants=["crew"], options=spoken(fake=[{"text": "So: {text}"}])
    ) as running:
        assert await running.ask("Go") == "So: Go\n\n## ada\n\nA"


async def test_a_team_as_one_agent_fails_with_the_member_that_does(engine: Engines) -> None:
    async with engine(crew(options={"team": ["nobody"]}), participants=["crew"]) as running:
        assert "nobody" in await running.fails()
        assert len(await running.journal("attempt_started")) == 1


async def test_speakers_take_turns_until_one_says_the_word(engine: Engines) -> None:
    spec = talk(options={"speakers": ["ada", "bob"], "turns": 9})
    members = [worker("ada", "I begin."), worker("bob", "That was all. END")]

    async with engine(spec, *members, participants=["talk"]) as running:
        assert await running.ask("Talk") == "ada: I begin.\n\nbob: That was all. END"
        assert (await delegated(running))[1].startswith("Talk\n\nada: I begin.\n\nYou are bob.")


async def test_speakers_stop_after_their_turns(engine: Engines) -> None:
    spec = talk(options={"speakers": ["ada", "bob"], "turns": 3})

    async with engine(spec, worker("ada", "A"), worker("bob", "B"), participants=["talk"]) as running:
        assert await running.ask("Talk") == "ada: A\n\nbob: B\n\nada: A"


async def test_a_model_moderates_and_says_what_has_come_of_it(engine: Engines) -> None:
    spec = talk(model="fake", options={"speakers": ["ada", "bob"]})
    fake = [
        {"match": "^Talk\\n\\nYou", "text": '{"next": "bob"}'},
        {"match": "bob: B", "text": '{"next": "nobody", "say": "We agree."}'},
    ]
    async with engine(
        spec, worker("ada", "A"), worker("bob", "B"), participants=["talk"], options=spoken(fake=fake)
    ) as running:
        assert await running.ask("Talk") == "We agree."
        assert len(await delegated(running)) == 1


async def test_a_moderator_that_says_something_else_fails_in_one_line(engine: Engines) -> None:
    spec = talk(options={"speakers": ["ada", "bob"], "moderator": "mod"})

    async with engine(
        spec, worker("ada"), worker("bob"), worker("mod", "Bob, please"), participants=["talk"]
    ) as running:
        assert "mod was to say who speaks next, and it is not JSON" in await running.fails()


async def test_an_agent_with_memory_knows_in_the_next_run_what_it_said_in_the_last(engine: Engines) -> None:
    spec = AgentSpec(name="ada", agent_type="MemoryAgent", model="fake")
    fake = [{"match": "tide", "text": "The tide is high at noon."}, {"text": "It was noon."}]

    async with engine(spec, options=spoken(fake=fake)) as running:
        await running.ask("When is the tide high?")
        await running.ask("Say again when the tide is high")

        parts = [json.loads(record.body)["value"] for record in await running.journal("part_recorded")]
        assert any("What you remember from earlier tasks:" in part and "high at noon" in part for part in parts)
        assert len(running.state.insights) == 2


async def test_tools_to_remember_and_to_recall_are_there_where_the_spec_allows_them(engine: Engines) -> None:
    spec = AgentSpec(name="ada", agent_type="ReactAgent", model="fake", may=["remember", "recall"])
    fake = [
        {"calls": [call("remember", text="The key is under the mat", tags=["key"])]},
        {"calls": [call("recall", query="key"), call("remember", text="")]},
        {"text": "{text}"},
    ]
    async with engine(spec, options=spoken(fake=fake)) as running:
        found, refused = str(await running.ask()).split("\n")

        assert [one["text"] for one in json.loads(found)] == ["The key is under the mat"]
        assert json.loads(refused) == {"error": "text must be a text"}


def planned(*tasks: tuple[str, str, list[str]]) -> dict[str, Any]:
    return call(
        "create_plan",
        tasks=[{"id": id, "worker": who, "instructions": f"do {id}", "after": after} for id, who, after in tasks],
    )


def led(*replies: Any) -> dict[str, Any]:
    options = SupervisorOptions(models={"fake": ModelSpec(replies=replies)}, lead="chief")
    return {"mode": "delegate", "options": options}


CHIEF = AgentSpec(name="chief", agent_type="ReactAgent", model="fake")


async def test_a_plan_is_carried_out_in_its_order_with_the_results_before(engine: Engines) -> None:
    plan = planned(("write", "bob", ["look", "ask"]), ("look", "ada", []), ("ask", "ada", []))

    async with engine(CHIEF, worker("ada"), worker("bob"), **led({"calls": [plan]}, {"text": "{text}"})) as running:
        done = json.loads(str(await running.ask()))

        assert done == {
            "write": "bob: do write\n\n## ada\n\nada: do look\n\n## ada\n\nada: do ask",
            "look": "ada: do look",
            "ask": "ada: do ask",
        }
        assert await delegated(running) == ["do write", "do look", "do ask"]
        began = [json.loads(one.body)["task_id"] for one in await running.journal("attempt_started")]
        assert began[1:] == ["t4", "t5", "t3"], "those that wait for nothing first"


async def test_the_tasks_of_a_plan_wait_in_the_graph_before_they_begin(engine: Engines) -> None:
    go = anyio.Event()

    async def look(text: str) -> str:
        await go.wait()
        return "a tide"

    plan = planned(("write", "bob", ["look"]), ("look", "ada", []))
    team = (CHIEF, AgentSpec(name="ada", run=look), worker("bob"))
    async with engine(*team, **led({"calls": [plan]}, {"text": "{text}"})) as running:
        run = await running.submit()
        await running.until(
            lambda state: any(one.title == "look: do look" and one.attempt for one in state.tasks.values())
        )

        write, look_task = (one for one in running.state.tasks.values() if one.call_key is not None)
        assert (write.title, write.status, write.ready) == ("write: do write", "waiting", False)
        assert task_item(running.state, write, Activities(running.state, {}, 0))["waits_for"] == [look_task.id]
        go.set()
        assert (await running.ended(run))[0].status == "done"


LOOKS: list[str] = []
LOOKING: list[anyio.Event] = []


async def look_once(text: str) -> str:
    """Note what was asked; the first time that something is to be written, hang."""
    LOOKS.append(text.split("\n")[0])
    if text.startswith("do write") and LOOKING:
        LOOKING.pop().set()
        await anyio.sleep_forever()
    return f"did {text.split(chr(10))[0]}"


async def test_a_plan_that_was_cut_off_goes_on_and_does_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    LOOKS.clear()
    reached = anyio.Event()
    LOOKING[:] = [reached]
    plan = planned(("end", "bob", ["write"]), ("write", "bob", ["look"]), ("look", "ada", []))
    members = [AgentSpec(name=name, run=f"{__name__}:look_once") for name in ("ada", "bob")]
    async with running(path=path) as engine:
        await engine.hire(CHIEF, *members, **led({"calls": [plan]}, {"text": "{text}"}))
        run = await engine.submit()
        await reached.wait()

    async with running(path=path) as engine:
        output = (await engine.ended(run))[1]
        calls = await engine.journal("delegated")

    assert json.loads(str(output)) == {"end": "did do end", "write": "did do write", "look": "did do look"}
    assert LOOKS == ["do look", "do write", "do write", "do end"], "what was at work is done again, nothing else"
    assert len(calls) == 1


async def test_what_comes_after_a_task_that_failed_is_not_begun(engine: Engines) -> None:
    async def fail(text: str) -> str:
        raise OSError("no ink")

    broken = AgentSpec(name="broken", run=fail)
    plan = planned(("a", "broken", []), ("b", "ada", ["a"]), ("c", "ada", []))
    async with engine(CHIEF, worker("ada"), broken, **led({"calls": [plan]}, {"text": "{text}"})) as running:
        assert json.loads(str(await running.ask())) == {
            "a": {"error": "broken failed: no ink"},
            "b": {"error": "not begun: a failed"},
            "c": {"result": "ada: do c"},
        }


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (planned(("a", "ada", ["b"]), ("b", "ada", ["a"])), "the tasks a, b wait for each other"),
        (
            planned(("c", "ada", ["b"]), ("b", "ada", ["a"]), ("a", "ada", ["b"])),
            "the tasks b, a wait for each other",
        ),
        (planned(("a", "ada", ["c"])), "a comes after 'c', which is not a task of the plan"),
        (planned(("a", "ada", []), ("a", "ada", [])), "two tasks have the id 'a'"),
        (planned(("a", "nobody", [])), "a: there is no worker 'nobody'"),
        (call("create_plan", tasks=[]), "tasks must be a list of 1 to 200 tasks"),
        (call("create_plan", tasks=["look"]), "each task must be an object with id, worker, instructions and after"),
    ],
)
async def test_a_plan_that_cannot_be_is_a_result_and_nothing_is_begun(engine: Engines, plan: Any, says: str) -> None:
    async with engine(CHIEF, worker("ada"), **led({"calls": [plan]}, {"text": "{text}"})) as running:
        assert json.loads(str(await running.ask()))["error"] == says
        assert await delegated(running) == []


async def test_a_plan_that_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    members = [AgentSpec(name=name, model="worker") for name in ("ada", "bob")]
    plan = planned(("look", "ada", []), ("write", "bob", ["look"]))
    options = SupervisorOptions(
        models={
            "fake": ModelSpec(replies=({"calls": [plan]}, {"text": "{text}"})),
            "worker": ModelSpec(replies=({"text": "I {text}"},)),
        },
        lead="chief",
    )
    async with running(path=tmp_path / "team.db") as engine:
        await engine.hire(CHIEF, *members, mode="delegate", options=options)
        run = await engine.submit()
        await engine.until(lambda state: any(agent.done for agent in state.agents.values()))

    async with running(path=tmp_path / "team.db") as engine:
        assert json.loads(str((await engine.ended(run))[1])) == {
            "look": "I do look",
            "write": "I do write\n\n## ada\n\nI do look",
        }
        assert len(await delegated(engine)) == 2


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (crew(options={}), "agent 'crew': options.team: Field required"),
        (
            crew(options={"team": ["ada"], "mode": "round"}),
            "agent 'crew': options.mode: Input should be 'sequential' or",
        ),
        (talk(options={"speakers": ["ada"]}), "agent 'talk': options.speakers: List should have at least 2 items"),
    ],
)
async def test_a_team_that_is_not_described_is_refused_in_one_line(engine: Engines, spec: AgentSpec, says: str) -> None:
    async with engine(spec) as running:
        await running.submit()
        await running.until(lambda state: state.agents["a1"].error is not None)

        assert says in (running.state.agents["a1"].error or "")
