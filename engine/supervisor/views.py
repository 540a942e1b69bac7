"""Looking at a team: who is in it, who could be, how it does. Nothing here waits or changes anything."""

from engine.core.capability_index import CapabilityIndex
from engine.core.commands import AddAgent
from engine.core.decide.indexing import chosen_for
from engine.core.spec import AgentSpec
from engine.metrics import AgentView, SupervisionMetrics, agent_view, metrics_of
from engine.registry import SpecifiedAgent, candidate_for, create_agent_from_spec
from engine.supervisor.node import Node


class Views(Node):
    """What a program sees of a supervisor."""

    @property
    def active_agents(self) -> dict[str, AgentView]:
        """Its own agents by name, as they are at this moment; a copy."""
        state, restored = self._state, self._line.restored
        return {agent.name: agent_view(agent, restored(state.spec_of(agent))) for agent in self._agents}

    def list_active_agents(self) -> list[str]:
        """Return the names of its own agents, in declared order."""
        return [agent.name for agent in self._agents]

    def list_available_agents(self) -> list[str]:
        """Return the names that an agent can be added by: those of the program's registry, then of the team's."""
        ours = [info.name for info in self.agent_registry or ()]
        return list(dict.fromkeys([*ours, *self._state.registry]))

    def get_supervision_metrics(self) -> SupervisionMetrics:
        """Return the figures of the supervisor with everything under it."""
        return metrics_of(self._state, self._here)

    def discover_agents(self, request: str) -> list[AgentView]:
        """Return its own agents that would be chosen for `request`, in the order in which it speaks of them."""
        found = chosen_for(self._state, list(self._agents), request, self._here.max_matches)
        views = {view.id: view for view in self.active_agents.values()}
        return [views[match.id] for match in found.matches]

    def find_matching_agent_specs(self, request: str, limit: int = 10) -> list[AgentSpec]:
        """Return specs that the words of `request` speak of, the best first: of its agents and of the registries."""
        specs = self._known_specs()
        index = CapabilityIndex(candidate_for(spec, name) for name, spec in specs.items())
        return [specs[match.id] for match in index.search(request, limit)]

    @staticmethod
    def create_agent_from_spec(spec: AgentSpec) -> SpecifiedAgent:
        """Return the agent that `spec` describes, to be registered or added."""
        return create_agent_from_spec(spec)

    def _known_specs(self) -> dict[str, AgentSpec]:
        state, restored = self._state, self._line.restored
        team = {name: restored(state.specs[key]) for name, key in state.registry.items()}
        ours = {info.name: info.spec for info in self.agent_registry or ()}
        here = self._target
        to_come = [one.spec for one in self._line.posted if isinstance(one, AddAgent) and one.supervisor == here]
        team |= {spec.name: spec for spec in to_come if spec is not None}
        return team | ours | {agent.name: restored(state.spec_of(agent)) for agent in self._agents}
