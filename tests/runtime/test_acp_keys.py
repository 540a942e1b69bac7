"""What the keys of its spec do for an agent that speaks the Agent Client Protocol."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine.core.events import RunFinished
from engine.core.specs.model_spec import McpSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.runtimes.programs import acp_calls
from engine.stream.records import Piece
from tests.runtime.engines import Engine, Engines
from tests.runtime.test_acp_agents import answer, asked
from tests.runtime.test_jsonl_agents import steps

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(find_spec("acp") is None, reason="the extra is not installed"),
]

PROGRAM = Path(__file__).with_name("acp_agent.py")
DEPTH = {"type": "object", "properties": {"depth": {"type": "integer"}}, "required": ["depth"]}


def coder(tmp_path: Path, like: str = "", *, options: Any = (), **keys: Any) -> AgentSpec:
    argv = [sys.executable, str(PROGRAM), str(tmp_path / "log"), like]
    return AgentSpec(name="coder", agent_type="acp", options={"argv": argv, **dict(options)}, **keys)


async def test_instructions_and_the_schema_of_the_output_stand_around_the_task(engine: Engines, tmp_path: Path) -> None:
    async with engine(coder(tmp_path, "repairs", instructions="Be brief.", output=DEPTH)) as running:
        await running.ask("measure")

    first = asked(tmp_path)[2]["prompt"]
    assert first.startswith("Be brief.\n\nmeasure\n\nEnd with JSON alone that fits this JSON Schema: {")


async def test_an_output_that_does_not_fit_is_asked_for_once_more(engine: Engines, tmp_path: Path) -> None:
    async with engine(coder(tmp_path, "repairs", output=DEPTH)) as running:
        assert await running.ask("measure") == {"depth": 4}

    assert "depth: 'deep' is not of type 'integer'. Answer again" in asked(tmp_path)[-1]["prompt"]


async def test_its_output_is_all_that_it_says_after_its_last_call(engine: Engines, tmp_path: Path) -> None:
    async with engine(coder(tmp_path, output=DEPTH)) as running:
        assert await running.ask("depth") == {"depth": 4}

    assert len([line for line in asked(tmp_path) if "prompt" in line]) == 1


async def test_steps_beyond_the_bound_are_not_kept(
    engine: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acp_calls, "MAX_STEPS", 2)
    async with engine(coder(tmp_path)) as running:
        await running.ask("many")
        names = [name for name, _ in await steps(running)]

    assert [name for name in names if name.startswith("Call")] == ["Call 0", "Call 2"]


async def test_an_output_that_does_not_fit_twice_fails_the_attempt(engine: Engines, tmp_path: Path) -> None:
    async with engine(coder(tmp_path, output=DEPTH)) as running:
        assert "its output does not fit the schema of its spec: it is not JSON" in await running.fails("measure")


async def test_the_servers_of_its_spec_are_those_of_its_session(
    engine: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEB_TOKEN", "sesame")
    echo = McpSpec(argv=("echo", "hello"), env=("WEB_TOKEN",))
    web = McpSpec(url="http://127.0.0.1:1/mcp", headers_env={"X-Token": "WEB_TOKEN"})
    options = SupervisorOptions(mcp={"echo": echo, "web": web})
    spec = coder(tmp_path, "http", mcp=["echo", "web"])
    async with engine(spec, options=options, host={"folder": tmp_path}) as running:
        await running.ask("work")

    program, address = asked(tmp_path)[1]["servers"]
    env = {one["name"]: one["value"] for one in program["env"]}
    started = await anyio.run_process([program["command"], *program["args"]], env=env)
    assert (started.stdout, env["WEB_TOKEN"]) == (b"hello\n", "sesame")
    assert (address["type"], address["url"]) == ("http", "http://127.0.0.1:1/mcp")
    assert address["headers"] == [{"name": "X-Token", "value": "sesame"}]


async def test_an_agent_that_cannot_call_addresses_says_so_in_one_line(engine: Engines, tmp_path: Path) -> None:
    options = SupervisorOptions(mcp={"web": McpSpec(url="http://127.0.0.1:1/mcp")})
    async with engine(coder(tmp_path, mcp=["web"]), options=options) as running:
        assert "can use tool servers that are programs alone, and 'web' is an address" in await running.fails("work")


@pytest.mark.parametrize(
    ("rule", "is_asked"),
    [("never", False), ("always", True), ({"matches": r"\+coral = 2"}, True), ({"contains": "sponge"}, False)],
)
async def test_a_rule_for_a_kind_of_tool_decides_whether_a_person_is_asked(
    engine: Engines, tmp_path: Path, rule: Any, is_asked: bool
) -> None:
    async with engine(coder(tmp_path, approve={"edit": rule})) as running:
        run_id = await running.submit("edit_asked")
        if is_asked:
            assert (await answer(running, "allow_once"))["tool"] == "edit"
        _, output = await running.ended(run_id)

    assert output == "selected"


@pytest.mark.parametrize("rule", ["never", {"contains": "sponge"}])
async def test_what_a_rule_lets_through_is_allowed_once_whatever_the_agent_names_first(
    engine: Engines, tmp_path: Path, rule: Any
) -> None:
    async with engine(coder(tmp_path, approve={"edit": rule})) as running:
        assert await running.ask("edit_asked_with_a_choice") == "allow_once"


@pytest.mark.parametrize("rule", ["always", {"contains": "reef"}])
async def test_a_call_that_it_should_have_asked_about_ends_its_attempt(
    engine: Engines, tmp_path: Path, rule: Any
) -> None:
    async with engine(coder(tmp_path, approve={"edit": rule})) as running:
        said = await running.fails("work")

    assert "did 'Edit reef.txt' (edit) without asking, and 'approve' says that a person is asked" in said


@pytest.mark.parametrize("rule", ["never", {"contains": "sponge"}])
async def test_a_call_that_nobody_wants_to_be_asked_about_needs_no_question(
    engine: Engines, tmp_path: Path, rule: Any
) -> None:
    async with engine(coder(tmp_path, approve={"edit": rule})) as running:
        assert await running.ask("work") == "I look around.\n\nDone."


@pytest.mark.parametrize(("rule", "questions"), [("never", 0), ("always", 1)])
async def test_a_rule_holds_for_files_that_it_has_us_write(
    engine: Engines, tmp_path: Path, rule: str, questions: int
) -> None:
    spec = coder(tmp_path, options={"fs": "write"}, approve={"edit": rule})
    async with engine(spec, host={"folder": tmp_path}) as running:
        run_id = await running.submit("write")
        if questions:
            await answer(running, "allow_once")
        await running.ended(run_id)

    assert (tmp_path / "below" / "new.txt").read_text() == "written\n"


async def test_it_reads_files_through_us_once_a_person_lets_it_where_that_is_the_rule(
    engine: Engines, tmp_path: Path
) -> None:
    (tmp_path / "reef.txt").write_text("coral")
    spec = coder(tmp_path, options={"fs": "read"}, approve={"read": {"contains": "reef.txt"}})
    async with engine(spec, host={"folder": tmp_path}) as running:
        run_id = await running.submit("files")
        question = await answer(running, "allow_once")
        _, output = await running.ended(run_id)

    assert question["question"].endswith("asks to read reef.txt")
    assert str(output).startswith("coral|")


async def test_a_call_is_shown_with_its_arguments_though_they_come_later(engine: Engines, tmp_path: Path) -> None:
    async with engine(coder(tmp_path)) as running:
        heard = running.host.bus.listen()
        await running.ask("late")
        pieces = []
        async for one in heard:
            if isinstance(one, Piece):
                pieces.append((one.kind, one.name, one.value))
            elif isinstance(one[1], RunFinished):
                break

    assert ("tool_started", "ls reef", {"command": "ls reef"}) in pieces
    assert len([kind for kind, *_ in pieces if kind == "tool_started"]) == 1


async def test_what_it_spent_stands_on_its_own_step_and_not_on_that_of_its_worktree(
    engine: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "code"
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    await anyio.run_process(["git", "init", "-q", str(folder)])
    await anyio.run_process([*git, "commit", "-q", "--allow-empty", "-m", "first"])

    async with engine(coder(tmp_path, options={"worktree": True}), host={"folder": folder}) as running:
        await running.ask("leave_file")
        spent = await tokens_by_step(running)

    assert [name for name, _ in spent][:3] == ["worktree", "session", "worktree"]
    assert [tokens for _, tokens in spent] == [0, 0, 0, 12]


async def tokens_by_step(running: Engine) -> list[tuple[str, int]]:
    """Return each step by its name, with the tokens in that it is charged for."""
    records = [json.loads(record.body) for record in await running.journal("step_recorded")]
    return [(one["name"], (one.get("usage") or {}).get("tokens_in") or 0) for one in records]
