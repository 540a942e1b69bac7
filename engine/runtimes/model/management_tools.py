"""The tool `find_agents`, and the base of the tools by which a lead manages its members; the rest: `team_changes`."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from typing_extensions import override

from engine.catalogue import Catalogue, find_specs
from engine.core.discovery.match import Match
from engine.core.errors import Refused, UnknownAgent
from engine.core.queries.targets import find_agent
from engine.core.queries.team.discovery import matches_of, registered_specs
from engine.core.queries.team.rights import OwnTool
from engine.core.queries.team.tree import subtree_of
from engine.core.records.records import JsonValue
from engine.core.signals import FoundSpec
from engine.core.specs.discovery import DiscoveryConfig
from engine.core.state import Agent, State, Supervisor
from engine.errors import CatalogueError
from engine.models.records import ToolSchema
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.builtin_tools import BuiltinTool, CallRefused, text_in
from engine.runtimes.model.tools import Arguments, object_schema

MAX_FOUND = 10
TEXT: JsonValue = {"type": "string"}


class ManagementTool(BuiltinTool):
    """A tool about the members below the supervisor of an agent.

    Args:
        tools: The agent's functions, by the names that its approval rules have.
        models: Names of its models.
    """

    def __init__(self, work: Work, *, tools: Mapping[str, OwnTool], models: Sequence[str]) -> None:
        super().__init__(work)
        self._tools = tools
        self._models = models

    @property
    def _state(self) -> State:
        return self._work.attempt.state

    @property
    def _home(self) -> Supervisor:
        return self._state.supervisors[self._state.agents[self._work.effect.agent_id].supervisor_id]

    def _members(self) -> Iterator[Agent]:
        """Yield the agents below its supervisor, without itself."""
        below = {supervisor.id for supervisor in subtree_of(self._state, self._home)}
        agents = self._state.agents.values()
        return (agent for agent in agents if agent.supervisor_id in below and agent.id != self._work.effect.agent_id)

    def _member(self, target: str) -> Agent:
        """Return the member that a model names, the nearest first; raises CallRefused."""
        try:
            try:
                agent = find_agent(self._state, target, under=self._home)
            except UnknownAgent:
                agent = find_agent(self._state, target)
        except Refused as refused:
            raise CallRefused(refused.reason) from refused
        if agent.id == self._work.effect.agent_id:
            raise CallRefused(f"{target} is yourself; you can change other members of your team alone")
        if all(agent.id != member.id for member in self._members()):
            raise CallRefused(f"{target} is no member of your team")
        return agent


class FindAgentsTool(ManagementTool):
    """The tool `find_agents`: members and specs of the registry that match words."""

    name = "find_agents"

    @override
    def schema(self, name: str) -> ToolSchema | None:
        """It takes the words of what an agent is needed for."""
        about = "Look for agents by words: members of your team (source team), and others that you can add."
        return ToolSchema(name, about, object_schema(words=TEXT))

    @override
    async def _result(self, arguments: Arguments, key: str) -> JsonValue:
        state, members = self._state, {agent.id: agent for agent in self._members()}
        words = text_in(arguments, "words")
        matching = registered_specs(state, DiscoveryConfig())
        faults: list[JsonValue] = []
        try:
            matching += await self._work.in_thread(partial(_find_entries, words))
        except CatalogueError as error:
            faults = [{"source": "catalogue", "error": str(error)}]
        own = state.agents[self._work.effect.agent_id].spec
        specs = {(each.source.value, each.id): each for each in matching if each.hash != own}
        matches = matches_of(state, [*members.values()], specs.values(), words, MAX_FOUND)
        return [*(_describe(state, match, members, specs) for match in matches), *faults]


def _find_entries(words: str) -> list[FoundSpec]:
    return find_specs(Catalogue.open(), words)


def _describe(
    state: State, match: Match, members: Mapping[str, Agent], specs: Mapping[tuple[str, str], FoundSpec]
) -> JsonValue:
    member = members.get(match.id)
    spec = state.spec_of(member) if member is not None else specs[match.source, match.id].spec
    has_id = match.id != match.name and member is None
    return {
        "agent": match.id if has_id else match.name,
        **({"name": match.name} if has_id else {}),
        "source": match.source,
        **({} if member is None else {"status": member.status.value}),
        "description": spec.description,
        "specialties": [*spec.specialties],
        "score": match.score,
        "matched": [*match.matched],
        "missing": [*match.missing],
    }
