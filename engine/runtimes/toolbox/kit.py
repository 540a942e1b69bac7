"""The tools of one agent: functions, and the present tools of servers."""

from collections.abc import Mapping

from engine.core.specs.spec import AgentSpec
from engine.errors import PermanentFailure
from engine.runtimes.attempts.work import Work
from engine.runtimes.code import Code
from engine.runtimes.model.tools import Tool
from engine.runtimes.toolbox.functions import FunctionTool
from engine.runtimes.toolbox.mcp_servers import Server
from engine.runtimes.toolbox.mcp_tools import ServedTool, legal_names


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
        self._served: dict[tuple[str, str], ServedTool] = {}

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
        found: dict[str, Tool] = dict(self.functions)
        home_id = work.state.agents[work.effect.agent_id].supervisor_id
        for name, wanted in self._wanted().items():
            server = self._code.servers.server(work.state, home_id, name)
            await self._code.servers.prepare(self._code)
            for tool in await self._of(server, wanted, work):
                found.setdefault(tool.name, tool)
        return found

    async def served(self, work: Work, full_name: str) -> ServedTool | None:
        """Return the tool of a server by its name in the team; None if the agent does not have it.

        Raises:
            UnknownServer, NotOffered, ServerDown: As `tools`.
        """
        server = full_name.partition("/")[0]
        if server not in self._spec.mcp and full_name not in self._spec.mcp:
            return None
        found = [one for one in (await self.tools(work)).values() if isinstance(one, ServedTool)]
        return next((one for one in found if one.full_name == full_name), None)

    def _wanted(self) -> dict[str, set[str]]:
        """Return the named servers, each with the named tools; an empty list means all of its tools."""
        wanted: dict[str, set[str]] = {}
        every = {one for one in self._spec.mcp if "/" not in one}
        for one in self._spec.mcp:
            server, _, tool = one.partition("/")
            wanted.setdefault(server, set())
            if server not in every:
                wanted[server].add(tool)
        return wanted

    async def _of(self, server: Server, wanted: set[str], work: Work) -> list[ServedTool]:
        offered = {one.name: one for one in await server.tools(self._code, work)}
        ruled = {one.partition("/")[2] for one in self._spec.approve if one.startswith(f"{server.name}/")}
        missing = sorted((wanted | ruled) - offered.keys())
        if missing:
            there = ", ".join(offered) or "none"
            raise NotOffered(f"the server {server.name!r} offers no {missing[0]!r}; it has {there}")
        names = legal_names(server.name, list(offered))
        tools = []
        for name, one in offered.items():
            if wanted and name not in wanted:
                continue
            known = self._served.get((server.name, name))
            if known is None or not known.is_of(server, one):
                known = self._served[server.name, name] = ServedTool(self._code, server, one, names[name])
            tools.append(known)
        return tools
