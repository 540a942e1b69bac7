"""A shell that waits for a run tells what a person is asked meanwhile."""

import json
from pathlib import Path
from typing import Any

import pytest

from dashboard.cli import main
from dashboard.cli.printing.progress import ProgressLine
from engine import AgentSpec, Context, DynamicSupervisor, Escalate, Task, tool
from engine.core.specs.model_spec import ModelSpec
from engine.reading.folding import fold_file

pytestmark = pytest.mark.anyio


async def publish(task: Task, ctx: Context) -> str:
    if task.text == "open":
        return await ctx.ask("Which colour?")
    if task.text == "broken":
        raise ValueError("no paper")
    return await ctx.ask("Publish it?", ["yes", "no"])


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize(
    ("request_text", "asked", "words"),
    [
        ("closed", "press asks a person, e1: Publish it?", "ANSWER --db {}  # yes, no"),
        ("open", "press asks a person, e1: Which colour?", "reply --output TEXT --db {}"),
        ("broken", "press asks a person, e1: ", "ANSWER --db {}  # retry, "),
    ],
)
async def test_a_run_that_waits_for_a_person_says_once_who_asks_and_how_to_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], request_text: str, asked: str, words: str, *, quiet: bool
) -> None:
    path = tmp_path / "team.db"
    spec = AgentSpec(name="press", run=publish, on_failure=[Escalate()])
    async with DynamicSupervisor("desk", agent_specs=[spec], store=path) as desk:
        run_id = await desk.submit(request_text)
        await desk.next_question()
    progress = ProgressLine(path, run_id, every_s=0.2, quiet=quiet)
    progress(fold_file(path))
    progress(fold_file(path))

    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(asked)
    assert second.startswith("  answer it: quarterdeck answer e1 " + words.format(path))


async def test_a_run_that_waits_for_a_person_says_nothing_of_the_questions_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "team.db"
    async with DynamicSupervisor("desk", agent_specs=[AgentSpec(name="press", run=publish)], store=path) as desk:
        await desk.submit("closed")
        await desk.next_question()
    ProgressLine(path, "r2", every_s=0.2)(fold_file(path))

    assert capsys.readouterr().err == ""


async def test_a_run_that_waits_because_something_is_paused_says_so_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "team.db"
    async with DynamicSupervisor("desk", agent_specs=[AgentSpec(name="press", run=publish)], store=path) as desk:
        await desk.pause()
        run_id = await desk.submit("open")
        progress = ProgressLine(path, run_id, every_s=0.2, quiet=True)
        for _ in range(2):
            progress(fold_file(path))
        await desk.resume()
        progress(fold_file(path))
        await desk.pause()
        progress(fold_file(path))

    said = capsys.readouterr().err.splitlines()
    waits = ["supervisor desk is paused, and this run waits", f"  resume it: quarterdeck resume @s1 --db {path}"]
    assert [line for line in said if "paused" in line or "resume" in line] == waits * 2


@tool(approve="always")
async def save(text: str, path: str = "notes.txt") -> str:
    return path


async def asks_to_save(task: Task, ctx: Context) -> str:
    return str(await ctx.tool("save", "a" * 1_000 + "\nthe end"))


async def test_the_inbox_and_a_run_that_waits_show_what_a_call_is_made_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "team.db"
    async with DynamicSupervisor(
        "desk", agent_specs=[AgentSpec(name="press", run=asks_to_save, tools=[save])], store=path
    ) as desk:
        run_id = await desk.submit("go")
        question = await desk.next_question()

    ProgressLine(path, run_id, every_s=0.2)(fold_file(path))
    waiting = capsys.readouterr().err
    assert main(["inbox", "--db", str(path)]) == 0
    table = capsys.readouterr().out
    assert main(["inbox", "--json", "--db", str(path)]) == 0
    (item,) = json.loads(capsys.readouterr().out)["items"]

    arguments = {"text": "a" * 1_000 + "\nthe end", "path": "notes.txt"}
    assert item["arguments"] == question.detail["arguments"] == arguments
    for shown in (waiting, table):
        assert f'  with  text:\n        │ {"a" * 1_000}\n        │ the end\n        path: "notes.txt"\n' in shown


async def test_the_inbox_has_what_a_model_said_before_it_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "team.db"
    call: dict[str, Any] = {"name": "save", "arguments": {"text": "x"}}
    said = "All checks are green. " * 90 + "I would like to ship."
    reply: dict[str, Any] = {"text": said, "calls": [call]}
    models = {"fake": ModelSpec(replies=(reply,))}
    press = AgentSpec(name="press", agent_type="ReactAgent", model="fake", tools=[save])
    async with DynamicSupervisor("desk", agent_specs=[press], models=models, store=path) as desk:
        await desk.submit("go")
        await desk.next_question()

    assert main(["inbox", "--db", str(path)]) == 0
    assert "All checks are green." in capsys.readouterr().out
    assert main(["inbox", "--json", "--db", str(path)]) == 0
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert item["said"].endswith("I would like to ship.")
