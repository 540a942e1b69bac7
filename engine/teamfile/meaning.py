"""Checks a team file across its parts: names that clash, members that do not exist, agents without code.

Rule: nothing of the team's own code is imported.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from engine.core.errors import Refused
from engine.core.records.records import JsonValue
from engine.core.specs.approval import check_approval
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.spec import MODEL_TYPES
from engine.core.strategies import STRATEGIES, check_settings
from engine.errors import Unusable
from engine.models.scripted import Reply
from engine.platform.strategies_plugins import installed_strategies
from engine.runtimes.catalogue import built_in, kind_of
from engine.runtimes.kinds import AgentKind
from engine.runtimes.model.output import check_schema
from engine.teamfile.document import MAX_PROBLEMS, FileFault, Loc, YamlDocument, suggest
from engine.teamfile.faults import field, problems_of
from engine.teamfile.schema import AgentBlock, TeamBlock, TeamDocument

_MODEL = ModelSpec(model="any")
_PROVIDER_KEYS = ("key_env", "base_url", "timeout_s", "idle_s")
"""Keys of a model that have no effect with `replies`, because no provider is called."""
WARN_ABOVE_LEVELS = 3
"""Levels of teams; deeper nesting is warned about, because each further level costs more than it contributes."""


class Meaning:
    """Checks a team file of valid shape, or the valid part of one.

    Args:
        document: The document that contains it.
        faulty: Locations from which faulty values were removed; faults that may follow from that are not reported.
    """

    def __init__(self, team: TeamDocument, document: YamlDocument, *, faulty: Sequence[Loc] = ()) -> None:
        installed_strategies()
        self._team = team
        self._document = document
        self._strategies = sorted(STRATEGIES)
        self._faulty = frozenset(faulty)
        self._faulty_prefixes = {place[:length] for place in faulty for length in range(len(place) + 1)}
        self._problems: list[FileFault] = []

    def problems(self) -> list[FileFault]:
        """Return the faults, up to `MAX_PROBLEMS` of them."""
        for loc, block in teams_of(self._team):
            if len(self._problems) < MAX_PROBLEMS:
                self._check_names(block, loc)
                self._check_supervisor(block, loc)
        names: dict[str, int] = {}
        for at, spec in enumerate(self._team.registry):
            self._check_unique(names, spec.name, ("registry", at, "name"))
        for loc, agent in agents_of(self._team):
            if len(self._problems) < MAX_PROBLEMS:
                self._check_agent(agent, loc)
        return self._problems[:MAX_PROBLEMS]

    def _check_names(self, block: TeamBlock, loc: Loc) -> None:
        lines: dict[str, int] = {}
        for at, agent in enumerate(block.agents):
            self._check_unique(lines, agent.name, (*loc, "agents", at, "name"))
        for at, team in enumerate(block.teams):
            self._check_unique(lines, team.supervisor.name, (*loc, "teams", at, "supervisor", "name"))

    def _check_supervisor(self, block: TeamBlock, loc: Loc) -> None:
        chief, place = block.supervisor, (*loc, "supervisor")
        agents = [agent.name for agent in block.agents]
        members = agents + [team.supervisor.name for team in block.teams]
        if chief.strategy not in self._strategies:
            self._report(
                (*place, "strategy"), f"no strategy {chief.strategy!r}; {suggest(chief.strategy, self._strategies)}"
            )
        if chief.aggregation == "synthesis" and chief.aggregator is None:
            self._report(
                (*place, "aggregation"), "synthesis needs an 'aggregator': the name of the agent that writes it"
            )
        self._check_lead(block, loc)
        if self._has_all_names(loc):
            self._check_members(block, agents, members, loc)
        for name, model in block.models.items():
            for key in _PROVIDER_KEYS if model.replies else ():
                if getattr(model, key) != getattr(_MODEL, key):
                    place = (*loc, "models", name, key)
                    self._report(place, "does nothing beside 'replies', which are said in its place")
            for at, reply in enumerate(model.replies):
                self._check_value(Reply, reply, (*loc, "models", name, "replies", at))
        for name, server in block.mcp.items():
            key, kind = ("headers_env", "a program") if server.url is None else ("env", "an address")
            if getattr(server, key):
                self._report((*loc, "mcp", name, key), f"does nothing for {kind}; leave it out")
        for category, strategy in block.strategies.items():
            if strategy not in self._strategies:
                text = f"no strategy {strategy!r}; {suggest(strategy, self._strategies)}"
                self._report((*loc, "strategies", category), text)
        if len(agents) > chief.max_agents:
            self._report((*place, "max_agents"), f"{len(agents)} agents are more than max_agents, {chief.max_agents}")

    def _has_all_names(self, loc: Loc) -> bool:
        """Return whether all members of a team have valid names."""
        names = ((), ("name",), ("supervisor",), ("supervisor", "name"))
        if loc not in self._faulty_prefixes:
            return True
        below = [place[len(loc) :] for place in self._faulty if place[: len(loc)] == loc]
        return not any(at[:1] in (("agents",), ("teams",)) and at[2:] in names for at in below)

    def _check_members(self, block: TeamBlock, agents: Sequence[str], members: Sequence[str], loc: Loc) -> None:
        chief, place = block.supervisor, (*loc, "supervisor")
        self._check_known((*place, "aggregator"), [chief.aggregator], agents, "agent")
        self._check_settings(block, members, loc)
        self._check_known((*place, "lead"), [chief.lead], agents, "agent")
        self._check_known((*place, "default_agent"), [chief.default_agent], agents, "agent")
        self._check_known((*place, "participants"), chief.participants or [], members, "agent or team")
        self._check_known((*place, "order"), chief.order or [], members, "agent or team")
        if chief.discovery is not None:
            registry = [agent.name for agent in self._team.registry]
            template = (*place, "discovery", "template")
            self._check_known(template, [chief.discovery.template], registry, "spec of the registry")

    def _check_settings(self, block: TeamBlock, members: Sequence[str], loc: Loc) -> None:
        chief, place = block.supervisor, (*loc, "supervisor")
        if chief.strategy not in self._strategies:
            return
        try:
            check_settings(chief.strategy, chief.settings, members)
        except Refused as refusal:
            self._report((*place, "settings") if chief.settings else (*place, "strategy"), refusal.reason)

    def _check_agent(self, agent: AgentBlock, loc: Loc) -> None:
        runtime = type_of(agent)
        kind = kind_of(runtime, agent.run, agent.run_in)
        if runtime is None:
            self._report(loc, "says not what does the work; give it run: module:function, or a model")
        elif kind is None:
            self._report((*loc, "type"), f"no runtime {runtime!r}; {suggest(runtime, list(built_in()))}")
        elif runtime == "function" and agent.run is None:
            self._report(loc, "give it run: module:function")
        else:
            self._check_options(agent, kind, loc)
        for place, text in kind.unused_keys(agent) if kind is not None else ():
            self._report((*loc, *place), text)
        if agent.output is not None:
            self._check_output(agent.output, (*loc, "output"))
        if agent.script is not None and runtime != "scripted":
            self._report(
                (*loc, "script"), f"is for scripted agents, and the type of this one is {runtime or 'not said'}"
            )
        self._check_servers(agent, loc)
        for tool, rule in agent.approve.items():
            self._check_approval((*loc, "approve", tool), rule)

    def _check_servers(self, agent: AgentBlock, loc: Loc) -> None:
        """Check that the tool servers that an agent names are defined in its team or in one above."""
        teams = [(at, block) for at, block in teams_of(self._team) if loc[0] == "registry" or loc[: len(at)] == at]
        servers = list(dict.fromkeys(name for _, block in teams for name in block.mcp))
        for index, tool in enumerate(agent.mcp):
            server = tool.partition("/")[0]
            is_faulty = any({(*at, "mcp"), (*at, "mcp", server)} & self._faulty for at, _ in teams)
            if server not in servers and not is_faulty:
                hint = suggest(server, servers) if servers else "name it under mcp"
                self._report((*loc, "mcp", index), f"no tool server {server!r} here or above; {hint}")

    def _check_approval(self, loc: Loc, rule: JsonValue) -> None:
        try:
            check_approval("approve", rule)
        except Refused as refused:
            self._report(loc, refused.reason.removeprefix("approve: "))

    def _check_options(self, agent: AgentBlock, kind: AgentKind, loc: Loc) -> None:
        """Check the options of an agent by the record of its kind; `script` is one that stands beside them."""
        if kind.options is None:
            return
        if not agent.options and kind.options_hint:
            self._report((*loc, "options"), f"is missing; {kind.options_hint}")
        elif agent.script is None or "script" not in kind.options.model_fields:
            self._check_value(kind.options, agent.options, (*loc, "options"))
        else:
            if "script" in agent.options:
                self._report((*loc, "script"), "stands in options too; keep one of them")
            self._check_value(kind.options, {**agent.options, "script": agent.script}, loc)

    def _check_output(self, schema: JsonValue, loc: Loc) -> None:
        try:
            check_schema(schema)
        except Unusable as unusable:
            self._report(loc, unusable.reason)

    def _check_lead(self, block: TeamBlock, loc: Loc) -> None:
        """Check that a supervisor with a model as lead names no other lead."""
        chief, place = block.supervisor, (*loc, "supervisor")
        if chief.model is None:
            if chief.instructions:
                self._report((*place, "instructions"), "are for a model that leads; name it with 'model'")
            if chief.instructions_template and chief.lead is None:
                self._report((*place, "instructions_template"), "is for a model that leads; name it with 'model'")
            return
        if chief.lead is not None:
            self._report((*place, "lead"), "a model leads already; leave out 'lead' or 'model'")
        if "strategy" in chief.model_fields_set and chief.strategy != "delegate":
            self._report(
                (*place, "strategy"), f"a model that leads delegates, and this is {chief.strategy!r}; remove one"
            )
        if any(agent.name == chief.name for agent in block.agents):
            self._report((*place, "model"), f"makes an agent {chief.name!r}, and there is one; rename one of them")

    def _check_value(self, model: type[BaseModel], value: object, loc: Loc) -> None:
        """Check a value against a model."""
        try:
            model.model_validate(value)
        except ValidationError as error:
            self._problems += problems_of(error.errors(include_url=False), self._document, under=loc, model=model)

    def _check_unique(self, lines: dict[str, int], name: str, loc: Loc) -> None:
        if name in lines:
            self._report(loc, f"there is a {name!r} on line {lines[name]} already; choose another name")
        lines.setdefault(name, self._document.line(loc))

    def _check_known(self, loc: Loc, names: Sequence[str | None], members: Sequence[str], kind: str) -> None:
        earlier: set[str] = set()
        member_names = frozenset(members)
        for name in names:
            if len(self._problems) >= MAX_PROBLEMS:
                return
            if name is not None and name not in member_names:
                self._report(loc, f"no {kind} {name!r} here; {suggest(name, members)}")
            elif name is not None and name in earlier:
                self._report(loc, f"{name!r} occurs twice")
            earlier.add(name or "")

    def _report(self, loc: Loc, text: str) -> None:
        is_faulty = loc in self._faulty_prefixes or any(loc[:length] in self._faulty for length in range(len(loc) + 1))
        if not is_faulty:
            self._problems.append(FileFault(self._document.line(loc), field(self._document, loc), text))


def type_of(agent: AgentBlock) -> str | None:
    """Return the runtime of an agent, derived from other keys if `type` is missing; None if it cannot be derived."""
    return agent.type if agent.type is not None else implied_type(vars(agent))


def implied_type(keys: Mapping[str, Any]) -> str | None:
    """Return the runtime that follows from the keys of an agent besides `type`; None if none does."""
    if keys.get("run") is not None:
        return "function"
    if keys.get("script") is not None:
        return "scripted"
    return MODEL_TYPES[0] if keys.get("model") is not None or keys.get("instructions") else None


def teams_of(team: TeamBlock, loc: Loc = ()) -> Iterator[tuple[Loc, TeamBlock]]:
    """Yield a team and all teams under it, each with its path in the file."""
    yield loc, team
    for at, under in enumerate(team.teams):
        yield from teams_of(under, (*loc, "teams", at))


def agents_of(team: TeamDocument) -> Iterator[tuple[Loc, AgentBlock]]:
    """Yield every agent of the file and every spec of its registry, each with its path in the file."""
    for loc, block in teams_of(team):
        yield from (((*loc, "agents", at), agent) for at, agent in enumerate(block.agents))
    yield from ((("registry", at), spec) for at, spec in enumerate(team.registry))


def depth_of(team: TeamBlock) -> int:
    """Return the number of levels of supervisors."""
    return 1 + max((depth_of(under) for under in team.teams), default=0)
