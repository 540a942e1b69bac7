"""The tools of one engine, cached so that each function is described once and each server started once."""

from collections.abc import Callable
from typing import Any

from engine.core.queries.team.code import function_name
from engine.runtimes.toolbox.call_limit import CallLimit
from engine.runtimes.toolbox.functions import FunctionTool
from engine.runtimes.toolbox.mcp_servers import Servers


class ToolCache:
    """Tools by the references of their functions, and servers.

    Args:
        start: Starts a task that lives as long as the engine.
    """

    def __init__(self, start: Callable[..., object]) -> None:
        self.servers = Servers(start)
        self._tools: dict[str, FunctionTool] = {}

    def tool(self, reference: str, function: Callable[..., Any]) -> FunctionTool:
        """Return the tool of a function; reloaded code gets a new tool with the same limit."""
        cached_tool = self._tools.get(reference)
        if cached_tool is not None and cached_tool.function is function:
            return cached_tool
        tool = FunctionTool(
            function_name(reference), function, cached_tool.call_limit if cached_tool is not None else CallLimit(None)
        )
        tool.call_limit.limit = tool.options.at_once
        self._tools[reference] = tool
        return tool
