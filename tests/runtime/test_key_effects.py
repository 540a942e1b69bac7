"""A key of an agent that is accepted changes what comes of its work: each is tried with and without it.

`tests/contract/test_accepted_keys.py` asks for an entry for every key that a kind of agent accepts.
"""

import os
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from engine import AgentSpec, Fail, SupervisorOptions
from engine.core.commands import Answer
from engine.core.records.records import copy_with
from engine.core.specs.model_spec import McpSpec, ModelSpec
from engine.runtimes.catalogue import kind_of, kinds
from tests.runtime.engines import Engines

pytestmark = pytest.mark.anyio

ACP_AGENT = str(Path(__file__).with_name("acp_agent.py"))
TOOL_SERVER = str(Path(__file__).with_name("tool_server.py"))
OBJECT = {"type": "object"}


class Effect(NamedTuple):
    """A key, the agent that is given it, and a request by which it shows."""

    kind: str
    key: str
    value: Any
    agent: dict[str, Any]
    request: str = "go"

    @property
    def spec(self) -> AgentSpec:
        """The agent with the key."""
        return AgentSpec(name="ada", **{**self.agent, self.key: self.value, "on_failure": [Fail()]})

    @property
    def bare_spec(self) -> AgentSpec:
        """The agent without it."""
        return AgentSpec(name="ada", **{**self.agent, "on_failure": [Fail()]})


def _says(text: str) -> dict[str, Any]:
    return {"script": [{"output": text}]}


def spell(text: str) -> str:
    return text.upper()


async def uses_tool(task: Any, ctx: Any) -> Any:
    return await ctx.tool("spell", task.text)


async def uses_server(task: Any, ctx: Any) -> Any:
    return await ctx.tool("files/echo", text=task.text)


def tells_options(task: Any, ctx: Any) -> Any:
    return task.options


def tells_thread(text: str) -> str:
    return threading.current_thread().name


def tells_process(text: str) -> bool:
    return os.getpid() == int(text)


def echoes(text: str) -> str:
    return text


FUNCTION: dict[str, Any] = {"run": echoes}
SCRIPTED: dict[str, Any] = {"agent_type": "scripted", "options": {"script": [{"output": "{text}"}]}}
UPPER = {"argv": ["tr", "a-z", "A-Z"]}
LINES = {"argv": ["echo", '{"type": "result", "output": [1]}'], "protocol": "jsonl"}
PROCESS = {"agent_type": "process", "options": UPPER}
CODER: dict[str, Any] = {"agent_type": "acp", "options": {"argv": [sys.executable, ACP_AGENT, "{log}"]}}
CREW = {"agent_type": "MultiAgent", "options": {"team": ["helper"]}}
TALK = {"agent_type": "ConversationAgent", "options": {"speakers": ["helper", "other"], "turns": 1}}
MODEL: dict[str, Any] = {"agent_type": "ReactAgent", "model": "echo"}

MODEL_KEYS: list[tuple[str, Any, dict[str, Any]]] = [
    ("model", "other", {}),
    ("output", OBJECT, {}),
    ("tools", [spell], {"model": "caller"}),
    ("mcp", ["files"], {"model": "server"}),
    ("may", ["ask_human"], {"model": "asks"}),
    ("approve", {"spell": "always"}, {"model": "caller", "tools": [spell]}),
]
EFFECTS = [
    Effect("function", "run", spell, FUNCTION),
    Effect("function", "tools", [spell], {"run": uses_tool}),
    Effect("function", "mcp", ["files"], {"run": uses_server}),
    Effect("function", "approve", {"spell": "always"}, {"run": uses_tool, "tools": [spell]}),
    Effect("function", "output", OBJECT, FUNCTION),
    Effect("function", "run_in", "loop", {"run": tells_thread}),
    Effect("function", "options", {"depth": 2}, {"run": tells_options}),
    Effect("function in a process", "run", f"{__name__}:spell", {"run": f"{__name__}:echoes", "run_in": "process"}),
    Effect("function in a process", "run_in", "process", {"run": f"{__name__}:tells_process"}, str(os.getpid())),
    Effect("function in a process", "output", OBJECT, {"run": f"{__name__}:echoes", "run_in": "process"}),
    Effect("scripted", "options", {"script": [{"output": "other"}]}, SCRIPTED),
    Effect("scripted", "output", OBJECT, SCRIPTED),
    Effect("process", "options", {**UPPER, "input": "argument"}, PROCESS),
    Effect("process", "output", OBJECT, PROCESS),
    Effect("process", "output", OBJECT, {**PROCESS, "options": LINES}),
    Effect("acp", "options", {**CODER["options"], "terminal": True}, CODER, "terminal"),
    Effect("acp", "mcp", ["files"], CODER, "tell_session"),
    Effect("acp", "instructions", "Answer in verse.", CODER, "tell_prompt"),
    Effect("acp", "output", OBJECT, CODER, "work"),
    Effect("acp", "approve", {"edit": "never"}, CODER, "edit_asked"),
    Effect("acp", "approve", {"edit": {"matches": "reef"}}, CODER, "work"),
    Effect("MultiAgent", "options", {"team": ["other"]}, CREW),
    Effect("MultiAgent", "output", OBJECT, CREW),
    Effect("MultiAgent", "model", "other", CREW),
    Effect("ConversationAgent", "options", {"speakers": ["other", "helper"], "turns": 1}, TALK),
    Effect("ConversationAgent", "model", "moderator", TALK),
    *(
        Effect(kind, key, value, {**MODEL, "agent_type": kind, **besides})
        for kind in ("SimpleAgent", "llm", "ReactAgent", "MemoryAgent")
        for key, value, besides in MODEL_KEYS
        if kind != "SimpleAgent" or key in ("model", "output")
    ),
]


def _id(effect: Effect) -> str:
    return f"{effect.kind}-{effect.key}"


MODELS: dict[str, list[Any]] = {
    "echo": [],
    "other": [{"text": "other"}],
    "caller": [{"calls": [{"name": "spell", "arguments": {"text": "go"}}]}, {"text": "{text}"}],
    "server": [{"calls": [{"name": "files__echo", "arguments": {"text": "go"}}]}, {"text": "{text}"}],
    "asks": [{"calls": [{"name": "ask_human", "arguments": {"question": "Go?"}}]}, {"text": "{text}"}],
    "moderator": [{"text": '{"next": "nobody", "say": "enough"}'}],
}
SETTINGS = SupervisorOptions(
    models={name: ModelSpec(replies=tuple(replies or [{"text": "{text}"}])) for name, replies in MODELS.items()},
    mcp={"files": McpSpec(argv=(sys.executable, TOOL_SERVER, "stdio"))},
)
MEMBERS = [AgentSpec(name=name, agent_type="scripted", options=_says(name)) for name in ("helper", "other")]


async def outcome(engine: Engines, spec: AgentSpec, request: str, log: Path) -> tuple[Any, ...]:
    """Return how a run ends, and what a person was asked; each question is answered with its last option."""
    if spec.agent_type == "acp":
        argv = [str(log) if word == "{log}" else word for word in spec.options["argv"]]  # type: ignore[union-attr]
        spec = copy_with(spec, options={**spec.options, "argv": argv})
    asked: list[str] = []
    async with (
        engine(spec, *MEMBERS, options=SETTINGS, participants=["ada"]) as running,
        anyio.create_task_group() as group,
    ):

        async def answers() -> None:
            while True:
                await running.until(lambda state: any(one not in asked for one in state.escalations))
                name, question = next((n, q) for n, q in running.state.escalations.items() if n not in asked)
                asked.append(name)
                choice = question.options[-1] if question.kind != "ask" else "reply"
                text = "yes" if question.kind == "ask" else None
                await running.host.order(Answer(escalation=name, answer=choice, output=text))

        group.start_soon(answers)
        summary, output = await running.ended(await running.submit(request))
        group.cancel_scope.cancel()
    return summary.status, output, summary.error, len(asked)


@pytest.mark.parametrize("effect", EFFECTS, ids=_id)
async def test_a_key_that_is_accepted_changes_what_comes_of_the_work(
    engine: Engines, effect: Effect, tmp_path: Path
) -> None:
    if effect.kind == "acp" and find_spec("acp") is None:
        pytest.skip("the extra is not installed")
    without = await outcome(engine, effect.bare_spec, effect.request, tmp_path / "without")
    with_it = await outcome(engine, effect.spec, effect.request, tmp_path / "with")

    assert with_it != without


def test_an_effect_is_tried_on_the_kind_of_agent_that_it_names() -> None:
    for effect in EFFECTS:
        spec = effect.spec if effect.key != "run" else effect.bare_spec
        assert kind_of(spec.agent_type, spec.run, spec.run_in) == kinds()[effect.kind], _id(effect)
