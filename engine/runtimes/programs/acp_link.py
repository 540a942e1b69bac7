"""The connection to an ACP agent; the only file that imports the package of the protocol.

Rule: only the end of the agent's output or an exceeded limit ends the connection. Lines that are not messages are
passed on as text. Importing this file takes more than a second of processor time (the package builds hundreds of
models), so it is imported in a thread, for the first agent of this type.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

from acp import schema
from acp.connection import Connection
from acp.exceptions import RequestError
from pydantic import BaseModel, ValidationError

from engine.children.child import Child
from engine.errors import AttemptInterrupted, EngineError
from engine.platform.version import program_version
from engine.runtimes.options import first_fault
from engine.runtimes.programs.acp_messages import Abilities, PermissionOption, ToolCall, TurnEnd
from engine.runtimes.programs.acp_requests import AcpRequests
from engine.runtimes.programs.acp_servers import SessionServer
from engine.runtimes.programs.acp_session import AcpSession, AgentRefused, LineEnded, LoginMissing
from engine.runtimes.programs.options import TOOL_KINDS

M = TypeVar("M", bound=BaseModel)
LOGIN_WANTED = -32000
"""Code of the error that a login is required."""
PROTOCOL = 1
MAX_MESSAGES = 1_000_000
"""Messages of a session."""
MAX_BYTES = 2_000_000_000
"""Bytes of all messages of a session."""
MAX_REQUESTS = 100
"""Open requests of an agent; more are refused."""
MAX_UNSENT = 1_000
"""Answers that an agent has not read."""
MAX_VALUES = 100_000
"""Values in the input or output of a tool call; larger ones are not recorded."""


class AcpLink:
    """The conversation with one agent.

    Args:
        client: Our side of the conversation.
        requests: Answers requests of the agent.
        reads: It may ask for files.
        writes: It may ask to write files.
        runs: It may ask to run programs.
    """

    def __init__(
        self, program: Child, client: AcpSession, requests: AcpRequests, *, reads: bool, writes: bool, runs: bool
    ) -> None:
        self._client = client
        self._requests = requests
        self._runs = runs
        self._files = schema.FileSystemCapabilities(read_text_file=reads, write_text_file=writes)
        self.lines = _Lines(program, client)
        self._open_requests = 0
        self._connection = Connection(self._handle, self.lines)

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()

    async def initialize(self) -> Abilities:
        """Exchange the initial handshake, and return what the agent supports."""
        answer = await self._ask(
            "initialize",
            schema.InitializeRequest(
                protocol_version=PROTOCOL,
                client_capabilities=schema.ClientCapabilities(fs=self._files, terminal=self._runs),
                client_info=schema.Implementation(name="quarterdeck", title="Quarterdeck", version=program_version()),
            ),
            schema.InitializeResponse,
        )
        if answer.protocol_version != PROTOCOL:
            raise AgentRefused(
                f"speaks version {answer.protocol_version} of the protocol, and only {PROTOCOL} is known"
            )
        able = answer.agent_capabilities
        sessions = able.session_capabilities if able is not None else None
        return Abilities(
            loads=bool(able is not None and able.load_session),
            resumes=sessions is not None and sessions.resume is not None,
            calls_addresses=bool(able is not None and able.mcp_capabilities and able.mcp_capabilities.http),
            logins=[login.name for login in answer.auth_methods or []],
        )

    async def new_session(self, cwd: str, servers: Sequence[SessionServer]) -> str:
        """Begin a session and return its id."""
        request = schema.NewSessionRequest(cwd=cwd, mcp_servers=[_server(server) for server in servers])
        return str((await self._ask("session/new", request, schema.NewSessionResponse)).session_id)

    async def take_up(self, session_id: str, cwd: str, servers: Sequence[SessionServer], *, load: bool) -> None:
        """Resume a session: load it with its history replayed, or just resume it."""
        used = [_server(server) for server in servers]
        if load:
            request = schema.LoadSessionRequest(session_id=session_id, cwd=cwd, mcp_servers=used)
            await self._send("session/load", request)
        else:
            resumed = schema.ResumeSessionRequest(session_id=session_id, cwd=cwd, mcp_servers=used)
            await self._send("session/resume", resumed)

    async def prompt(self, session_id: str, text: str) -> TurnEnd:
        """Send a prompt, and return how the agent's turn ended."""
        block = schema.TextContentBlock(type="text", text=text)
        request = schema.PromptRequest(session_id=session_id, prompt=[block])
        answer = await self._ask("session/prompt", request, schema.PromptResponse)
        usage = answer.usage
        if usage is None:
            return TurnEnd(answer.stop_reason)
        cached = usage.cached_read_tokens or 0
        tokens_in = usage.input_tokens + cached + (usage.cached_write_tokens or 0)
        return TurnEnd(answer.stop_reason, tokens_in, usage.output_tokens + (usage.thought_tokens or 0), cached)

    async def cancel(self, session_id: str) -> None:
        """Ask the agent to end its turn."""
        notification = schema.CancelNotification(session_id=session_id)
        with suppress(ConnectionError):
            await self._connection.send_notification("session/cancel", _json(notification))

    async def _ask(self, method: str, request: BaseModel, answer: type[M]) -> M:
        result = await self._send(method, request)
        try:
            return answer.model_validate(result)
        except ValidationError as error:
            raise AgentRefused(f"{method}: its answer is not one ({first_fault(error)})") from None

    async def _send(self, method: str, request: BaseModel) -> Any:
        try:
            return await self._connection.send_request(method, _json(request))
        except RequestError as error:
            detail = error.data if isinstance(error.data, str) else (error.data or {})
            more = detail.get("details") or detail.get("message") if isinstance(detail, dict) else detail
            if error.code == LOGIN_WANTED:
                raise LoginMissing(str(error)) from None
            raise AgentRefused(f"{method}: {error}" + (f" ({more})" if more else "")) from None
        except ConnectionError:
            raise LineEnded("its output has ended") from None

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        # Only the package's own errors are raised: it logs all others.
        try:
            if method == "session/update":
                self._update(schema.SessionNotification.model_validate(_known_kind(params, "update")).update)
                return None
            if self._open_requests >= MAX_REQUESTS:
                raise RequestError(-32603, f"more than {MAX_REQUESTS} requests are open")
            self._open_requests += 1
            try:
                return await self._answer(method, params)
            finally:
                self._open_requests -= 1
        except RequestError:
            if is_notification:
                return None
            raise
        except ValidationError:
            if is_notification:
                return None
            raise RequestError.invalid_params() from None
        except AttemptInterrupted:
            raise RequestError(-32603, "the attempt is stopped") from None
        except EngineError as error:
            raise RequestError(-32603, str(error), {"details": str(error)}) from None

    async def _answer(self, method: str, params: Any) -> Any:
        if method == "session/request_permission":
            request = schema.RequestPermissionRequest.model_validate(_known_kind(params, "toolCall"))
            if not _is_small(request.tool_call.raw_input):
                raise RequestError.invalid_params({"details": f"its input has more than {MAX_VALUES:,} values"})
            choices = [PermissionOption(option.option_id, option.name, option.kind) for option in request.options]
            chosen = await self._requests.permit(_tool_call(request.tool_call), choices)
            return {"outcome": {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}}
        if method == "fs/read_text_file" and self._files.read_text_file:
            reading = schema.ReadTextFileRequest.model_validate(params)
            return {"content": await self._requests.read_file(reading.path, reading.line, reading.limit)}
        if method == "fs/write_text_file" and self._files.write_text_file:
            writing = schema.WriteTextFileRequest.model_validate(params)
            await self._requests.write_file(writing.path, writing.content)
            return {}
        if method.startswith("terminal/") and self._runs:
            return await self._terminal(method, params)
        raise RequestError.method_not_found(method)

    async def _terminal(self, method: str, params: Any) -> Any:
        if method == "terminal/create":
            creation = schema.CreateTerminalRequest.model_validate(params)
            env = {variable.name: variable.value for variable in creation.env or []}
            argv = [creation.command, *(creation.args or [])]
            limit = creation.output_byte_limit
            return {"terminalId": await self._requests.run_program(argv, cwd=creation.cwd, env=env, most_bytes=limit)}
        if method == "terminal/output":
            terminal = self._requests.terminals.at(schema.TerminalOutputRequest.model_validate(params).terminal_id)
            status = terminal.exit_status
            ending = {} if status is None else {"exitStatus": {"exitCode": status[0], "signal": status[1]}}
            return {"output": terminal.output.decode(errors="replace"), "truncated": terminal.truncated, **ending}
        if method == "terminal/wait_for_exit":
            name = schema.WaitForTerminalExitRequest.model_validate(params).terminal_id
            code, signal = await self._requests.terminals.wait_for_exit(name)
            return {"exitCode": code, "signal": signal}
        if method == "terminal/kill":
            await self._requests.terminals.kill(schema.KillTerminalRequest.model_validate(params).terminal_id)
            return {}
        if method == "terminal/release":
            await self._requests.terminals.release(schema.ReleaseTerminalRequest.model_validate(params).terminal_id)
            return {}
        raise RequestError.method_not_found(method)

    def _update(self, update: Any) -> None:
        client = self._client
        if isinstance(update, schema.AgentMessageChunk | schema.AgentThoughtChunk):
            text = update.content.text if isinstance(update.content, schema.TextContentBlock) else ""
            (client.add_text if isinstance(update, schema.AgentMessageChunk) else client.show_thought)(text)
        elif isinstance(update, schema.ToolCallStart | schema.ToolCallProgress):
            client.update_call(_tool_call(update))
        elif isinstance(update, schema.AgentPlanUpdate):
            client.record_plan([{"content": entry.content, "status": entry.status} for entry in update.entries])
        elif isinstance(update, schema.UsageUpdate) and update.cost is not None and update.cost.currency == "USD":
            client.add_cost(update.cost.amount)


class _Lines:
    """Messages as lines of JSON: the transport of the package's connection."""

    def __init__(self, program: Child, client: AcpSession) -> None:
        self._program = program
        self._client = client
        self.fault: str | None = None
        """Why reading stopped before the end of the output; None if it did not."""
        self._unsent = 0

    async def send(self, message: dict[str, Any]) -> None:
        self._unsent += 1
        try:
            await self._program.send(json.dumps(message, ensure_ascii=False).encode(errors="replace") + b"\n")
        finally:
            self._unsent -= 1

    async def receive(self) -> dict[str, Any] | None:
        while True:
            try:
                line = await self._program.line()
            except ValueError:
                self.fault = "wrote a line that is too long"
                return None
            self.fault = self._client.too_much or self._flood()
            if not line or self.fault is not None:
                return None
            message = _message(line)
            if message is not None:
                return message
            if line.strip():
                self._client.add_text(line.decode(errors="replace"))

    def _flood(self) -> str | None:
        """Return which limit is exceeded; None if none is."""
        if self._program.lines_read > MAX_MESSAGES:
            return f"wrote more than {MAX_MESSAGES:,} messages"
        if self._program.bytes_read > MAX_BYTES:
            return f"wrote more than {MAX_BYTES:,} bytes"
        return f"does not read its input: {MAX_UNSENT:,} answers wait" if self._unsent > MAX_UNSENT else None

    async def close(self) -> None:
        """Nothing to close: the watcher owns the pipes."""


def _message(line: bytes) -> dict[str, Any] | None:
    """Return a message in a valid form for the connection; None if the line is not one."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not isinstance(message.get("id"), str | int | None):
        return None
    if "method" in message:
        return message if isinstance(message["method"], str) else None
    if not isinstance(message.get("error"), dict | None) or "id" not in message:
        return None
    return message


def _known_kind(params: Any, place: str) -> Any:
    """Return parameters with `other` in place of an unknown kind of tool."""
    call = params.get(place) if isinstance(params, dict) else None
    if not isinstance(call, dict) or call.get("kind") in (None, *TOOL_KINDS):
        return params
    return {**params, place: {**call, "kind": "other"}}


def _is_small(value: Any) -> bool:
    """Return whether a value contains at most `MAX_VALUES` values; counting takes some milliseconds."""
    values, count = [value], 1
    while values and count <= MAX_VALUES:
        inner = values.pop()
        children = inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
        count += len(children)
        values.extend(islice(children, MAX_VALUES))
    return count <= MAX_VALUES


def _bound_size(value: Any) -> Any:
    return value if _is_small(value) else f"[more than {MAX_VALUES:,} values]"


def _tool_call(update: Any) -> ToolCall:
    texts, diffs = [], []
    for content in update.content or []:
        if isinstance(content, schema.FileEditToolCallContent):
            diffs.append((content.path, content.old_text or "", content.new_text))
        elif isinstance(content, schema.ContentToolCallContent) and isinstance(
            content.content, schema.TextContentBlock
        ):
            texts.append(content.content.text)
    arguments, output = _bound_size(update.raw_input), _bound_size(update.raw_output)
    return ToolCall(update.tool_call_id, update.title, update.kind, update.status, arguments, output, texts, diffs)


def _server(server: SessionServer) -> Any:
    if server.url is not None:
        headers = [schema.HttpHeader(name=name, value=value) for name, value in server.headers.items()]
        return schema.HttpMcpServer(type="http", name=server.name, url=server.url, headers=headers)
    env = [schema.EnvVariable(name=name, value=value) for name, value in server.env.items()]
    return schema.McpServerStdio(name=server.name, command=server.argv[0], args=server.argv[1:], env=env)


def _json(message: BaseModel) -> dict[str, Any]:
    return message.model_dump(mode="json", by_alias=True, exclude_none=True)
