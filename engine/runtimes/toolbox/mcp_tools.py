"""A tool of a server (MCP) for models: under a name that every provider accepts, and with checked arguments."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import anyio

from engine.core.records.records import JsonValue
from engine.errors import EngineError, ToolRejected
from engine.models.bounds import IN_LOOP_S
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.tools import ToolOptions
from engine.runtimes.toolbox.call_value import CallValue, server_value
from engine.runtimes.toolbox.calling import MAX_FAULTS, ToolError, ToolTimeout, wait_for_approval
from engine.runtimes.toolbox.mcp_connection import Connection
from engine.runtimes.toolbox.mcp_records import Lost, NotReached, OfferedTool
from engine.runtimes.toolbox.mcp_servers import Server, ServerDown

if TYPE_CHECKING:
    from engine.runtimes.code import Code

MAX_NAME_CHARACTERS = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


class CutOff(EngineError):
    """A server was lost before it answered a call that must not run twice; the task is in doubt."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the server ended while it was calling {name!r}; it is unknown whether that happened")


class ServerTool:
    """A tool of a server.

    Args:
        code: Loads the code of the agent.
        offered: The server's description of the tool.
        name: Its name for models.
    """

    def __init__(self, code: "Code", server: Server, offered: OfferedTool, name: str) -> None:
        self.name = name
        self.full_name = f"{server.name}/{offered.name}"
        """Its name in the team."""
        self.description = offered.description
        self.parameters = offered.parameters
        self.options = ToolOptions(
            name=self.full_name, timeout_s=server.spec.timeout_s, idempotent=offered.name in server.spec.idempotent
        )
        self._code = code
        self._server = server
        self._offered = offered
        signature = [offered.description, dict(offered.parameters)]
        self._version = hashlib.blake2b(json.dumps(signature, sort_keys=True).encode(), digest_size=4).hexdigest()
        """Hash of the server's description: a standing permission holds for exactly this description."""

    def is_of(self, server: Server, offered: OfferedTool) -> bool:
        """Return whether it is this tool of this server."""
        return self._server is server and self._offered == offered

    async def call(self, work: Work, arguments: Mapping[str, JsonValue], key: str) -> JsonValue:
        """Return the result of one call: `model.tools.Tool.call`.

        Raises:
            CutOff: If the server is lost before it answers, and the call must not run twice.
        """
        self._check(arguments)

        async def value() -> CallValue:
            return server_value(arguments, self.parameters)

        try:
            await wait_for_approval(work, self.full_name, self.options, value, version=self._version)
        except ToolRejected as rejected:
            raise ToolError(str(rejected)) from rejected
        connection = await self._connect(work)
        if not self.options.idempotent:
            await work.tool_began(self.full_name, key)
        limit_s = self._server.spec.timeout_s
        try:
            with work.limits.step(f"tool:{self.name}"), anyio.move_on_after(limit_s):
                try:
                    return await connection.call(self._offered.name, arguments)
                except NotReached:
                    connection = await self._connect(work)
                    return await connection.call(self._offered.name, arguments)
        except NotReached as error:
            raise ToolError(f"{error}, nor does it accept the call over a new connection") from error
        except Lost as lost:
            if self.options.idempotent:
                raise ToolError(f"{lost}; it is started again with the next call") from lost
            raise CutOff(self.full_name) from lost
        raise ToolTimeout(self.full_name, limit_s)

    async def _connect(self, work: Work) -> Connection:
        try:
            return await self._server.connection(self._code, work)
        except ServerDown as down:
            raise ToolError(str(down)) from down

    def _check(self, arguments: Mapping[str, JsonValue]) -> None:
        """Check arguments against the schema.

        Raises:
            ToolError: If they are invalid.
        """
        from engine.runtimes.json_schema import checkable_schema, faults_of  # jsonschema, needed by servers' tools

        faults = []
        try:
            for fault in faults_of(dict(arguments), checkable_schema(self.parameters), within_s=IN_LOOP_S):
                place = ".".join(str(part) for part in fault.absolute_path)
                faults.append(f"{place}: {fault.message[:200]}" if place else fault.message[:200])
                if len(faults) == MAX_FAULTS:
                    break
        except Exception:  # an invalid schema may raise anything; the server checks the call itself
            return
        if faults:
            raise ToolError(f"wrong arguments of {self.name}: {'; '.join(' '.join(fault.split()) for fault in faults)}")


def legal_names(server: str, names: Sequence[str]) -> dict[str, str]:
    """Return the names of a server's tools for models; a changed name gets a suffix that keeps it unique."""
    return {name: _legal_name(server, name) for name in names}


def _legal_name(server: str, name: str) -> str:
    full_name = f"{server}__{name}"
    legal = _ILLEGAL.sub("_", full_name)
    is_plain = legal == full_name and len(legal) <= MAX_NAME_CHARACTERS
    if is_plain and full_name.count("__") == 1 and not server.endswith("_") and not name.startswith("_"):
        return legal
    mark = hashlib.blake2b(f"{server}/{name}".encode(), digest_size=4).hexdigest()
    return f"{legal[: MAX_NAME_CHARACTERS - len(mark) - 1]}_{mark}"
