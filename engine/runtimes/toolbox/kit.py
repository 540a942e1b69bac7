"""The tools of one agent: functions, and the present tools of servers."""

from collections.abc import Mapping

from engine.core.specs.spec import AgentSpec
from engine.errors import PermanentFailure
from engine.runtimes.attempts.work import Work
from engine.runtimes.code import Code
from engine.runtimes.model.tools import Tool
from engine.runtimes.toolbox.functions import FunctionTool
from engine.runtimes.toolbox.mcp_servers import Server
from engine.runtimes.toolbox.mcp_tools import ServerTool, legal_names


class NotOffered(PermanentFailure):
    """An agent names a tool that its server does not offer."""


class Kit:
    """Tools by the names under which a model calls them.

    Args:
        code: Loads the code of the tools.
        functions: Its function tools, with their schemas.
    """

    def __init__(self, spec: AgentSpec, code: Code, functions: Mapping[str, FunctionTool]) -> None:
        self._spec = spec
        self._code = code
        self.functions = functions
        """The function tools."""
        self._server_tools: dict[tuple[str, str], ServerTool] = {}

    @property
    def has_servers(self) -> bool:
        """Whether it has tools of servers, which may change."""
        return bool(self._spec.mcp)

    async def tools(self, work: Work) -> dict[str, Tool]:
        """Return the present tools; servers that do not run are started.

        Raises:
            UnknownServer, NotOffered: If the spec names a missing server or tool.
            ServerDown: If a server does not work.
        """
        tools: dict[str, Tool] = dict(self.functions)
        home_id = work.attempt.state.agents[work.effect.agent_id].supervisor_id
        for name, tool_names in self._tool_names().items():
            server = self._code.servers.server(work.attempt.state, home_id, name)
            await self._code.servers.prepare(self._code)
            for tool in await self._tools_of(server, tool_names, work):
                tools.setdefault(tool.name, tool)
        return tools

    async def server_tool(self, work: Work, full_name: str) -> ServerTool | None:
        """Return the tool of a server by its name in the team; None if the agent does not have it.

        Raises:
            UnknownServer, NotOffered, ServerDown: As `tools`.
        """
        server = full_name.partition("/")[0]
        if server not in self._spec.mcp and full_name not in self._spec.mcp:
            return None
        tools = [tool for tool in (await self.tools(work)).values() if isinstance(tool, ServerTool)]
        return next((tool for tool in tools if tool.full_name == full_name), None)

    def _tool_names(self) -> dict[str, set[str]]:
        """Return the named servers, each with the named tools; an empty set means all of its tools."""
        tool_names: dict[str, set[str]] = {}
        whole_servers = {name for name in self._spec.mcp if "/" not in name}
        for name in self._spec.mcp:
            server, _, tool = name.partition("/")
            tool_names.setdefault(server, set())
            if server not in whole_servers:
                tool_names[server].add(tool)
        return tool_names

    async def _tools_of(self, server: Server, tool_names: set[str], work: Work) -> list[ServerTool]:
        offered_tools = {tool.name: tool for tool in await server.tools(self._code, work)}
        ruled_names = {name.partition("/")[2] for name in self._spec.approve if name.startswith(f"{server.name}/")}
        missing = sorted((tool_names | ruled_names) - offered_tools.keys())
        if missing:
            offered_names = ", ".join(offered_tools) or "none"
            raise NotOffered(f"the server {server.name!r} offers no {missing[0]!r}; it has {offered_names}")
        names = legal_names(server.name, list(offered_tools))
        tools = []
        for name, tool in offered_tools.items():
            if tool_names and name not in tool_names:
                continue
            server_tool = self._server_tools.get((server.name, name))
            if server_tool is None or not server_tool.is_of(server, tool):
                server_tool = self._server_tools[server.name, name] = ServerTool(self._code, server, tool, names[name])
            tools.append(server_tool)
        return tools
