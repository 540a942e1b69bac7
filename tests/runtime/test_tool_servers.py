"""Servers of tools: real programs that speak the protocol, over pipes and over HTTP, and misbehave in every way."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest

from dashboard.cli import main
from engine import AgentSpec, Fail, SupervisorOptions, ToolError
from engine.core.commands import Answer
from engine.core.specs.model_spec import McpSpec, ModelSpec
from engine.runtimes.functions.context import UnknownTool
from engine.runtimes.toolbox import mcp_servers
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines, soon

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).with_name("tool_server.py")
KEY = "sk-planted-in-the-environment"
NAMES = "add echo write environment fails slow huge picture"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes.txt"


def program(notes: Path, misbehaviour: str = "", **settings: Any) -> McpSpec:
    return McpSpec(argv=(sys.executable, str(SERVER), "stdio", misbehaviour, str(notes)), **settings)


def started(notes: Path) -> list[int]:
    """Return the processes that the server was started as."""
    lines = notes.read_text().splitlines() if notes.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith("start ")]


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def noted(notes: Path, what: str) -> int:
    return notes.exists() and sum(line.startswith(what) for line in notes.read_text().splitlines())


async def listed(notes: Path) -> int:
    return noted(notes, "list")


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def team(server: McpSpec, *turns: list[dict[str, Any]], mcp: tuple[str, ...] = ("files",), **agent: Any) -> Any:
    """Return an agent that makes the calls of each turn and answers with the last results, and its settings."""
    replies: list[Any] = [{"calls": calls} for calls in turns] + [{"text": "{text}"}]
    settings = SupervisorOptions(mcp={"files": server}, models={"script": ModelSpec(replies=tuple(replies))})
    spec = AgentSpec(name="ada", agent_type="ReactAgent", model="script", mcp=mcp, **{"on_failure": [Fail()], **agent})
    return spec, {"options": settings}


async def test_a_model_calls_the_tools_of_a_program(engine: Engines, notes: Path) -> None:
    spec, settings = team(
        program(notes),
        [call("files__add", a=1, b=2), call("files__add", a="1", b=2), call("files__nothing")],
        [call("files__huge", characters=50_000)],
    )
    async with engine(spec, **settings) as running:
        output = str(await running.ask())
        steps = await running.journal("step_recorded")

    assert "[characters 0 to 20,000 of 50,000" in output
    said = [json.loads(record.body)["output"] for record in steps if b'"what":"tool"' in record.body]
    assert "3" in said
    assert {"error": "wrong arguments of files__add: a: '1' is not of type 'integer'"} in said
    assert any("there is no tool 'files__nothing'" in str(one) for one in said)
    assert noted(notes, "add") == 1


async def test_a_function_agent_calls_them_too(engine: Engines, notes: Path) -> None:
    async def work(task: Any, ctx: Any) -> Any:
        found = [await ctx.tool("files/add", a=1, b=2)]
        for name, arguments in (("files/add", {"a": "1"}), ("files/fails", {"why": "no"}), ("web/add", {})):
            try:
                await ctx.tool(name, **arguments)
            except (ToolError, UnknownTool) as error:
                found.append(str(error))
        return found

    settings = SupervisorOptions(mcp={"files": program(notes)})
    async with engine(AgentSpec(name="ada", run=work, mcp=("files",)), options=settings) as running:
        output: Any = await running.ask()

    added, wrong, failed, unknown = output
    assert added == "3"
    assert str(wrong).startswith("wrong arguments of files__add: ")
    assert "fails" in str(failed)
    assert unknown == "no tool 'web/add'; the spec names files"


async def test_a_server_gets_what_is_named_and_nothing_else(
    engine: Engines, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", KEY)
    monkeypatch.setenv("FILES_TOKEN", "its own")
    spec, settings = team(program(notes, env=("FILES_TOKEN",)), [call("files__environment")])
    async with engine(spec, **settings) as running:
        output = str(await running.ask())

    assert KEY not in output
    assert '"FILES_TOKEN": "its own"' in output
    assert set(json.loads(output)) <= {"PATH", "HOME", "LANG", "TERM", "TMPDIR", "FILES_TOKEN", "PWD", "LC_CTYPE"}


async def test_all_agents_share_one_server_which_ends_with_the_engine(engine: Engines, notes: Path) -> None:
    spec, settings = team(program(notes), [call("files__add", a=1, b=2)])
    async with engine(spec, spec.with_name("bob"), **settings) as running:
        await running.ask()
        (pid,) = started(notes)
        assert is_alive(pid)

    assert not is_alive(pid)


async def test_calls_that_begin_at_once_all_wait_for_the_list_of_tools(engine: Engines, notes: Path) -> None:
    async def work(task: Any, ctx: Any) -> Any:
        found: list[Any] = []

        async def add(number: int) -> None:
            found.append(await ctx.tool("files/add", a=number, b=1))

        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(add, number)
        return sorted(found)

    settings = SupervisorOptions(mcp={"files": program(notes)})
    async with engine(
        AgentSpec(name="ada", run=work, mcp=("files",), on_failure=[Fail()]), options=settings
    ) as running:
        assert await running.ask() == ["1", "2", "3"]


async def test_a_list_of_tools_that_was_not_waited_for_is_asked_for_again(engine: Engines, notes: Path) -> None:
    async def work(task: Any, ctx: Any) -> Any:
        async with anyio.create_task_group() as group:
            group.start_soon(ctx.tool, "files/add")
            await soon(lambda: listed(notes))
            group.cancel_scope.cancel()
        return await ctx.tool("files/add", a=1, b=2)

    settings = SupervisorOptions(mcp={"files": program(notes, "lists once in vain")})
    async with engine(
        AgentSpec(name="ada", run=work, mcp=("files",), on_failure=[Fail()]), options=settings
    ) as running:
        assert await running.ask() == "3"


async def test_lines_that_are_no_messages_are_passed_over(engine: Engines, notes: Path) -> None:
    spec, settings = team(program(notes, "garbage"), [call("files__echo", text="heard")])
    async with engine(spec, **settings) as running:
        assert await running.ask() == "heard"


@pytest.mark.parametrize(
    ("misbehaviour", "settings", "said"),
    [
        ("exits", {}, "the tool server 'files' does not work: it exited with 1; it last said: no configuration"),
        ("endless", {}, "the tool server 'files' does not work: it wrote a line of more than 32 MB"),
        ("", {"env": ("MISSING",)}, "the engine's environment has no MISSING, which 'env' names"),
    ],
)
async def test_a_server_that_does_not_start_fails_the_attempt_with_one_line(
    engine: Engines, notes: Path, misbehaviour: str, settings: Any, said: str
) -> None:
    spec, team_settings = team(program(notes, misbehaviour, **settings), [])
    async with engine(spec, **team_settings) as running:
        error = await running.fails()

    assert said in error
    assert "\n" not in error


async def test_a_server_that_says_nothing_is_given_up(
    engine: Engines, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_servers, "START_TIMEOUT_S", 0.3)
    spec, settings = team(program(notes, "silent"), [])
    async with engine(spec, **settings) as running:
        assert "the tool server 'files' does not work: it did not answer for 0.3 s" in await running.fails()


async def test_a_program_that_is_not_there_is_named(engine: Engines) -> None:
    spec, settings = team(McpSpec(argv=("no-such-server",)), [])
    async with engine(spec, **settings) as running:
        assert "no program 'no-such-server' in PATH; install it, or give its path" in await running.fails()


async def test_names_that_nobody_knows_are_refused_with_those_there_are(engine: Engines, notes: Path) -> None:
    spec, settings = team(program(notes), [], mcp=("flies",))
    async with engine(spec, **settings) as running:
        assert "no tool server 'flies'; its supervisors name files under mcp" in await running.fails()
    spec, settings = team(program(notes), [], mcp=("files/raed",))
    async with engine(spec, **settings) as running:
        assert "the server 'files' offers no 'raed'; it has add, echo" in await running.fails()


async def test_one_tool_of_a_server_may_be_named(engine: Engines, notes: Path) -> None:
    spec, settings = team(program(notes), [call("files__add", a=1, b=2)], mcp=("files/echo",))
    async with engine(spec, **settings) as running:
        assert "there is no tool 'files__add'" in str(await running.ask())


async def test_a_call_that_takes_too_long_is_an_error_and_the_server_goes_on(engine: Engines, notes: Path) -> None:
    spec, settings = team(
        program(notes, timeout_s=5), [call("files__slow", seconds=60)], [call("files__echo", text="still here")]
    )
    async with engine(spec, **settings) as running:
        assert await running.ask() == "still here"
    assert len(started(notes)) == 1


async def in_doubt(running: Engine) -> str:
    await running.until(lambda state: bool(state.escalations))
    (question,) = running.state.escalations.values()
    assert question.kind == "doubt"
    return question.id


async def test_a_call_that_its_server_died_in_is_in_doubt_and_the_server_starts_again(
    engine: Engines, notes: Path
) -> None:
    spec, settings = team(
        program(notes, "dies"), [call("files__write", line="one")], [call("files__echo", text="again")]
    )
    async with engine(spec, **settings) as running:
        run = await running.submit()
        with anyio.fail_after(PATIENCE_S):
            question = await in_doubt(running)
        await running.host.order(Answer(escalation=question, answer="ran", output="written"))
        summary, output = await running.ended(run)

    assert (summary.status, output) == ("done", "again")
    assert noted(notes, "write") == 1
    assert len(started(notes)) == 2


async def test_a_call_that_may_be_made_twice_is_an_error_for_the_model_when_its_server_dies(
    engine: Engines, notes: Path
) -> None:
    spec, settings = team(program(notes, "dies", idempotent=("write",)), [call("files__write", line="one")])
    async with engine(spec, **settings) as running:
        assert "the server ended before it answered" in str(await running.ask())


@contextmanager
def over_http(notes: Path, port: int | None = 0) -> Iterator[str]:
    """Run a server at an address of its own, or at that of another one."""
    argv = [sys.executable, str(SERVER), "http", "", str(notes)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env={**os.environ, "PORT": str(port)}) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def test_a_server_over_http_that_was_started_anew_is_connected_to_anew(engine: Engines, notes: Path) -> None:
    with ExitStack() as first:
        url = first.enter_context(over_http(notes))
        spec, settings = team(McpSpec(url=url), [call("files__add", a=2, b=3)])
        async with engine(spec, **settings) as running:
            assert await running.ask() == "5"
            first.close()
            with over_http(notes, urlsplit(url).port):
                assert await running.ask() == "5"

    assert len(started(notes)) == 2


async def test_an_answer_over_http_that_is_too_long_is_not_read_to_its_end(
    engine: Engines, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.runtimes.toolbox.mcp_answers.MAX_LINE_BYTES", 100_000)
    with over_http(notes) as url:
        turns = [call("files__huge", characters=40_000)], [call("files__huge", characters=200_000)]
        spec, settings = team(McpSpec(url=url), *turns)
        async with engine(spec, **settings) as running:
            await running.ask()
            steps = await running.journal("step_recorded")

    short, long = [json.loads(record.body)["output"] for record in steps if b'"what":"tool"' in record.body]
    assert len(short) == 40_000
    assert "it is too large: more than" in long["error"]


async def test_headers_come_from_the_variables_that_are_named(
    engine: Engines, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEB_TOKEN", KEY)
    with over_http(notes) as url:
        server = McpSpec(url=url, headers_env={"X-Token": "WEB_TOKEN"})
        spec, settings = team(server, [call("files__is_authorized")])
        async with engine(spec, **settings) as running:
            assert await running.ask() == "yes"
            assert KEY not in "".join(record.body.decode() for record in await running.journal())


async def test_an_address_where_nobody_answers_fails_with_one_line(engine: Engines) -> None:
    spec, settings = team(McpSpec(url="http://127.0.0.1:9/mcp"), [])
    async with engine(spec, **settings) as running:
        error = await running.fails()

    assert "the tool server 'files' does not work: " in error
    assert "\n" not in error


def test_check_and_doctor_name_servers_and_functions_that_do_not_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    well, ill = ([sys.executable, str(SERVER), "stdio", how] for how in ("", "exits"))
    Path("team.yaml").write_text(
        f"version: 1\nsupervisor: {{name: t}}\nmodels: {{fake: {{replies: [{{text: hi}}]}}}}\nmcp:\n"
        f"  well: {{argv: {json.dumps(well)}}}\n  ill: {{argv: {json.dumps(ill)}}}\n"
        "agents:\n- {name: ada, model: fake, tools: ['crew:search', 'crew:untyped']}\n"
        "- {name: bob, run: 'crew:work', tools: ['crew:untyped']}\n"
    )
    Path("crew.py").write_text(
        "def search(query: str) -> str: return query\ndef untyped(x): return x\ndef work(task, ctx): return task.text\n"
    )

    assert main(["--json", "check", "--trust", "team.yaml"]) == 2
    problems = {one["field"]: one["message"] for one in json.loads(capsys.readouterr().out)["problems"]}
    assert problems == {
        "agents[ada].tools[2]": "tool 'untyped': its parameter 'x' has no type; write x: str, say",
        "mcp.ill": "the server does not work: it exited with 1; it last said: no configuration",
    }

    main(["--json", "doctor"])
    found = {one["what"]: one["level"] for one in json.loads(capsys.readouterr().out)["items"]}
    assert (found["tool server well"], found["tool server ill"]) == ("ok", "fault")
