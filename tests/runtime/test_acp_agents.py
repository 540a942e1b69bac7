"""Agents that speak the Agent Client Protocol: real programs at the other end of the line."""

import json
import sys
from collections.abc import Callable
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine import DynamicSupervisor, Unusable
from engine.core.commands import Answer, Steer
from engine.core.specs.model_spec import McpSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.runtimes.programs import acp_calls, acp_session
from engine.runtimes.programs.options import TOOL_KINDS
from tests.runtime.engines import Engine, Engines, Hurried
from tests.runtime.test_external_programs import gone
from tests.runtime.test_jsonl_agents import steps
from tests.runtime.test_process_agents import cancelled, shown

pytestmark = [
    pytest.mark.anyio,
    # Not `importorskip`: that costs a second in every worker, of which one needs it.
    pytest.mark.skipif(find_spec("acp") is None, reason="the extra is not installed"),
]

CONTENT = b"written\n"
PROGRAM = Path(__file__).with_name("acp_agent.py")


@pytest.fixture
def coder(tmp_path: Path) -> Callable[..., AgentSpec]:
    """Return what makes specs of the agent; what it was asked is in `log`."""

    def make(like: str = "", *, timeout_s: float | None = None, **options: Any) -> AgentSpec:
        argv: list[Any] = [sys.executable, str(PROGRAM), str(tmp_path / "log"), like]
        return AgentSpec(name="coder", agent_type="acp", timeout_s=timeout_s, options={"argv": argv, **options})

    return make


Coder = Callable[..., AgentSpec]


def asked(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]


async def answer(running: Engine, said: str) -> dict[str, Any]:
    """Answer the question that comes, and return it."""
    await running.until(lambda state: bool(state.escalations))
    ((name, question),) = running.state.escalations.items()
    await running.host.order(Answer(escalation=name, answer=said))
    return {"kind": question.kind, "question": question.question, "options": question.options, **question.detail}


async def test_it_does_a_task_and_what_it_does_is_seen_and_counted(
    engine: Engines, coder: Coder, tmp_path: Path
) -> None:
    async with engine(coder(), host={"folder": tmp_path}) as running:
        summary, output = await running.ended(await running.submit("work"))
        done = await steps(running)

    assert output == "I look around.\n\nDone."
    assert [name for name, _ in done[:4]] == ["session", "plan", "Edit reef.txt", "plan"]
    assert done[4][0].startswith("tool:python")
    assert done[2][1] == {
        "status": "completed",
        "kind": "edit",
        "diffs": [{"path": "reef.txt", "diff": "--- a/reef.txt\n+++ b/reef.txt\n@@ -1,2 +1,2 @@\n-old\n+new\n same"}],
    }
    usage = summary.usage
    assert (usage.tokens_in, usage.tokens_out, usage.tokens_cached, str(usage.cost_usd)) == (12, 5, 2, "0.3")
    assert asked(tmp_path)[0]["initialize"]["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert asked(tmp_path)[1] == {"new_session": str(tmp_path), "servers": []}


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("allow_once", {"outcome": "selected", "optionId": "yes"}),
        ("reject_once", {"outcome": "selected", "optionId": "no"}),
    ],
)
async def test_what_it_asks_leave_for_is_in_the_inbox_with_its_options(
    engine: Engines, coder: Coder, said: str, outcome: dict[str, str]
) -> None:
    async with engine(coder()) as running:
        run_id = await running.submit("ask")
        question = await answer(running, said)
        _, output = await running.ended(run_id)

    assert json.loads(str(output)) == outcome
    assert question["kind"] == "permission"
    assert question["question"].endswith("asks to: rm -r reef")
    assert question["options"] == ["allow_once", "reject_once"]  # never for all that it may execute
    assert question["tool"] == "execute"
    assert question["arguments"] == {"command": "rm -r reef"}


@pytest.mark.parametrize("kind", [*TOOL_KINDS, "", "teleport"])
async def test_leave_for_all_calls_of_a_kind_is_not_offered_where_that_may_run_anything(
    engine: Engines, coder: Coder, kind: str
) -> None:
    async with engine(coder(f"kind:{kind}")) as running:
        run_id = await running.submit("ask")
        question = await answer(running, "reject_once")
        await running.ended(run_id)

    may_run_anything = kind in ("execute", "other", "switch_mode", "", "teleport")
    assert question["options"] == ["allow_once", *["allow_always"] * (not may_run_anything), "reject_once"]
    assert question["tool"] == (kind if kind in TOOL_KINDS else "other")


async def test_a_call_announced_as_a_change_is_no_change_where_leave_is_asked_for_something_unknown(
    engine: Engines, coder: Coder
) -> None:
    async with engine(coder()) as running:
        run_id = await running.submit("ask_otherwise")
        question = await answer(running, "allow_once")
        await running.ended(run_id)

    assert (question["tool"], question["options"]) == ("other", ["allow_once"])


async def test_a_change_that_it_asks_leave_for_is_shown_whole_and_with_a_secret_allowed_once(
    engine: Engines, coder: Coder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACP_TOKEN", "planted-in-the-environment")
    async with engine(coder(env=["ACP_TOKEN"])) as running:
        run_id = await running.submit("edit")
        question = await answer(running, "allow_once")
        await running.ended(run_id)
        too_long = str(await running.ask("edit_all"))

    (change,) = question["diffs"]
    lines = [f"+line {number} of the reef" for number in range(3_000)]
    assert change["diff"].splitlines()[3:] == [*lines, "+[ACP_TOKEN]", "\\ No newline at end of file"]
    assert question["options"] == ["allow_once", "reject_once"]
    assert too_long.startswith("Write reef.txt was not called: a person has to allow that, and its files have more")


async def test_cancelling_ends_its_turn_and_keeps_what_it_said(engine: Engines, coder: Coder, tmp_path: Path) -> None:
    async with engine(coder()) as running:
        run_id = await running.submit("wait")
        await shown(running, "output")
        stopped = await cancelled(running, run_id)

    assert stopped["partial"] == "waiting, and stopped"
    assert {"cancel": "s1"} in asked(tmp_path)


@pytest.mark.parametrize(("now", "output"), [(True, "waiting, and stopped\n\nI look around.\n\nDone.")])
async def test_what_a_person_says_is_the_next_prompt_of_its_session(
    engine: Engines, coder: Coder, tmp_path: Path, now: bool, output: str
) -> None:
    async with engine(coder()) as running:
        run_id = await running.submit("wait")
        await shown(running, "output")
        await running.host.order(Steer(target=run_id, text="work", now=now))
        _, found = await running.ended(run_id)

    assert found == output
    assert [one["prompt"] for one in asked(tmp_path) if "prompt" in one] == ["wait", "work"]


async def test_one_that_does_not_hear_is_stopped_with_its_group(engine: Engines, coder: Coder) -> None:
    async with engine(coder()) as running:
        run_id = await running.submit("deaf")
        await shown(running, "output")
        pid = json.loads(await shown(running, "process"))["pid"]
        await cancelled(running, run_id)

        await gone(pid)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ("leave", "exited with 3: no space left"),
        ("quit", "ended in the middle of its work"),
        ("mute", "ended in the middle of its work"),
        ("refuse", "refuses to go on"),
        ("error", "session/prompt: Internal error (the model is gone)"),
    ],
)
async def test_what_goes_wrong_in_its_turn_is_one_line(engine: Engines, coder: Coder, request_: str, said: str) -> None:
    async with engine(coder()) as running:
        assert said in await running.fails(request_)


async def test_garbage_is_shown_as_text_and_does_not_end_the_line(
    engine: Engines, coder: Coder, caplog: pytest.LogCaptureFixture
) -> None:
    async with engine(coder()) as running:
        output = str(await running.ask("garbage"))

    assert output.startswith("no json\n[1]\n")
    assert output.endswith("fine")
    assert not caplog.records


@pytest.mark.parametrize(
    ("like", "said"),
    [
        ("login", "wants a login (Log in in the browser): log in with its own program, or name its key under 'env'"),
        ("newer", "speaks version 7 of the protocol"),
    ],
)
async def test_one_that_cannot_begin_says_why_in_one_line(engine: Engines, coder: Coder, like: str, said: str) -> None:
    async with engine(coder(like)) as running:
        assert said in await running.fails("work")


async def test_one_that_never_answers_fails_after_a_while(
    engine: Engines, coder: Coder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acp_session, "START_TIMEOUT_S", 0.2)

    async with engine(coder("silent")) as running:
        assert "did not say who it is within 0.2 s" in await running.fails("work")


async def test_a_turn_that_the_time_limit_cut_off_is_in_doubt_and_its_group_is_gone(
    engine: Engines, coder: Coder
) -> None:
    clock = Hurried()
    async with engine(coder(timeout_s=3600), clock=clock) as running:
        run_id = await running.submit("deaf")
        pid = json.loads(await shown(running, "process"))["pid"]
        await shown(running, "output")
        clock.let_pass(3600)
        question = await answer(running, "fail")
        summary, _ = await running.ended(run_id)

        await gone(pid)

    assert question["kind"] == "doubt"
    assert summary.status == "failed"


@pytest.mark.parametrize(
    ("like", "begins"), [("", "new_session"), ("loads", "load_session"), ("resumes", "resume_session")]
)
async def test_a_turn_that_was_cut_off_is_in_doubt_and_goes_on_in_its_session_where_that_can_be(
    engine: Engines, coder: Coder, tmp_path: Path, like: str, begins: str
) -> None:
    options = SupervisorOptions(mcp={"echo": McpSpec(argv=("echo", "hello"))})
    spec = msgspec.structs.replace(coder(like), mcp=["echo"])
    async with engine(spec, options=options, path=tmp_path / "team.db") as running:
        await running.submit("hang_once")
        await shown(running, "output")

    async with engine(path=tmp_path / "team.db") as running:
        question = await answer(running, "again")
        _, found = await running.ended("r1")

    assert question["kind"] == "doubt"
    assert found == "begun, done"
    methods = [next(iter(one)) for one in asked(tmp_path)]
    first, again = [one for one in asked(tmp_path) if "servers" in one]
    assert first["servers"] == again["servers"] != []
    assert again.get("cwd", again.get("new_session")) == first["new_session"]
    assert methods == ["initialize", "new_session", "prompt", "initialize", begins, "prompt"]
    assert ("Your work on this was interrupted" in asked(tmp_path)[-1]["prompt"]) == bool(like)


async def test_it_reads_files_of_its_folder_alone_and_only_where_it_may(
    engine: Engines, coder: Coder, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "reef.txt").write_text("coral")
    (tmp_path / "outside.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")

    async with engine(coder(fs="read"), host={"folder": folder}) as running:
        found = str(await running.ask("files")).split("|")
    async with engine(coder(), host={"folder": folder}) as running:
        without = str(await running.ask("files"))

    assert found[0] == "coral"
    assert all("is not in" in one for one in found[1:])
    assert without.count("refused") == 4


@pytest.mark.parametrize(("said", "output"), [("allow_once", "written"), ("reject_once", "refused: a person did not")])
async def test_a_person_is_asked_before_it_writes_a_file(
    engine: Engines, coder: Coder, tmp_path: Path, said: str, output: str
) -> None:
    async with engine(coder(fs="write"), host={"folder": tmp_path}) as running:
        run_id = await running.submit("write")
        question = await answer(running, said)
        _, found = await running.ended(run_id)

    assert str(found).startswith(output)
    assert {name: value for name, value in question.items() if name not in ("key", "agent", "generation")} == {
        "kind": "permission",
        "question": f"{Path(sys.executable).name} asks to write below/new.txt",
        "options": ["allow_once", "allow_always", "reject_once", "reject_always"],
        "tool": "write_file",
        "title": "write below/new.txt",
        "arguments": {"path": "below/new.txt", "content": f"8 characters, sha256 {sha256(CONTENT).hexdigest()[:16]}"},
        "diffs": [
            {"path": "below/new.txt", "diff": "--- a/below/new.txt\n+++ b/below/new.txt\n@@ -0,0 +1 @@\n+written"}
        ],
    }
    assert (tmp_path / "below" / "new.txt").exists() == (said == "allow_once")


async def test_a_person_is_asked_before_it_has_us_run_a_program(engine: Engines, coder: Coder, tmp_path: Path) -> None:
    async with engine(coder(terminal=True), host={"folder": tmp_path}) as running:
        run_id = await running.submit("terminal")
        first = await answer(running, "allow_once")
        await running.until(lambda state: not state.escalations)
        second = await answer(running, "allow_once")
        _, found = await running.ended(run_id)

    first_part, killed, refused = str(found).split("|")
    assert json.loads(first_part) == [4, 4, sorted([str(tmp_path), "oh"])]
    assert killed == "SIGKILL"
    assert "is not in" in refused
    assert first["question"].endswith("asks to run sh -c 'pwd; echo oh >&2; exit 4'")
    assert first["options"] == second["options"] == ["allow_once", "reject_once"]
    assert [(one["tool"], one["title"]) for one in (first, second)] == [
        ("execute", "sh -c 'pwd; echo oh >&2; exit 4'"), ("execute", "sleep 1000"),
    ]  # fmt: skip
    assert first["arguments"] == {
        "argv": ["sh", "-c", "pwd; echo oh >&2; exit 4"], "cwd": str(tmp_path), "env": {},
    }  # fmt: skip


async def test_a_key_in_what_it_has_us_run_is_in_no_question_and_no_step(
    engine: Engines, coder: Coder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACP_TOKEN", "echo oh >&2; exit")
    async with engine(coder(terminal=True), host={"folder": tmp_path}) as running:
        await running.submit("terminal")
        question = await answer(running, "allow_once")
        await running.until(lambda state: bool(state.escalations))
        (_, ran, *_) = await steps(running)

    assert question["title"] == "sh -c 'pwd; [ACP_TOKEN] 4'"
    assert question["question"].endswith("asks to run sh -c 'pwd; [ACP_TOKEN] 4'")
    assert (ran[0], ran[1]["argv"]) == ("run sh -c 'pwd; [ACP_TOKEN] 4'", ["sh", "-c", "pwd; [ACP_TOKEN] 4"])


async def test_it_runs_nothing_through_us_where_it_may_not(engine: Engines, coder: Coder) -> None:
    async with engine(coder()) as running:
        assert "refused: Method not found" in str(await running.ask("terminal"))


async def test_leave_that_is_given_for_all_is_asked_once(engine: Engines, coder: Coder, tmp_path: Path) -> None:
    async with engine(coder(fs="write"), host={"folder": tmp_path}) as running:
        run_id = await running.submit("write")
        await answer(running, "allow_always")
        await running.ended(run_id)

        assert await running.ask("write") == "written"


async def test_one_that_says_too_much_is_ended_and_its_attempt_fails(
    engine: Engines, coder: Coder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acp_session, "MAX_TEXT_CHARACTERS", 10)
    async with engine(coder()) as running:
        assert "said more than 10 characters" in await running.fails("work")


async def test_of_its_tool_calls_only_the_newest_are_remembered(
    engine: Engines, coder: Coder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acp_calls, "MAX_CALLS", 3)
    async with engine(coder()) as running:
        await running.ask("many")
        named = [name for name, _ in await steps(running)]

    # The first was forgotten when its end came, which took the place of the second.
    assert named[1:4] == ["tool", "Call 2", "Call 3"]


async def test_without_the_package_one_line_says_what_to_install(coder: Coder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acp", None)

    with pytest.raises(Unusable, match=r"agent-client-protocol: pip install 'quarterdeck\[acp\]'"):
        await DynamicSupervisor(name="desk", agent_specs=[coder()]).arun("work")
