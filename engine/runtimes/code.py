"""The code that specs refer to: found where it may be used, and the means to run it."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from engine.core.spec import AgentSpec
from engine.errors import Unusable
from engine.references import Origin, is_bound, resolve
from engine.runtimes.isolated import Sources
from engine.runtimes.processes import Processes
from engine.runtimes.programs.watched import Watched
from engine.runtimes.threads import Threads
from engine.runtimes.toolbox.functions import FunctionTool
from engine.runtimes.toolbox.tool_cache import ToolCache


class Code:
    """Loads callables by reference: those that the program passed, and those that may be imported.

    Args:
        bound: Callables of this process, by reference.
        sources: Returns the modules that a reference may be imported from, or None where the interpreter finds it as
            it finds the program's own; raises `Unusable` where it may not be imported. Blocks.
        folder: Folder that is searched for code besides installed packages.
        threads: For imports, and for plain functions.
        processes: For functions that compute.
        programs: For programs of others.
        tool_cache: The tools that were made of functions so far; None begins anew, and starts
            no server.
    """

    def __init__(
        self,
        *,
        bound: Mapping[str, Callable[..., Any]],
        sources: Callable[[str], Sources | None],
        folder: Path | None,
        threads: Threads,
        processes: Processes,
        programs: Watched,
        tool_cache: ToolCache | None = None,
    ) -> None:
        self._bound = bound
        self._sources = sources
        self.folder = folder or Path.cwd()
        """Where what the team's specs name is looked for."""
        self._folder = folder
        self.threads = threads
        self.processes = processes
        self.programs = programs
        self._tool_cache = tool_cache or ToolCache(_start_nothing)
        self.servers = self._tool_cache.servers

    async def locate(self, reference: str) -> Origin:
        """Return where a reference is imported from.

        Raises:
            Unusable: If it may not be imported; one line.
        """
        sources = None if is_bound(reference) else await self.threads.run(partial(self._sources, reference))
        return Origin(reference, self._folder, sources)

    async def load(self, reference: str) -> Callable[..., Any]:
        """Return the callable; its module is imported in a thread.

        Raises:
            Unusable: If it may not be imported, is not there or not callable; one line.
        """
        if reference in self._bound:
            return self._bound[reference]
        return await self.threads.run(partial(resolve, await self.locate(reference)))

    async def load_tools(self, spec: AgentSpec, *, described: bool = False) -> dict[str, FunctionTool]:
        """Return the tools of a spec by the names they are called by; names that are no references are skipped.

        Args:
            spec: Names them.
            described: Whether a model is to call them: each then has its schema.

        Raises:
            Unusable: As `load`; where two tools have one name; where one cannot be described.
        """
        tools: dict[str, FunctionTool] = {}
        for reference in spec.tools:
            if not isinstance(reference, str) or ":" not in reference:
                continue
            tool = self._tool_cache.tool(reference, await self.load(reference))
            if tool.name in tools:
                raise Unusable(
                    f"agent {spec.name!r} has two tools named {tool.name!r}; give one another with @tool(name=...)"
                )
            tools[tool.name] = tool
        _check_approvals(spec, tools)
        if described:
            await self.threads.run(partial(_describe, list(tools.values())))
        return tools


def _start_nothing(function: Callable[..., Any], /, *args: object) -> None:
    """Refuse to start a server: without an engine, code is only inspected."""


def _check_approvals(spec: AgentSpec, tools: Mapping[str, FunctionTool]) -> None:
    """Refuse a rule for a tool that is none: a misspelt name would let every call through."""
    servers = {one.partition("/")[0] for one in spec.mcp}
    for name in spec.approve:
        if name not in tools and name not in spec.tools and name.partition("/")[0] not in servers:
            there = ", ".join([*tools, *(f"{one}/…" for one in sorted(servers))]) or "none"
            raise Unusable(f"agent {spec.name!r}: approve: no tool {name!r}; it has {there}")


def _describe(tools: list[FunctionTool]) -> None:
    for tool in tools:
        tool.describe()
