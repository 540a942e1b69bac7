"""Both protocols against the ends that their packages ship, which were not written for this engine.

The other tests talk to programs that write the messages by hand: these packages take 0.7 seconds to import.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from engine import AgentSpec, SupervisorOptions, ToolError
from engine.core.commands import Answer
from engine.core.specs.model_spec import McpSpec
from tests.runtime.engines import Engines
from tests.runtime.test_jsonl_agents import steps

pytestmark = pytest.mark.anyio

CODER = """
import asyncio
import acp
from acp import schema

class Coder(acp.Agent):
    def on_connect(self, connection):
        self.client = connection

    async def initialize(self, protocol_version, **rest):
        return schema.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd, **rest):
        return schema.NewSessionResponse(session_id="s1")

    async def prompt(self, prompt, session_id, **rest):
        say = self.client.session_update
        call = dict(title="Edit reef.txt", kind="edit", raw_input={"path": "reef.txt"})
        await say(session_id, acp.start_tool_call("c1", **call))
        options = [schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once")]
        asked = schema.ToolCallUpdate(tool_call_id="c1", **call)
        said = await self.client.request_permission(session_id=session_id, tool_call=asked, options=options)
        await self.client.write_text_file(path="reef.txt", content=said.outcome.option_id, session_id=session_id)
        read = await self.client.read_text_file(path="reef.txt", session_id=session_id)
        await say(session_id, acp.update_tool_call("c1", status="completed"))
        await say(session_id, acp.update_agent_message_text(f"{prompt[0].text}: {read.content}"))
        usage = schema.Usage(total_tokens=15, input_tokens=10, output_tokens=5)
        return schema.PromptResponse(stop_reason="end_turn", usage=usage)

asyncio.run(acp.run_agent(Coder()))
"""
TOOLS = '''
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("tools")

@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

@server.tool()
def fails() -> str:
    """Fail."""
    raise ToolError("no such reef")

server.run("stdio")
'''


def program(folder: Path, text: str) -> list[str]:
    file = folder / "program.py"
    file.write_text(text, encoding="utf-8")
    return [sys.executable, str(file)]


@pytest.mark.skipif(find_spec("acp") is None, reason="the extra is not installed")
async def test_an_agent_of_the_package_asks_leave_and_reads_and_writes_a_file(engine: Engines, tmp_path: Path) -> None:
    argv: list[Any] = [*program(tmp_path, CODER)]
    coder = AgentSpec(name="coder", agent_type="acp", options={"argv": argv, "fs": "write", "cwd": str(tmp_path)})
    async with engine(coder, host={"folder": tmp_path}) as running:
        run_id = await running.submit("repair it")
        for answer in ("allow_once", "allow_once"):  # what the agent asks itself, and the write of the file
            await running.until(lambda state: bool(state.escalations))
            (question,) = running.state.escalations
            await running.host.order(Answer(escalation=question, answer=answer))
        summary, output = await running.ended(run_id)
        done = await steps(running)

    assert output == "repair it: yes"
    assert "Edit reef.txt" in [name for name, _ in done]
    assert (summary.usage.tokens_in, summary.usage.tokens_out) == (10, 5)
    assert (tmp_path / "reef.txt").read_text() == "yes"


async def test_tools_of_a_server_of_the_package_are_listed_called_and_fail(engine: Engines, tmp_path: Path) -> None:
    async def work(task: Any, ctx: Any) -> Any:
        with pytest.raises(ToolError) as failed:
            await ctx.tool("tools/fails")
        return [await ctx.tool("tools/add", a=1, b=2), str(failed.value)]

    settings = SupervisorOptions(mcp={"tools": McpSpec(argv=tuple(program(tmp_path, TOOLS)))})
    async with engine(AgentSpec(name="ada", run=work, mcp=("tools",)), options=settings) as running:
        answered: Any = await running.ask()

    added, failed = answered
    assert added == "3"
    assert "no such reef" in failed
