"""An agent that speaks the Agent Client Protocol by its package, as a program: it does what the prompt says.

The first argument is a file where it writes down what it was asked; the second one what it is like.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import acp
from acp import schema

LOG = Path(sys.argv[1])
LIKE = sys.argv[2] if len(sys.argv) > 2 else ""


def note(**what: Any) -> None:
    with LOG.open("a") as file:
        file.write(json.dumps(what) + "\n")


def prompts() -> int:
    return LOG.read_text().count('"prompt"')


class Agent:
    def on_connect(self, connection: Any) -> None:
        self.client = connection
        self.cancelled = asyncio.Event()

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **rest: Any) -> Any:
        note(initialize=client_capabilities.model_dump(by_alias=True, exclude_none=True))
        if LIKE == "silent":
            await asyncio.sleep(1000)
        logins = [schema.AuthMethodAgent(id="web", name="Log in in the browser")]
        return schema.InitializeResponse(
            protocol_version=7 if LIKE == "newer" else protocol_version,
            agent_capabilities=schema.AgentCapabilities(load_session=LIKE == "loads"),
            auth_methods=logins,
        )

    async def new_session(self, cwd: str, **rest: Any) -> Any:
        note(new_session=cwd)
        if LIKE == "login":
            raise acp.RequestError.auth_required()
        return schema.NewSessionResponse(session_id="s1")

    async def load_session(self, cwd: str, session_id: str, **rest: Any) -> Any:
        note(load_session=session_id)
        await self.say("what was said before", session_id)
        return schema.LoadSessionResponse()

    async def cancel(self, session_id: str, **rest: Any) -> None:
        note(cancel=session_id)
        self.cancelled.set()

    async def say(self, text: str, session_id: str = "s1") -> None:
        await self.client.session_update(session_id, acp.update_agent_message_text(text))

    async def prompt(self, prompt: list[Any], session_id: str, **rest: Any) -> Any:
        text = prompt[0].text
        note(prompt=text)
        name = text.split("\n")[-1]
        stop = await getattr(self, f"do_{name}")(session_id)
        usage = schema.Usage(total_tokens=17, input_tokens=10, output_tokens=5, cached_read_tokens=2)
        return schema.PromptResponse(stop_reason=stop or "end_turn", usage=usage)

    async def do_work(self, session_id: str) -> None:
        update = self.client.session_update
        await update(session_id, acp.update_agent_thought_text("Let me see."))
        await self.say("I look ", session_id)
        await self.say("around.", session_id)
        await update(session_id, acp.update_plan([acp.plan_entry("Read", status="in_progress")]))
        await update(
            session_id, acp.start_tool_call("c1", "Edit reef.txt", kind="edit", raw_input={"path": "reef.txt"})
        )
        diff = acp.tool_diff_content("reef.txt", "new\nsame\n", "old\nsame\n")
        await update(session_id, acp.update_tool_call("c1", status="completed", content=[diff]))
        await update(session_id, acp.update_plan([acp.plan_entry("Read", status="completed")]))
        cost = schema.Cost(amount=0.25, currency="USD")
        await update(session_id, schema.UsageUpdate(session_update="usage_update", used=5, size=10, cost=cost))
        await self.say("Done.", session_id)

    async def do_ask(self, session_id: str) -> None:
        options = [
            schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
            schema.PermissionOption(option_id="all", name="Always", kind="allow_always"),
            schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        call = schema.ToolCallUpdate(
            tool_call_id="c9", title="rm -r reef", kind="execute", raw_input={"command": "rm -r reef"}
        )
        said = await self.client.request_permission(session_id=session_id, tool_call=call, options=options)
        await self.say(json.dumps(said.outcome.model_dump(by_alias=True, exclude_none=True)), session_id)

    async def do_wait(self, session_id: str) -> str:
        await self.say("waiting", session_id)
        await self.cancelled.wait()
        await self.say(", and stopped", session_id)
        return "cancelled"

    async def do_deaf(self, session_id: str) -> None:
        await self.say("deaf", session_id)
        await asyncio.sleep(1000)

    async def do_hang_once(self, session_id: str) -> None:
        await self.say("begun", session_id)
        if prompts() == 1:
            await asyncio.sleep(1000)
        await self.say(", done", session_id)

    async def do_leave(self, session_id: str) -> None:
        await self.say("x", session_id)
        print("no space left", file=sys.stderr, flush=True)
        os._exit(3)

    async def do_quit(self, session_id: str) -> None:
        os._exit(0)

    async def do_mute(self, session_id: str) -> None:
        os.close(1)
        await asyncio.sleep(1000)

    async def do_garbage(self, session_id: str) -> None:
        lines = ["no json", "[1]", '{"id": [1], "result": 0}', '{"method": 5}', '{"id": 99, "result": {}}', '{"a": 1}']
        lines += ['{"method": "session/update", "params": {"sessionId": 5}}', '{"jsonrpc": "2.0", "id": 0, "error": 3}']
        os.write(1, ("\n".join(lines) + "\n\xff\n").encode("latin-1"))
        await self.say("fine", session_id)

    async def do_refuse(self, session_id: str) -> str:
        return "refusal"

    async def do_error(self, session_id: str) -> None:
        raise acp.RequestError(-32603, "Internal error", {"details": "the model is gone"})

    async def do_files(self, session_id: str) -> None:
        found = []
        for path in ("reef.txt", "../outside.txt", "link.txt", "/etc/hostname"):
            try:
                said = await self.client.read_text_file(path=path, session_id=session_id)
                found.append(said.content)
            except acp.RequestError as error:
                found.append(f"refused: {error}")
        await self.say("|".join(found), session_id)

    async def do_write(self, session_id: str) -> None:
        try:
            await self.client.write_text_file(path="below/new.txt", content="written\n", session_id=session_id)
            await self.say("written", session_id)
        except acp.RequestError as error:
            await self.say(f"refused: {error}", session_id)

    async def do_terminal(self, session_id: str) -> None:
        client, of = self.client, {"session_id": session_id}
        try:
            made = await client.create_terminal(command="sh", args=["-c", "pwd; echo oh >&2; exit 4"], **of)
            ended = await client.wait_for_terminal_exit(terminal_id=made.terminal_id, **of)
            said = await client.terminal_output(terminal_id=made.terminal_id, **of)
            await client.release_terminal(terminal_id=made.terminal_id, **of)
            lines = sorted(said.output.split())
            await self.say(json.dumps([ended.exit_code, said.exit_status.exit_code, lines]), session_id)
            slow = await client.create_terminal(command="sleep", args=["1000"], **of)
            await client.kill_terminal(terminal_id=slow.terminal_id, **of)
            said = await client.terminal_output(terminal_id=slow.terminal_id, **of)
            await self.say(f"|{said.exit_status.signal}", session_id)
            await client.create_terminal(command="sleep", args=["1000"], cwd="/", **of)
        except acp.RequestError as error:
            await self.say(f"|refused: {error}", session_id)


asyncio.run(acp.run_agent(Agent()))
