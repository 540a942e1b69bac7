"""A registry of agent blueprints that a program keeps, searched by words.

It belongs to the program and may serve several supervisors; its entries are specs, not running agents.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.errors import did_you_mean
from engine.core.queries.team.fits import candidate_from, tool_name
from engine.core.records.records import copy_with
from engine.core.specs.spec import AgentCapability, AgentSpec
from engine.errors import EngineError


class UnknownName(EngineError):
    """A registry does not have a name.

    Attributes:
        name: The unknown name.
    """

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = list(known)
        hint = did_you_mean(get_close_matches(name, names, n=3), "register it first")
        super().__init__(f"the registry has no {name!r}; {hint}")
        self.name = name


@dataclass(frozen=True, slots=True)
class SpecifiedAgent:
    """An agent that is specified and not in any team yet; made by `create_agent_from_spec`."""

    spec: AgentSpec

    @property
    def name(self) -> str:
        """Name of the spec."""
        return self.spec.name

    @property
    def capability(self) -> AgentCapability:
        """The agent's capabilities."""
        return capability_of(self.spec)


def create_agent_from_spec(spec: AgentSpec) -> SpecifiedAgent:
    """Return the agent that `spec` describes, to be registered or added to a team."""
    return SpecifiedAgent(copy_with(spec))


def capability_of(spec: AgentSpec, name: str | None = None, score: float | None = None) -> AgentCapability:
    """Return the capabilities of an agent of `spec`.

    Args:
        name: Name of the agent; by default the spec's name.
        score: Share of its successful tasks, 0 to 1.
    """
    return AgentCapability(
        name=name or spec.name,
        agent_type=spec.agent_type or "",
        description=spec.description,
        specialties=tuple(spec.specialties),
        tools=tuple(map(tool_name, spec.tools)),
        performance_score=score,
    )


@dataclass(slots=True)
class AgentInfo:
    """An entry of a registry."""

    agent: AgentSpec | SpecifiedAgent
    name: str = ""
    """Name of the entry; by default the spec's name."""
    description: str = ""
    capability: str | AgentCapability = ""
    """The agent's capabilities, in words that requests are matched with."""

    def __post_init__(self) -> None:
        """Fill in the name and the description of the spec."""
        self.name = self._own_spec.with_name(self.name or self._own_spec.name).name
        self.description = self.description or self._own_spec.description

    @property
    def _own_spec(self) -> AgentSpec:
        return self.agent.spec if isinstance(self.agent, SpecifiedAgent) else self.agent

    @property
    def spec(self) -> AgentSpec:
        """The blueprint under this entry's name, with the words of its capability among the specialties."""
        capability = self.capability
        words = capability.split() if isinstance(capability, str) else capability.specialties
        specialties = dict.fromkeys([*self._own_spec.specialties, *words])
        return copy_with(self._own_spec, name=self.name, description=self.description, specialties=tuple(specialties))


class AgentRegistry:
    """Blueprints by name."""

    def __init__(self) -> None:
        self._entries: dict[str, AgentInfo] = {}
        self._index = CapabilityIndex(())

    def register_agent(self, agent: AgentInfo | AgentSpec | SpecifiedAgent) -> AgentInfo:
        """Add an entry; replaces the entry with the same name."""
        info = agent if isinstance(agent, AgentInfo) else AgentInfo(agent)
        if info.name in self._entries:
            self._index.remove(info.name)
        self._entries[info.name] = info
        self._index.add(candidate_from(info.spec, info.name, info.name))
        return info

    def unregister(self, name: str) -> AgentInfo:
        """Remove an entry and return it; agents made from it stay.

        Raises:
            UnknownName: If there is none.
        """
        info = self.get(name)
        del self._entries[name]
        self._index.remove(name)
        return info

    def get(self, name: str) -> AgentInfo:
        """Return an entry.

        Raises:
            UnknownName: If there is none.
        """
        if name not in self._entries:
            raise UnknownName(name, self._entries)
        return self._entries[name]

    def search(self, text: str, limit: int = 10) -> list[AgentInfo]:
        """Return the entries that match the words of `text`, best first."""
        return [self._entries[match.id] for match in self._index.search(text, limit)]

    def list(self) -> list[AgentInfo]:
        """Return all entries in the order in which they were registered."""
        return [*self._entries.values()]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[AgentInfo]:
        return iter(self.list())
