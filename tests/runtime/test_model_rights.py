"""What a model may do besides: ask a person, list workers, and add agents that can do no more than itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine import AgentSpec
from engine.core.commands import Answer, SwapAgent
from engine.core.records.records import copy_with
from engine.core.specs.limits import Limits
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.runtimes.functions.tools import idempotent
from tests.runtime.engines import Engine, Engines, running
from tests.runtime.test_tool_servers import program

pytestmark = pytest.mark.anyio


@idempotent
def search(words: str) -> str:
    """Look something up."""
    return f"found {words}"


@idempotent
def publish(text: str) -> str:
    """Put a text out."""
    return "published"


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def team(*replies: Any, **models: list[Any]) -> dict[str, Any]:
    spoken = {name: ModelSpec(replies=tuple(said)) for name, said in {"fake": [*replies], **models}.items()}
    return {"mode": "delegate", "options": SupervisorOptions(models=spoken, lead="chief")}


def chief(**spec: Any) -> AgentSpec:
    return AgentSpec(name="chief", **{"agent_type": "ReactAgent", "model": ["fake", "other"], **spec})


async def recorded(engine: Engine, kind: str) -> list[dict[str, Any]]:
    return [json.loads(record.body) for record in await engine.journal(kind)]


async def test_a_model_makes_an_agent_and_gives_it_work_in_the_next_turn(engine: Engines) -> None:
    made = call(
        "create_agent", name="solver", instructions="You solve equations.", tools=["search"], model="other",
        specialties=["math"],
    )  # fmt: skip
    replies = [
        {"calls": [made]},
        {"calls": [call("delegate", worker="solver", instructions="x² = 2")]},
        {"text": "{text}"},
    ]
    lead = chief(may=["create_agent"], tools=[search, publish], limits=Limits(tokens=9_000))
    other = [{"calls": [call("search", words="roots")]}, {"text": "{text}"}]

    async with engine(lead, **team(*replies, other=other)) as running:
        assert await running.ask() == "found roots"

        solver = next(agent for agent in running.state.agents.values() if agent.name == "solver")
        spec = running.state.spec_of(solver)
        assert (spec.agent_type, spec.model, spec.instructions) == ("llm", "other", "You solve equations.")
        assert len(spec.tools) == 1
        assert spec.limits == Limits(tokens=9_000)
        (applied,) = [one for one in await recorded(running, "command_applied") if one["command"] == "create_agent"]
        assert (applied["sender"], applied["role"]) == ("agent chief (@a1)", "agent")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"tools": ["shell"]}, "tools: 'shell' is not yours to give"),
        ({"model": "gpt-9"}, "model: 'gpt-9' is not yours to give"),
        ({"may": ["ask_human"]}, "may: 'ask_human' is not yours to give"),
        ({"mcp": ["web"]}, "mcp: 'web' is not yours to give"),
        ({"tokens": 10_000}, "tokens: 10,000 are more than the 9,000 of chief"),
        ({"name": "no name!"}, "agent"),
        ({"name": "chief"}, "chief"),
        ({"instructions": ""}, "instructions must be a text"),
    ],
)
async def test_what_its_creator_has_no_right_to_an_agent_is_not_given(
    engine: Engines, asked: dict[str, Any], says: str
) -> None:
    made = call("create_agent", **{"name": "solver", "instructions": "Solve.", **asked})
    lead = chief(may=["create_agent"], tools=[search], limits=Limits(tokens=9_000))

    async with engine(lead, **team({"calls": [made]}, {"text": "{text}"})) as running:
        error = json.loads(str(await running.ask()))["error"]

        assert says in error
        assert len(running.state.agents) == 1


async def test_an_eleventh_agent_of_a_run_is_refused(engine: Engines) -> None:
    calls = [call("create_agent", name=f"solver{number}", instructions="Solve.") for number in range(11)]

    async with engine(chief(may=["create_agent"]), **team({"calls": calls}, {"text": "{text}"})) as running:
        results = [json.loads(line) for line in str(await running.ask()).split("\n")]

        assert results[:10] == [{"created": f"solver{number}"} for number in range(10)]
        assert results[10] == {"error": "this request has made 10 agents, which is the most that it may"}


async def test_attempts_at_once_make_no_more_agents_than_a_run_may(engine: Engines) -> None:
    made = [[call("create_agent", name=f"m{n}x{i}", instructions="Do.") for i in range(6)] for n in range(3)]
    helper = [{"match": f"go{n}", "calls": made[n]} for n in range(3)]
    handed = [call("delegate", worker="helper", instructions=f"go{n}") for n in range(3)]
    settings = team({"calls": handed}, {"text": "{text}"}, other=[*helper, {"text": "{text}"}])
    worker = AgentSpec(name="helper", agent_type="ReactAgent", model="other", may=["create_agent"], max_concurrency=3)

    async with engine(chief(model="fake"), worker, **settings) as running:
        await running.ask()

        assert len(running.state.agents) == 2 + 10


@pytest.mark.parametrize("name", ["r1", "t30", "A2", "e1", "s1", "END", "else"])
async def test_a_model_names_no_agent_like_an_id_or_a_word_of_conditions(engine: Engines, name: str) -> None:
    replies = [{"calls": [call("create_agent", name=name, instructions="Do.")]}, {"text": "{text}"}]

    async with engine(chief(may=["create_agent"]), **team(*replies)) as running:
        assert f"cannot be named {name!r}" in json.loads(str(await running.ask()))["error"]
        assert len(running.state.agents) == 1


@pytest.mark.parametrize(("tools", "rules"), [(["search"], {"search": "always"}), ([], {}), (
    ["search", "publish"], {"search": "always", "publish": {"contains": "x"}}
)])  # fmt: skip
async def test_an_agent_that_is_made_has_the_rules_of_its_creator_for_its_own_tools(
    engine: Engines, tools: list[str], rules: dict[str, Any]
) -> None:
    made = call("create_agent", name="solver", instructions="Solve.", tools=tools, model="other")
    lead = chief(
        may=["create_agent"], tools=[search, publish], approve={"search": "always", "publish": {"contains": "x"}}
    )
    replies = [
        {"calls": [made]}, {"calls": [call("delegate", worker="solver", instructions="x")]}, {"text": "{text}"}
    ]  # fmt: skip

    async with engine(lead, **team(*replies, other=[{"text": "solved"}])) as running:
        assert await running.ask() == "solved"

        solver = next(agent for agent in running.state.agents.values() if agent.name == "solver")
        assert running.state.spec_of(solver).approve == rules


async def test_an_agent_that_is_made_has_the_rules_of_its_creator_for_its_servers_and_their_tools(
    engine: Engines, tmp_path: Path
) -> None:
    rules: dict[str, Any] = {"files/add": "always", "more/echo": {"contains": "x"}, "search": "always"}
    made = [
        call("create_agent", name=f"solver{place}", instructions="Solve.", mcp=servers)
        for place, servers in enumerate([["files"], ["more/echo"], ["files", "more/echo"], []])
    ]
    lead = chief(may=["create_agent"], tools=[search], mcp=["files", "more/echo"], approve=rules)
    settings = team({"calls": made}, {"text": "{text}"})
    servers = {name: program(tmp_path / name) for name in ("files", "more")}
    settings["options"] = copy_with(settings["options"], mcp=servers)

    async with engine(lead, **settings) as running:
        await running.ask()

        specs = [running.state.spec_of(agent) for agent in running.state.agents.values()][1:]
        assert [[*spec.approve.items()] for spec in specs] == [
            [("files/add", "always")], [("more/echo", {"contains": "x"})], [*rules.items()][:2], [],
        ]  # fmt: skip


async def test_after_a_crash_an_agent_is_not_made_again(tmp_path: Path) -> None:
    replies = [{"calls": [call("create_agent", name="solver", instructions="Solve.")]}, {"text": "{text}"}]
    async with running(path=tmp_path / "team.db") as engine:
        await engine.hire(chief(may=["create_agent"]), **team(*replies))
        run = await engine.submit()
        await engine.until(lambda state: len(state.agents) == 2)

    async with running(path=tmp_path / "team.db") as engine:
        assert (await engine.ended(run))[1] == '{"created": "solver"}'
        assert len(engine.state.agents) == 2


async def test_a_right_that_is_not_given_is_no_tool(engine: Engines) -> None:
    async with engine(chief(), **team({"calls": [call("list_workers")]}, {"text": "{text}"})) as running:
        assert json.loads(str(await running.ask()))["error"] == "there is no tool 'list_workers'"


async def test_a_model_lists_who_can_work(engine: Engines) -> None:
    scout = AgentSpec(name="scout", run="json:dumps", description="Finds facts", specialties=["facts"])

    async with engine(
        chief(may=["list_workers"]), scout, **team({"calls": [call("list_workers")]}, {"text": "{text}"})
    ) as running:
        said = json.loads(str(await running.ask()))

        assert said == [{"name": "scout", "description": "Finds facts", "specialties": ["facts"]}]


async def test_a_model_asks_a_person_and_waits_without_a_slot(engine: Engines) -> None:
    replies = [{"calls": [call("ask_human", question="Which?", options=["red", "blue"])]}, {"text": "They said {text}"}]

    async with engine(chief(may=["ask_human"]), **team(*replies)) as running:
        run = await running.submit()
        await running.until(lambda state: bool(state.escalations) and not state.agents["a1"].running)
        (question,) = running.state.escalations.values()
        assert (question.question, question.options) == ("Which?", ["red", "blue"])
        await running.host.order(Answer(escalation=question.id, answer="blue"))

        assert (await running.ended(run))[1] == "They said blue"


async def test_a_model_goes_on_with_its_default_where_nobody_answers_in_time(engine: Engines) -> None:
    asks = call("ask_human", question="Which?", options=["red", "blue"], default="red", due_s=0.01)

    async with engine(chief(may=["ask_human"]), **team({"calls": [asks]}, {"text": "It is {text}"})) as running:
        assert await running.ask() == "It is red"


async def test_a_default_without_its_time_is_a_result(engine: Engines) -> None:
    wrong = [call("ask_human", question="Which?", **more) for more in ({"default": "red"}, {"default": 1, "due_s": 2})]

    async with engine(chief(may=["ask_human"]), **team({"calls": wrong}, {"text": "{text}"})) as running:
        said = str(await running.ask())
        assert "give default and due_s together" in said
        assert "default must be a text, and due_s a number of seconds" in said


async def test_a_question_that_cannot_be_asked_is_a_result(engine: Engines) -> None:
    async with engine(
        chief(may=["ask_human"]), **team({"calls": [call("ask_human", question=" ")]}, {"text": "{text}"})
    ) as running:
        assert json.loads(str(await running.ask())) == {"error": "question must be a text"}


async def test_who_may_not_ask_any_more_still_gets_the_answer_to_what_was_asked(engine: Engines) -> None:
    replies = [{"calls": [call("ask_human", question="Which?")]}, {"text": "They said {text}"}]

    async with engine(chief(may=["ask_human"]), **team(*replies)) as running:
        run = await running.submit()
        await running.until(lambda state: bool(state.escalations))
        await running.host.order(SwapAgent(agent="chief", spec=chief(), mode="migrate"))
        await running.until(
            lambda state: any(task.attempt and task.attempt.generation == 2 for task in state.tasks.values())
        )
        (question,) = running.state.escalations.values()
        await running.host.order(Answer(escalation=question.id, answer="reply", output="blue"))

        assert (await running.ended(run))[1] == "They said blue"
        assert len(await recorded(running, "escalated")) == 1
