"""A lead manages its members: it finds, adds, swaps, pauses, resumes and removes them, within its rights."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest

from engine import AgentManagementTools, AgentSpec
from engine.core.commands import AddSupervisor, Answer, Pause, RegisterSpec, SupervisorSpec
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import May
from engine.core.state import Escalation
from engine.errors import CommandRefusedError
from engine.platform.clock import VirtualClock
from engine.runtimes.functions.tools import idempotent
from store import Record, Row
from store.layout.opening import open_store
from tests.runtime.engines import Engine, Engines, running
from tests.runtime.test_catalogue_entries import add_pack

pytestmark = pytest.mark.anyio
ALL = [*AgentManagementTools]
MODEST = AgentSpec(name="coder", agent_type="ReactAgent", model="fake", description="Writes code", specialties=["code"])
MIGHTY = AgentSpec(name="shell", run="os:system", specialties=["shell"])


@idempotent
def search(words: str) -> str:
    """Look something up."""
    return f"found {words}"


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def chief(**spec: Any) -> AgentSpec:
    return AgentSpec(name="chief", **{"agent_type": "ReactAgent", "model": "fake", "may": ALL, **spec})


def scout(**spec: Any) -> AgentSpec:
    return AgentSpec(name="scout", **{"agent_type": "ReactAgent", "model": "fake", "specialties": ["facts"], **spec})


def team(*calls: dict[str, Any], last: str = "{text}") -> dict[str, Any]:
    """A team whose lead makes one call a turn."""
    spoken = ModelSpec(replies=(*({"calls": [each]} for each in calls), {"text": last}))
    models = {"fake": spoken, "big": spoken}
    return {"mode": "delegate", "options": SupervisorOptions(models=models, lead="chief")}


@pytest.fixture(autouse=True)
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue of this test's own."""
    path = tmp_path / "catalogue.db"
    monkeypatch.setenv("QUARTERDECK_CATALOGUE", str(path))
    return path


def damage(path: Path) -> None:
    path.write_bytes(b"no database" * 1_000)
    path.chmod(0o600)


async def answered(engine: Engine, answer: str) -> Escalation:
    """Answer the open question and return it."""
    await engine.until(lambda state: bool(state.escalations))
    (question,) = engine.state.escalations.values()
    await engine.host.order(Answer(escalation=question.id, answer=answer))
    return question


async def results(engine: Engine) -> list[Any]:
    """Return the results of all calls, in their order."""
    steps = [json.loads(record.body) for record in await engine.journal("step_recorded")]
    return [step["output"] for step in steps if step["what"] == "tool"]


async def test_a_lead_finds_adds_swaps_pauses_and_removes_a_member_in_one_run(engine: Engines) -> None:
    calls = [
        call("find_agents", words="write code about facts"),
        call("add_agent", agent="coder", name="coder2"),
        call("pause_agent", agent="coder2"),
        call("resume_agent", agent="coder2"),
        call("swap_agent", agent="coder2", to="scout"),
        call("remove_agent", agent="coder2"),
    ]
    async with engine(chief(), scout(), **team(*calls, last="done")) as running:
        await running.host.order(RegisterSpec(spec=MODEST))
        run = await running.submit()
        asked = [await answered(running, "allow_once") for _ in range(3)]

        assert (await running.ended(run))[1] == "done"
        found, *changes = await results(running)
        changes = [each for each in changes if isinstance(each, dict)]
        assert [(one["agent"], one["source"], one["matched"]) for one in found] == [
            ("coder", "registry", ["write", "code"]), ("scout", "team", ["facts"])
        ]  # fmt: skip
        assert changes == [{done: "coder2"} for done in ("added", "paused", "resumed", "swapped", "removed")]
        assert [question.detail["tool"] for question in asked] == ["add_agent", "swap_agent", "remove_agent"]
        assert asked[0].detail["arguments"]["spec"]["description"] == "Writes code"  # type: ignore[index, call-overload]
        assert {agent.name for agent in running.state.agents.values()} == {"chief", "scout"}
        applied = [json.loads(record.body) for record in await running.journal("command_applied")]
        by_agent = [one["command"] for one in applied if one["role"] == "agent"]
        assert by_agent == ["add_agent", "pause", "resume", "swap_agent", "remove_member"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (call("remove_agent", agent="chief"), "chief is yourself"),
        (call("pause_agent", agent="@a1"), "@a1 is yourself"),
        (call("swap_agent", agent="other/spy", model="fake"), "other/spy is no member of your team"),
        (call("pause_agent", agent="spy"), "spy is no member of your team"),
        (call("remove_agent", agent="/other"), "/other"),
        (call("remove_agent", agent="root:all; please"), "root:all; please"),
        (call("add_agent", agent="nobody"), "nobody"),
        (call("swap_agent", agent="scout"), "either `to` or `model`"),
        (call("resume_agent", agent="scout"), "scout is not paused"),
        (call("pause_agent", agent=["scout"]), "agent must be a text"),
        (call("remove_agent", agent="x" * 1_000_000), "no agent 'xxx"),
        (call("add_agent", agent="x" * 1_000_000), "no spec 'xxx"),
        (call("swap_agent", agent="scout", to="x" * 1_000_000), "no spec 'xxx"),
        (call("find_agents", words=7), "words must be a text"),
    ],
)
async def test_a_call_that_may_not_be_is_one_line_and_changes_nothing(
    engine: Engines, asked: dict[str, Any], says: str
) -> None:
    async with engine(chief(approve=dict.fromkeys(ALL, "never")), scout(), **team(asked)) as running:
        spy = AgentSpec(name="spy", run="json:dumps")
        await running.host.order(AddSupervisor(parent=None, team=SupervisorSpec(name="other", members=[spy])))
        before = {agent.name: (agent.spec, agent.status) for agent in running.state.agents.values()}
        error = json.loads(str(await running.ask(supervisor="team")))["error"]

        assert says in error
        assert "\n" not in error
        assert len(error) < 500
        assert {agent.name: (agent.spec, agent.status) for agent in running.state.agents.values()} == before


async def test_a_lead_resumes_a_member_that_a_person_has_paused_only_if_a_person_allows_it(engine: Engines) -> None:
    lead = chief(approve=dict.fromkeys(ALL, "never"))
    async with engine(lead, scout(), **team(call("resume_agent", agent="scout"))) as running:
        await running.host.order(Pause(target="scout"))
        run = await running.submit()
        question = await answered(running, "reject_once")

        assert question.options == ["allow_once", "reject_once"]
        assert "a person rejected" in str((await running.ended(run))[1])
        assert next(agent for agent in running.state.agents.values() if agent.name == "scout").paused


async def test_members_of_teams_below_are_managed_too(engine: Engines) -> None:
    async with engine(chief(), **team(call("pause_agent", agent="deep"))) as running:
        below = SupervisorSpec(name="sub", members=[AgentSpec(name="deep", run="json:dumps")])
        await running.host.order(AddSupervisor(parent="team", team=below))

        assert await running.ask() == '{"paused": "deep"}'
        assert next(agent for agent in running.state.agents.values() if agent.name == "deep").paused


@pytest.mark.parametrize(
    ("may_do", "beyond"),
    [
        (MIGHTY, "code of its own: os:system"),
        (AgentSpec(name="shell", agent_type="process", options={"argv": ["sh"]}), "code of its own: process"),
        (AgentSpec(name="shell", agent_type="llm", model="fake", tools=["os:system"]), "the tool os:system"),
        (AgentSpec(name="shell", agent_type="llm", model="fake", may=["ask_human"]), "the right ask_human"),
        (AgentSpec(name="shell", agent_type="llm", model="fake", mcp=["web"]), "the server web"),
        (AgentSpec(name="shell", agent_type="llm", model="big"), "the model big"),
    ],
)
@pytest.mark.parametrize("asked", [call("add_agent", agent="shell"), call("swap_agent", agent="scout", to="shell")])
async def test_what_can_do_more_than_the_lead_is_always_asked_and_never_for_good(
    engine: Engines, asked: dict[str, Any], may_do: AgentSpec, beyond: str
) -> None:
    lead = chief(approve=dict.fromkeys(ALL, "never"))
    async with engine(lead, scout(), **team(asked)) as running:
        await running.host.order(RegisterSpec(spec=may_do))
        run = await running.submit()
        await running.until(lambda state: bool(state.escalations))
        (question,) = running.state.escalations.values()
        with pytest.raises(CommandRefusedError):
            await running.host.order(Answer(escalation=question.id, answer="allow_always"))
        await running.host.order(Answer(escalation=question.id, answer="reject_once"))

        assert beyond in question.detail["arguments"]["beyond"]  # type: ignore[index, call-overload, operator]
        assert question.options == ["allow_once", "reject_once"]
        assert "a person rejected" in str((await running.ended(run))[1])
        assert [running.state.spec_of(agent).name for agent in running.state.agents.values()] == ["chief", "scout"]


async def test_an_answer_for_good_covers_like_additions_and_no_mightier_one(engine: Engines) -> None:
    calls = [
        call("add_agent", agent=name, name=f"more{place}") for place, name in enumerate(["coder", "coder", "shell"])
    ]
    async with engine(chief(), scout(), **team(*calls)) as running:
        for spec in (MODEST, MIGHTY):
            await running.host.order(RegisterSpec(spec=spec))
        run = await running.submit()
        first = await answered(running, "allow_always")
        await running.until(lambda state: any(one.id != first.id for one in state.escalations.values()))
        second = await answered(running, "reject_once")
        await running.ended(run)

        assert "shell" in second.question
        assert [agent.name for agent in running.state.agents.values()] == ["chief", "scout", "more0", "more1"]


async def test_a_lead_that_need_not_ask_adds_no_more_than_a_run_may(engine: Engines) -> None:
    calls = [call("add_agent", agent="coder", name=f"coder{number}") for number in range(11)]
    async with engine(chief(approve={"add_agent": "never"}), **team(*calls)) as running:
        await running.host.order(RegisterSpec(spec=MODEST))

        assert "which is the most that it may" in str(await running.ask())
        assert len(running.state.agents) == 11


async def test_what_changes_while_a_person_is_asked_is_not_what_was_allowed(engine: Engines) -> None:
    async with engine(chief(), **team(call("add_agent", agent="coder"))) as running:
        await running.host.order(RegisterSpec(spec=MODEST))
        run = await running.submit()
        await running.until(lambda state: bool(state.escalations))
        await running.host.order(RegisterSpec(spec=AgentSpec(name="coder", run="os:system")))
        await answered(running, "allow_once")

        assert "has changed while a person was asked" in str((await running.ended(run))[1])
        assert len(running.state.agents) == 1


async def test_an_entry_of_the_catalogue_is_found_and_added_where_it_needs_nothing_new(
    engine: Engines, catalogue: Path
) -> None:
    (entry,) = add_pack(catalogue, MODEST)
    calls = [call("find_agents", words="write code"), call("add_agent", agent=entry)]
    async with engine(chief(approve={"add_agent": "never"}), scout(), **team(*calls, last="done")) as running:
        assert await running.ask() == "done"

        found, added = await results(running)
        assert [(one["agent"], one["name"], one["source"]) for one in found] == [(entry, "coder", "catalogue")]
        assert added == {"added": entry}
        (coder,) = [agent for agent in running.state.agents.values() if agent.name == "coder"]
        assert coder.origin is not None
        assert (coder.origin.kind, coder.origin.id) == ("catalogue", entry)


async def test_code_of_an_entry_that_a_person_allows_is_still_not_trusted(engine: Engines, catalogue: Path) -> None:
    (entry,) = add_pack(catalogue, MIGHTY)
    async with engine(chief(approve={"add_agent": "never"}), **team(call("add_agent", agent=entry))) as running:
        run = await running.submit()
        question = await answered(running, "allow_once")

        assert "code of its own: os:system" in question.detail["arguments"]["beyond"]  # type: ignore[index, call-overload, operator]
        assert "--trust" in json.loads(str((await running.ended(run))[1]))["error"]
        assert len(running.state.agents) == 1


async def test_an_entry_that_is_not_approved_is_neither_found_nor_added(engine: Engines, catalogue: Path) -> None:
    (entry,) = add_pack(catalogue, MODEST, approve=False)
    calls = [call("find_agents", words="code"), call("add_agent", agent=entry)]
    async with engine(chief(approve={"add_agent": "never"}), **team(*calls)) as running:
        assert "is not approved" in str(await running.ask())
        assert (await results(running))[0] == []


async def test_a_catalogue_that_is_damaged_is_said_beside_what_the_team_has(engine: Engines, catalogue: Path) -> None:
    damage(catalogue)
    async with engine(chief(), scout(), **team(call("find_agents", words="facts"))) as running:
        member, fault = json.loads(str(await running.ask()))

        assert (member["agent"], fault["source"]) == ("scout", "catalogue")
        assert "\n" not in fault["error"]


async def test_a_rule_for_a_tool_that_it_does_not_have_is_refused(engine: Engines) -> None:
    async with engine(chief(may=["find_agents"], approve={"add_agent": "never"}), **team()) as running:
        (agent,) = running.state.agents.values()
        await running.until(lambda state: agent.error is not None)

        assert "no tool 'add_agent'" in str(agent.error)


def test_every_management_tool_is_a_right() -> None:
    assert set(AgentManagementTools) < set(get_args(May))


HIRING = SupervisorSpec(
    name="team",
    members=[chief(), scout()],
    **team(call("add_agent", agent="coder"), call("remove_agent", agent="scout"), last="done"),
)


async def hired(engine: Engine, run: str) -> None:
    """Allow whatever is asked until the run has ended."""
    with anyio.fail_after(20):
        while run in engine.state.runs:
            await engine.until(lambda state: bool(state.escalations) or run not in state.runs)
            for question in [*engine.state.escalations]:
                await engine.host.order(Answer(escalation=question, answer="allow_once"))


async def test_from_every_place_of_a_crash_each_change_is_made_once(tmp_path: Path) -> None:
    ends: list[int] = []
    async with running(path=tmp_path / "whole.db", clock=VirtualClock(), host={"batch_ms": float("inf")}) as engine:
        append = engine.store.journal.append

        async def noted(first_seq: int, rows: Sequence[Row]) -> None:
            await append(first_seq, rows)
            ends.append(first_seq + len(rows) - 1)

        engine.store.journal.append = noted  # type: ignore[method-assign]  # it appends all the same
        await engine.host.order(AddSupervisor(parent=None, team=HIRING))
        await engine.host.order(RegisterSpec(spec=MODEST))
        ends.clear()
        await hired(engine, await engine.submit())
        journal = await engine.journal()

    for end in ends:
        path = tmp_path / f"{end}.db"
        await held_by_disk(path, journal[:end])
        async with running(path=path, clock=VirtualClock()) as engine:
            await hired(engine, "r1")

            assert [agent.name for agent in engine.state.agents.values()] == ["chief", "coder"], end
            assert engine.state.finished[-1].status == "done", end
            kinds = [record.kind for record in await engine.journal()]
            assert (kinds.count("agent_added"), kinds.count("escalated")) == (3, 2), end
    assert len(ends) > 8


async def held_by_disk(path: Path, records: list[Record]) -> None:
    rows = [Row(one.at_ms, one.kind, one.body, one.run_id, one.task_id, one.agent_id) for one in records]
    async with open_store(path, durability="normal") as store:
        await store.journal.append(1, rows)
