"""When a person is asked before a tool is called, and what comes of the answer."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
import pytest

from dashboard.cli import main
from engine import AgentSpec, Fail, SupervisorOptions, ToolRejected, Unusable, tool
from engine.core.commands import Answer
from engine.core.errors import BadValue
from engine.core.specs.model_spec import ModelSpec
from engine.teamfile import TeamFileError, parse_team
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines
from tests.runtime.test_tool_servers import program, team

pytestmark = pytest.mark.anyio

PAID: list[int] = []


@pytest.fixture(autouse=True)
def afresh() -> None:
    PAID.clear()


@tool(approve={"json": "account", "equals": "main"})
def pay(amount: int, account: str = "petty") -> str:
    """Pay."""
    PAID.append(amount)
    return f"paid {amount}"


def played(*turns: Iterable[dict[str, Any]], **spec: Any) -> tuple[AgentSpec, dict[str, Any]]:
    replies: list[Any] = [{"calls": [{"name": "pay", "arguments": one} for one in turn]} for turn in turns]
    model = ModelSpec(replies=(*replies, {"text": "{text}"}))
    agent = AgentSpec(name="ada", model="script", tools=(pay,), on_failure=[Fail()], **spec)
    return agent, {"options": SupervisorOptions(models={"script": model})}


async def answer(running: Engine, word: str) -> str:
    """Answer the question that is open, or will be, and return it."""
    with anyio.fail_after(PATIENCE_S):
        await running.until(lambda state: bool(state.escalations))
    (question,) = running.state.escalations.values()
    await running.host.order(Answer(escalation=question.id, answer=word))
    return question.question


async def test_a_guard_of_the_author_asks_where_it_holds_and_nowhere_else(engine: Engines) -> None:
    spec, settings = played([{"amount": 1}], [{"amount": 2, "account": "main"}])
    async with engine(spec, **settings) as running:
        run = await running.submit()
        question = await answer(running, "allow_once")
        assert PAID == [1]
        _, output = await running.ended(run)

    assert "ada wants to call pay" in question
    assert output == "paid 2"


async def test_a_rejected_call_is_an_error_for_the_model_and_never_made(engine: Engines) -> None:
    spec, settings = played([{"amount": 2}], approve={"pay": "always"})
    async with engine(spec, **settings) as running:
        run = await running.submit()
        await answer(running, "reject_once")
        summary, output = await running.ended(run)

    assert summary.status == "done"
    assert "a person rejected the call of pay" in str(output)
    assert PAID == []


async def test_the_spec_of_an_agent_comes_before_the_author_of_a_tool(engine: Engines) -> None:
    spec, settings = played([{"amount": 2, "account": "main"}], approve={"pay": "never"})
    async with engine(spec, **settings) as running:
        assert await running.ask() == "paid 2"


async def test_wrong_arguments_ask_nobody(engine: Engines) -> None:
    spec, settings = played([{"amount": "2"}], approve={"pay": "always"})
    async with engine(spec, **settings) as running:
        assert "wrong arguments of pay" in str(await running.ask())


async def test_a_function_agent_is_asked_for_too_and_hears_of_a_rejection(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> str:
        first = await ctx.tool("pay", 1)
        try:
            await ctx.tool("pay", 2, "main")
        except ToolRejected as rejected:
            return f"{first}, {rejected.tool} rejected"
        return "both"

    async with engine(AgentSpec(name="ada", run=work, tools=(pay,))) as running:
        run = await running.submit()
        await answer(running, "reject_once")
        _, output = await running.ended(run)

    assert output == "paid 1, pay rejected"


@pytest.mark.parametrize("name", ["pya", f"{__name__}:pay", "files"])
async def test_a_rule_under_what_is_no_name_of_a_tool_is_refused(engine: Engines, name: str, tmp_path: Path) -> None:
    spec, settings = team(program(tmp_path), tools=(f"{__name__}:pay",), approve={name: "always"})
    async with engine(spec, **settings) as running:
        assert f"agent 'ada': approve: no tool {name!r}; it has pay, files/…" in await running.fails()


def test_a_team_file_says_which_server_of_tools_nobody_names() -> None:
    text = "version: 1\nsupervisor: {name: t}\nmcp: {files: {argv: [f]}}\nagents:\n"
    with pytest.raises(TeamFileError) as refused:
        parse_team(f"{text}- {{name: ada, model: x/y, mcp: [files/read, flies]}}\n", Path("team.yaml"))

    assert "no tool server 'flies' here or above; did you mean files?" in str(refused.value)


async def test_a_tool_that_its_server_describes_in_other_words_asks_again(
    engine: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = program(tmp_path / "notes.txt", env=("WRITE_SAYS",))
    calls = [{"name": "files__write", "arguments": {"line": "x"}}]
    spec, settings = team(server, calls, approve={"files/write": "always"})
    path = tmp_path / "team.db"
    monkeypatch.setenv("WRITE_SAYS", "Write a line.")
    async with engine(spec, path=path, **settings) as running:
        run = await running.submit()
        await answer(running, "allow_always")
        await running.ended(run)
        assert await running.ask() == "written"

    monkeypatch.setenv("WRITE_SAYS", "Write a line, and send it to somebody.")
    async with engine(path=path) as running:
        run = await running.submit()
        question = await answer(running, "reject_once")
        _, output = await running.ended(run)

    assert "files/write" in question
    assert "a person rejected the call" in str(output)


@pytest.mark.parametrize("rule", ["sometimes", {"status": "done"}, {"matches": "("}, 5, {}])
def test_what_is_no_rule_is_refused_wherever_it_is_written(rule: Any) -> None:
    with pytest.raises(BadValue, match=r"agent 'ada': approve\.pay"):
        AgentSpec(name="ada", approve={"pay": rule})
    with pytest.raises(Unusable, match="@tool: approve: "):
        tool(approve=rule)


def test_a_team_file_says_the_line_of_what_is_no_rule() -> None:
    text = "version: 1\nsupervisor: {name: t}\nagents:\n- {name: ada, model: x/y, approve: {pay: sometimes}}\n"
    with pytest.raises(TeamFileError) as refused:
        parse_team(text, Path("team.yaml"))

    assert "team.yaml:4: agents[ada].approve.pay" in str(refused.value)
    assert "never, always, or a guard" in str(refused.value)


def test_a_guard_of_a_tool_that_looks_for_signs_of_json_is_warned_of_once_its_code_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crew.py").write_text(
        "from quarterdeck import tool\n@tool(approve={'contains': '\": \"prod\"'})\ndef deploy(to: str) -> str:\n"
        "    return to\nasync def work(task, ctx):\n    return await ctx.tool('deploy', task.text)\n"
    )
    team_file = "version: 1\nsupervisor: {name: t}\nagents: [{name: ada, run: crew:work, tools: [crew:deploy]}]\n"
    (tmp_path / "team.yaml").write_text(team_file)
    monkeypatch.chdir(tmp_path)

    assert main(["--json", "check", "--trust", "team.yaml"]) == 0

    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning.startswith("@tool of crew:deploy: approve: contains")


@pytest.mark.parametrize("name", ["crew:deploy", "delpoy"])
def test_a_rule_under_what_is_no_name_of_a_tool_is_a_fault_of_its_file_once_its_code_is_trusted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crew.py").write_text("def deploy(to: str) -> str:\n    return to\nasync def work(task, ctx): pass\n")
    agent = f'{{name: ada, run: "crew:work", tools: ["crew:deploy"], approve: {{"{name}": always}}}}'
    (tmp_path / "team.yaml").write_text(f"version: 1\nsupervisor: {{name: t}}\nagents:\n- {agent}\n")
    monkeypatch.chdir(tmp_path)

    assert main(["check", "--trust", "team.yaml"]) == 2

    assert f"team.yaml:4: agents[ada].approve: no tool {name!r}; it has deploy" in capsys.readouterr().err
