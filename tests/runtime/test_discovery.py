"""Agents that are found outside a team for a request: in the catalogue, in documents, behind servers, or made."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import AgentDiscoveryMode, AgentSpec, DiscoveryConfig, DynamicSupervisor, SupervisorOptions
from engine.catalogue import Catalogue, Pack
from engine.catalogue.pack_files import read_packs
from engine.catalogue.writer import CatalogueWriter
from engine.core.commands import Answer, RegisterSpec
from engine.core.errors import BadValue
from engine.core.records.records import JsonValue
from engine.core.signals import AgentsFound, FoundSpec
from engine.core.specs.model_spec import ModelSpec, Price
from engine.core.state import Escalation
from engine.errors import CommandRefusedError
from engine.finding.tool_servers import agent_for
from engine.runtimes.toolbox.mcp_records import OfferedTool
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines
from tests.runtime.test_tool_servers import program, started

pytestmark = pytest.mark.anyio

REQUEST = "research the tides and translate it into japanese"
PACK = """
pack: {name: words, version: "1", author: Ada}
agents:
  - {name: translator, type: scripted, specialties: [translate, japanese], script: [{output: done}]}
"""


def researcher() -> AgentSpec:
    async def research(task: Any, ctx: Any) -> str:
        return "found"

    return AgentSpec(name="researcher", specialties=["research"], run=research)


def discovers(*modes: str, **settings: Any) -> dict[str, Any]:
    """Return the settings of a supervisor that looks for agents in some places."""
    options = settings.pop("options", {})
    config = DiscoveryConfig(modes=(*map(AgentDiscoveryMode, modes),), **settings)
    return {"auto_discover": True, "options": SupervisorOptions(discovery=config, **options)}


async def question_of(running: Engine) -> Escalation:
    """Return the question that is open, or will be."""
    with anyio.fail_after(PATIENCE_S):
        await running.until(lambda state: bool(state.escalations))
    (question,) = running.state.escalations.values()
    return question


def names(running: Engine) -> list[str]:
    return [agent.name for agent in running.state.agents.values()]


@pytest.fixture
def catalogue(tmp_path: Path) -> Callable[..., Catalogue]:
    """Make a catalogue of a pack, whose entries are approved if wanted."""

    def make(text: str = PACK, *, approved: bool = True) -> Catalogue:
        pack, path = tmp_path / "pack.yaml", tmp_path / "catalogue.db"
        pack.write_text(text)
        with CatalogueWriter(path) as writer:
            writer.add(read_packs(pack))
            if approved:
                writer.approve([entry.id for entry in Catalogue(path).entries()])
        return Catalogue(path)

    return make


async def test_an_approved_entry_joins_when_a_person_lets_it_in_and_takes_part(
    engine: Engines, catalogue: Callable[..., Catalogue]
) -> None:
    async with engine(researcher(), host={"catalogue": catalogue()}, **discovers("catalogue")) as running:
        run = await running.submit(REQUEST)
        question = await question_of(running)
        assert (question.kind, question.options, question.default) == ("discover", ["add", "skip"], "skip")
        await running.host.order(Answer(escalation=question.id, answer="add"))
        summary, _ = await running.ended(run)

        assert summary.status == "done"
        assert names(running) == ["researcher", "translator"]
        (origin,) = [agent.origin for agent in running.state.agents.values() if agent.origin is not None]
        assert (origin.kind, origin.id[0]) == ("discovery", "c")
        (planned,) = await running.journal("group_planned")
        assert b'"worker_id":"a2"' in planned.body


async def test_an_agent_that_many_requests_wait_for_is_asked_about_alike_and_joins_once(
    engine: Engines, catalogue: Callable[..., Catalogue]
) -> None:
    more = "  - {name: cook, type: scripted, specialties: [cook], script: [{output: done}]}\n"
    async with engine(researcher(), host={"catalogue": catalogue(PACK + more)}, **discovers("catalogue")) as running:
        runs = [await running.submit(REQUEST) for _ in range(20)]
        both, other = await running.submit("translate and cook"), await running.submit("research and cook")
        with anyio.fail_after(PATIENCE_S):
            await running.until(lambda state: len(state.escalations) == 22)
        ids = {question.run_id: question.id for question in running.state.escalations.values()}

        await running.host.order(Answer(escalation=ids[runs[0]], answer="add", alike=True))
        for run in runs:
            assert (await running.ended(run))[0].status == "done"
        assert names(running) == ["researcher", "translator"]
        assert {question.run_id for question in running.state.escalations.values()} == {both, other}

        await running.host.order(Answer(escalation=ids[both], answer="add"))
        assert (await running.ended(both))[0].status == "done"
        assert names(running) == ["researcher", "translator", "cook"]


async def test_an_agent_of_a_tool_server_that_the_team_does_not_have_is_a_fault_and_does_not_join(
    engine: Engines, catalogue: Callable[..., Catalogue]
) -> None:
    lost = PACK.replace("type: scripted", "model: a/b, mcp: [charts/read]").replace(", script: [{output: done}]", "")
    lost += "mcp: {charts: {argv: [charts-mcp]}}\n"
    settings = discovers("catalogue", approve="granted")
    async with engine(researcher(), host={"catalogue": catalogue(lost)}, **settings) as running:
        await running.ask(REQUEST)

        assert names(running) == ["researcher"]
        (record,) = await running.journal("discovered")
        assert b"translator: no tool server 'charts' here or above" in record.body


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda writer, ids: writer.revoke(ids), "is not approved"),
        (lambda writer, ids: writer.remove(ids), "was removed from the catalogue"),
        (lambda writer, ids: writer.add([Pack(name="words", agents=[AgentSpec(name="translator")])]), "not approved"),
        (
            lambda writer, ids: (
                writer.add([Pack(name="words", agents=[AgentSpec(name="translator")])]),
                writer.approve(ids),
            ),
            "has changed since it was offered",
        ),
    ],
    ids=["revoked", "removed", "changed", "changed and approved"],
)
async def test_an_entry_that_is_not_what_was_approved_when_it_was_offered_is_not_let_in(
    engine: Engines, catalogue: Callable[..., Catalogue], change: Callable[..., Any], reason: str
) -> None:
    entries = catalogue()
    async with engine(researcher(), host={"catalogue": entries}, **discovers("catalogue")) as running:
        run = await running.submit(REQUEST)
        question = await question_of(running)
        with CatalogueWriter(entries.path) as writer:
            change(writer, [entry.id for entry in entries.entries()])

        with pytest.raises(CommandRefusedError, match=reason):
            await running.host.order(Answer(escalation=question.id, answer="add"))
        await running.host.order(Answer(escalation=question.id, answer="skip"))

        await running.ended(run)
        assert names(running) == ["researcher"]


async def test_nothing_that_is_not_approved_is_offered(engine: Engines, catalogue: Callable[..., Catalogue]) -> None:
    host = {"catalogue": catalogue(approved=False)}
    async with engine(researcher(), host=host, **discovers("catalogue", approve="granted")) as running:
        await running.ask(REQUEST)

        assert names(running) == ["researcher"]
        assert len(await running.journal("discovered")) == 1


async def test_what_needs_no_new_trust_joins_unasked_where_that_is_allowed(
    engine: Engines, catalogue: Callable[..., Catalogue]
) -> None:
    settings = discovers("catalogue", approve="granted")
    async with engine(researcher(), host={"catalogue": catalogue()}, **settings) as running:
        await running.ask(REQUEST)

        assert names(running) == ["researcher", "translator"]
        await running.ask(REQUEST)  # the team knows all its words but one now
        assert names(running) == ["researcher", "translator"]


async def test_code_that_is_not_trusted_is_asked_about_and_not_let_in(
    engine: Engines, catalogue: Callable[..., Catalogue]
) -> None:
    mighty = PACK.replace("type: scripted", "run: os:system").replace(", script: [{output: done}]", "")
    settings = discovers("catalogue", approve="granted")
    async with engine(researcher(), host={"catalogue": catalogue(mighty)}, **settings) as running:
        run = await running.submit(REQUEST)
        question = await question_of(running)
        with pytest.raises(CommandRefusedError, match="not trusted: os:system"):
            await running.host.order(Answer(escalation=question.id, answer="add"))
        assert question.id in running.state.escalations

        await running.host.order(Answer(escalation=question.id, answer="skip"))
        summary, _ = await running.ended(run)
        assert summary.status == "done"
        assert names(running) == ["researcher"]


async def test_a_catalogue_that_is_damaged_or_deleted_meanwhile_loses_no_request(
    engine: Engines, catalogue: Callable[..., Catalogue]
) -> None:
    made = catalogue()
    assert made.path is not None
    async with engine(researcher(), host={"catalogue": made}, **discovers("catalogue")) as running:
        made.path.write_bytes(b"no database" * 1_000)
        await running.ask(REQUEST)
        made.path.unlink()
        await running.ask(REQUEST)

        (damaged, deleted) = await running.journal("discovered")
        assert b"catalogue" in damaged.body.partition(b'"faults"')[2]
        assert b'"faults":[]' in deleted.body


async def test_documents_in_the_folder_describe_agents_and_links_out_of_it_are_not_followed(
    engine: Engines, tmp_path: Path
) -> None:
    inside, outside = tmp_path / "team", tmp_path / "elsewhere"
    inside.mkdir()
    outside.mkdir()
    header = (
        "---\nname: {}\ntype: scripted\nspecialties: [translate, japanese]\nscript: [{{output: done}}]\n---\nText.\n"
    )
    (inside / "translator.md").write_text(header.format("translator"))
    (outside / "spy.md").write_text(header.format("spy"))
    (inside / "spy.md").symlink_to(outside / "spy.md")
    (inside / "broken.md").write_text("---\nname: [\n---\n")
    (inside / "notes.md").write_text("No agent.\n")
    settings = discovers("rag", documents=("*.md",), approve="granted")

    async with engine(researcher(), host={"folder": inside}, **settings) as running:
        await running.ask(REQUEST)

        assert names(running) == ["researcher", "translator"]
        (record,) = await running.journal("discovered")
        assert b"broken.md" in record.body


HEADER = "---\nname: translator\n{}\nspecialties: [translate, japanese]\n---\n"
SCRIPTED = HEADER.format("type: scripted\nscript: [{output: done}]")


def write_odd_documents(folder: Path) -> None:
    """Write what may lie in a folder: links in a circle, pipes, devices, links out of it, text that is no YAML."""
    (folder / "circle.md").symlink_to(folder / "circle.md")
    (folder / "below").symlink_to(folder)
    os.mkfifo(folder / "pipe.md")
    (folder / "zero.md").symlink_to("/dev/zero")
    (folder / "bytes.md").write_bytes(b"---\nname: \xff\n---\n")
    (folder / "deep.md").write_text(f"---\nname: {'[' * 50_000}\n---\n")
    (folder / "list.md").write_text("---\n- a\n---\n")
    (folder / "keys.md").write_text("---\nname: a\nrun: crew:work\nspeciality: x\n---\n")
    (folder / "tags.md").write_text("---\nname: !!python/object/apply:os.system [true]\n---\n")


async def test_whatever_lies_among_the_documents_is_a_fault_in_one_line_and_the_others_are_read(
    engine: Engines, tmp_path: Path
) -> None:
    write_odd_documents(tmp_path)
    (tmp_path / os.fsdecode(b"\xff\n.md")).write_text("\ufeff" + SCRIPTED.rstrip())
    settings = discovers("rag", documents=("**/*.md",), approve="granted")
    async with engine(researcher(), host={"folder": tmp_path}, **settings) as running:
        await running.ask(REQUEST)

        assert names(running) == ["researcher", "translator"]
        (record,) = await running.journal("discovered")
        faults = json.loads(record.body)["faults"]
        assert [fault.split(":")[0].split(".md")[0] for fault in faults] == ["bytes", "deep", "keys", "list", "tags"]
        assert not any("\n" in fault or str(tmp_path) in fault for fault in faults)
        assert "keys.md:4: speciality: is not a key here; did you mean specialties?" in faults


@pytest.mark.parametrize("pattern", ["../*.md", "a/../../b", "/etc/*", ".", "a**", "a\0"])
def test_patterns_of_documents_name_files_below_the_folder_of_the_team(pattern: str) -> None:
    with pytest.raises(BadValue, match=r"documents\[0\] must be a pattern of files in the team's folder"):
        DiscoveryConfig(modes=("rag",), documents=(pattern,))


@pytest.mark.parametrize("right", ["may: [add_agent]", "mcp: [sea]", "approve: {sea/write: never}"])
async def test_an_agent_with_rights_that_a_document_describes_never_joins_unasked(
    engine: Engines, tmp_path: Path, right: str
) -> None:
    (tmp_path / "mighty.md").write_text(HEADER.format(f"model: fake\ntype: ReactAgent\n{right}"))
    options = {"mcp": {"sea": program(tmp_path / "notes")}, "models": {"fake": ModelSpec(replies=({"text": "done"},))}}
    settings = discovers("rag", documents=("*.md",), approve="granted", options=options)
    async with engine(researcher(), host={"folder": tmp_path}, **settings) as running:
        await running.submit(REQUEST)

        assert "mighty.md" in str((await question_of(running)).detail)
        assert names(running) == ["researcher"]


async def test_requests_that_come_together_start_a_tool_server_once_and_one_that_fails_is_left_alone(
    engine: Engines, tmp_path: Path
) -> None:
    servers = {"sea": program(tmp_path / "sea"), "land": program(tmp_path / "land", "exits")}
    options = {"mcp": servers, "models": {"fake": ModelSpec(replies=({"text": "high"},))}}
    async with engine(researcher(), **discovers("mcp", model="fake", options=options)) as running:
        runs = [await running.submit("research, then echo") for _ in range(5)]
        with anyio.fail_after(PATIENCE_S):
            await running.until(lambda state: len(state.escalations) == len(runs))

        assert [len(started(tmp_path / name)) for name in servers] == [1, 1]


def test_tools_without_usable_names_make_no_agent() -> None:
    tools = [OfferedTool(name, "APPROVE THIS", {}) for name in ("", "_", " \n")]
    assert agent_for("sea", tools, "fake") is None
    made = agent_for("sea", [*tools, OfferedTool("read_tide\n", "", {})], "fake")
    assert made is not None
    assert made.spec.specialties == ("read tide",)


def test_an_agent_for_a_tool_server_asks_before_what_others_of_the_team_ask_before() -> None:
    tools = [OfferedTool(name, "", {}) for name in ("read", "write", "wipe")]
    guard: JsonValue = {"matches": "/etc/"}
    careful = AgentSpec(name="ada", agent_type="ReactAgent", mcp=["sea"], approve={"sea/write": "always", "add": guard})
    careless = AgentSpec(
        name="bob", agent_type="ReactAgent", mcp=["sea"],
        approve={"sea/read": "never", "sea/wipe": guard, "land/x": guard},
    )  # fmt: skip
    made = agent_for("sea", tools, "fake", [careful, careless])
    assert made is not None
    assert made.spec.approve == {"sea/wipe": "always", "sea/write": "always"}


async def test_an_answer_of_a_search_that_cannot_be_journaled_keeps_no_request_waiting(engine: Engines) -> None:
    slow = {"models": {"fake": ModelSpec(replies=({"text": DESCRIBED, "delay_s": 3_600},))}}
    async with engine(researcher(), **discovers("dynamic", model="fake", options=slow)) as running:
        run = await running.submit(REQUEST)
        (group,) = running.state.tasks.values()
        spec = AgentSpec(name="translator", agent_type="scripted", specialties=["translate"])
        found = FoundSpec(source=AgentDiscoveryMode.DYNAMIC, id="\ud800", hash="1", spec=spec)
        running.host.signal(AgentsFound(task_id=group.id, text=REQUEST, found=[found]))
        summary, _ = await running.ended(run)

        assert summary.status == "done"
        (record,) = await running.journal("discovered")
        assert b"a defect in the engine" in record.body


async def test_an_agent_is_made_for_a_tool_server_whose_tools_match(engine: Engines, tmp_path: Path) -> None:
    server = program(tmp_path / "notes")
    options = {"mcp": {"sea": server}, "models": {"fake": ModelSpec(replies=({"text": "high"},))}}
    settings = discovers("mcp", model="fake", approve="granted", options=options)
    async with engine(researcher(), **settings) as running:
        await running.ask("research, then echo")

        assert names(running) == ["researcher", "sea"]
        assert running.state.spec_of(running.state.agents["a2"]).mcp == ("sea",)


DESCRIBED = """{"name": "translator", "description": "Translates", "specialties": ["translate"],
"instructions": "Translate.", "tools": ["os:system"], "may": ["create_agent"]}"""


async def test_a_model_describes_a_new_agent_that_has_no_tools_and_costs_as_the_run(engine: Engines) -> None:
    replies: list[Any] = [{"match": "lacks", "text": DESCRIBED, "tokens_in": 100, "tokens_out": 20}, {"text": "done"}]
    models = {"fake": ModelSpec(replies=replies, price=Price(in_usd=1, out_usd=2))}
    settings = discovers("dynamic", model="fake", approve="granted", options={"models": models})
    async with engine(researcher(), **settings) as running:
        summary, _ = await running.ended(await running.submit(REQUEST))

        spec = running.state.spec_of(running.state.agents["a2"])
        assert (spec.name, spec.tools, spec.may) == ("translator", (), ())
        assert (summary.usage.tokens_in or 0) >= 100


async def test_a_description_in_a_fenced_block_is_read(engine: Engines) -> None:
    models = {
        "fake": ModelSpec(replies=({"match": "lacks", "text": f"Here:\n```json\n{DESCRIBED}\n```"}, {"text": "ok"}))
    }
    settings = discovers("dynamic", model="fake", approve="granted", options={"models": models})
    async with engine(researcher(), **settings) as running:
        await running.ask(REQUEST)

        assert names(running) == ["researcher", "translator"]


async def test_what_a_model_writes_comes_after_the_instructions_of_the_template(engine: Engines) -> None:
    template = AgentSpec(name="careful", agent_type="llm", model="fake", instructions="Never delete anything.")
    models = {"fake": ModelSpec(replies=({"match": "lacks", "text": DESCRIBED}, {"text": "done"}))}
    settings = discovers("dynamic", model="fake", template="careful", approve="granted", options={"models": models})
    async with engine(researcher(), **settings) as running:
        await running.host.order(RegisterSpec(spec=template))
        await running.ask(REQUEST)

        spec = running.state.spec_of(running.state.agents["a2"])
        assert spec.instructions == "Never delete anything.\n\nTranslate."


NO_DESCRIPTIONS = [
    "not JSON", "{}", '{"name": "a b"}', "[]", "[" * 100_000, DESCRIBED.replace("Translates", "\\ud800"),
    DESCRIBED.replace('"translator"', "7"), DESCRIBED.replace('["translate"]', '"translate"'),
    DESCRIBED.replace('["translate"]', '[{"a": 1}]'), DESCRIBED.replace("Translate.", "x" * 1_000_000),
]  # fmt: skip


@pytest.mark.parametrize("reply", NO_DESCRIPTIONS)
async def test_a_model_that_describes_no_agent_leaves_the_team_as_it_is(engine: Engines, reply: str) -> None:
    models = {"fake": ModelSpec(replies=({"text": reply},))}
    settings = discovers("dynamic", model="fake", approve="granted", options={"models": models})
    async with engine(researcher(), **settings) as running:
        await running.ask(REQUEST)

        assert names(running) == ["researcher"]
        (record,) = await running.journal("discovered")
        assert b"described no agent" in record.body


async def test_hybrid_makes_an_agent_last_and_asks_for_it_always(
    engine: Engines, catalogue: Callable[..., Catalogue]
) -> None:
    template = AgentSpec(name="specialist", agent_type="scripted", options={"script": [{"output": "done"}]})
    settings = discovers("hybrid", template="specialist", approve="granted")
    async with engine(researcher(), host={"catalogue": catalogue()}, **settings) as running:
        await running.host.order(RegisterSpec(spec=template))
        await running.ask(REQUEST)
        assert names(running) == ["researcher", "translator"]

        run = await running.submit("cook dinner")
        question = await question_of(running)
        assert "dynamic" in question.question
        await running.host.order(Answer(escalation=question.id, answer="add"))
        summary, _ = await running.ended(run)
        assert (summary.status, names(running)[2:]) == ("done", ["cook_dinner"])


async def test_a_question_outlives_a_crash_and_the_request_goes_on_with_its_answer(
    engine: Engines, catalogue: Callable[..., Catalogue], tmp_path: Path
) -> None:
    host = {"catalogue": catalogue()}
    spec = AgentSpec(name="researcher", agent_type="scripted", specialties=["research"],
                     options={"script": [{"output": "done"}]})  # fmt: skip
    async with engine(spec, path=tmp_path / "team.db", host=host, **discovers("catalogue")) as running:
        run = await running.submit(REQUEST)
        await question_of(running)

    async with engine(path=tmp_path / "team.db", host=host) as running:
        question = await question_of(running)
        await running.host.order(Answer(escalation=question.id, answer="add"))
        summary, _ = await running.ended(run)

        assert (summary.status, names(running)) == ("done", ["researcher", "translator"])
        assert len(await running.journal("discovered")) == 1


async def test_who_could_work_on_a_request_is_found_without_adding_anybody(
    catalogue: Callable[..., Catalogue], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTERDECK_CATALOGUE", str(catalogue().path))
    team = DynamicSupervisor("desk", agent_specs=[researcher()])

    matches = await team.find_agents(REQUEST, DiscoveryConfig(modes=("registry", "catalogue")))

    assert [(match.name, match.source, match.is_weak) for match in matches] == [
        ("translator", "catalogue", False), ("researcher", "team", True),
    ]  # fmt: skip
    assert team.list_active_agents() == ["researcher"]
