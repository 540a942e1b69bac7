"""The code that a team file names: its files, their hashes, and whether all of it can be loaded."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from engine.core.errors import Refused
from engine.core.queries.team.code import PROGRAM_TYPES, function_name
from engine.core.specs.approval import check_ruled_tools, punctuation_warning
from engine.errors import NotImported, Unusable
from engine.runtimes.functions.kinds import WITHOUT_CONTEXT
from engine.runtimes.functions.tools import options_of
from engine.teamfile import TeamFile, read_team
from engine.teamfile.build import agent_spec
from engine.teamfile.document import FileFault, Loc, printable
from engine.teamfile.faults import field
from engine.teamfile.meaning import agents_of, teams_of, type_of
from engine.teamfile.schema import AgentBlock
from engine.trusted_code.closure import Folder, digest_of, files_of
from engine.trusted_code.references import Origin, resolve


class TeamCode:
    """The code that a team file imports from its folder, in a snapshot that is taken on first use; blocks.

    Attributes:
        team: The file.
    """

    @classmethod
    def read(cls, path: Path) -> "TeamCode":
        """Read a team file; raises as `read_team`."""
        return cls(read_team(path))

    def __init__(self, team: TeamFile) -> None:
        self.team = team
        self._folder = Folder(team.folder)
        self.warnings: list[str] = []
        """Warnings about its code, after `reference_problems`."""

    @cached_property
    def files(self) -> dict[str, str]:
        """The hash of each file, by its path in the folder.

        Raises:
            Unusable: If one cannot be read.
        """
        return files_of(self._folder.sources(*self.team.references), self._folder.path)

    @cached_property
    def digests(self) -> dict[str, str]:
        """One hash for the code of each reference; empty for installed code.

        Raises:
            Unusable: If a file cannot be read.
        """
        return {reference: digest_of(self._folder.sources(reference)) for reference in self.team.references}

    def reference_problems(self) -> list[FileFault]:
        """Import every reference of a trusted team file and return those that do not resolve to a callable.

        A module that cannot be imported is reported once, where it is first named. Unlike all other checks of a team
        file, this runs its code.
        """
        faults = list[tuple[Loc, str, str]]()
        model_tools = self._tools_of_models()
        broken_modules = Counter[str]()
        tools: dict[Loc, list[str]] = {}
        for loc, reference, block in self._references():
            module = reference.partition(":")[0]
            if module in broken_modules:
                broken_modules[module] += 1
                continue
            try:
                function = resolve(Origin(reference, self.team.folder, self._folder.sources(reference)))
                if block is not None and loc[-1] == "run":
                    faults += _unused_by_function(loc[:-1], block, function)
                if warning := punctuation_warning(options_of(function).approve):
                    self.warnings.append(f"@tool of {reference}: approve: {warning}")
                tool = options_of(function).name or function_name(reference)
                if loc[-1] != "run":
                    tools.setdefault(loc[:-2], []).append(tool)
                if loc in model_tools or block is None:
                    from engine.runtimes.toolbox.schemas import FunctionSchema  # loads pydantic

                    FunctionSchema(tool, function)
            except NotImported as error:
                broken_modules[module] = 0
                faults.append((loc, error.reason, module))
            except Unusable as error:
                faults.append((loc, error.reason, ""))
        faults += self._rules_without_tool(tools)
        return [
            self._problem(loc, reason + _count_others(broken_modules[module], module)) for loc, reason, module in faults
        ]

    def _rules_without_tool(self, tools: Mapping[Loc, Sequence[str]]) -> Iterator[tuple[Loc, str, str]]:
        """Yield faults of approval rules for unknown tools, of agents whose tools were all loaded."""
        for loc, block in agents_of(self.team.team):
            names = tools.get(loc, [])
            if type_of(block) in PROGRAM_TYPES or len(names) < len(block.tools):
                continue
            try:
                check_ruled_tools(block.approve, names, block.mcp, block.may)
            except Refused as refused:
                yield (*loc, "approve"), refused.reason.removeprefix("approve: "), ""

    def servers(self) -> Iterator[tuple[Loc, list[str] | Unusable]]:
        """Start every tool server of a trusted team file; yield its path in the file, and its tools or its error.

        Takes seconds for each server.
        """
        from engine.runtimes.toolbox.probing import probe_server

        for loc, block in teams_of(self.team.team):
            for name, server in block.mcp.items():
                try:
                    yield (*loc, "mcp", name), probe_server(server, self.team.folder)
                except Unusable as unusable:
                    yield (*loc, "mcp", name), unusable

    def server_problems(self) -> list[FileFault]:
        """Return a fault for each tool server of a trusted team file that does not work."""
        return [
            self._problem(loc, f"the server does not work: {outcome.reason}")
            for loc, outcome in self.servers()
            if isinstance(outcome, Unusable)
        ]

    def _tools_of_models(self) -> set[Loc]:
        """Return the paths of tools that models call."""
        model_agents = [
            (loc, block) for loc, block in agents_of(self.team.team) if agent_spec(block).is_played_by_model
        ]
        return {(*loc, "tools", at) for loc, block in model_agents for at in range(len(block.tools))}

    def _problem(self, loc: Loc, text: str) -> FileFault:
        document = self.team.document
        return FileFault(document.line(loc), field(document, loc), printable(text))

    def _references(self) -> Iterator[tuple[Loc, str, AgentBlock | None]]:
        """Yield each reference with its path, and the agent that names it; None for one of a toolset."""
        for loc, block in agents_of(self.team.team):
            if block.run is not None:
                yield (*loc, "run"), block.run, block
            yield from (((*loc, "tools", at), tool, block) for at, tool in enumerate(block.tools))
        for loc, team in teams_of(self.team.team):
            for name, tools in team.supervisor.toolsets.items():
                yield from (((*loc, "supervisor", "toolsets", name, at), tool, None) for at, tool in enumerate(tools))


def _unused_by_function(loc: Loc, block: AgentBlock, function: Callable[..., Any]) -> Iterator[tuple[Loc, str, str]]:
    """Yield the keys of an agent that have no effect because its function takes only the text."""
    from engine.runtimes.functions.function import count_arguments

    if block.run_in != "process" and count_arguments(function, block.name) == 1:
        for place, text in WITHOUT_CONTEXT.unused_keys(block):
            yield (*loc, *place), text, ""


def _count_others(count: int, module: str) -> str:
    """Return the part of a message about the other references to a module that cannot be imported."""
    return f"; {count:,} other reference{'s' * (count > 1)} to {module!r} cannot be used either" if count else ""
