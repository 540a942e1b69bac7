"""Methods that read a team: members, available specs, metrics; and its agents' specs as a mutable list."""

from collections.abc import Iterable, MutableSequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

import anyio.to_thread
from typing_extensions import override

from engine.core.activities.workflow import workflow_state
from engine.core.commands import AddAgent, RemoveMember, SwapAgent
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.match import Match
from engine.core.errors import DuplicateName
from engine.core.queries.targets import id_target
from engine.core.queries.team.discovery import matches_of, registered_specs
from engine.core.queries.team.fits import candidate_from
from engine.core.queries.team.matching import choose_agents
from engine.core.specs.discovery import DiscoveryConfig
from engine.core.specs.spec import AgentSpec
from engine.finding.agent_search import find_stored
from engine.supervisor.metrics import ActiveAgent, SupervisorMetrics, agent_view, metrics_of
from engine.supervisor.node import SupervisorNode, checks_arguments, spec_of, translate_refusals
from engine.supervisor.registry import SpecifiedAgent, create_agent_from_spec
from engine.supervisor.state_view import DynamicSupervisorState, messages_of


class Views(SupervisorNode):
    """Methods that read a supervisor."""

    @property
    def active_agents(self) -> dict[str, ActiveAgent]:
        """A snapshot of its own agents, by name."""
        state, with_callables = self._state, self._engine.with_callables
        return {agent.name: agent_view(agent, with_callables(state.spec_of(agent))) for agent in self._agents}

    def list_active_agents(self) -> list[str]:
        """Return the names of its own agents, in declared order."""
        return [agent.name for agent in self._agents]

    def list_available_agents(self) -> list[str]:
        """Return the names in the program's registry, then those in the team's, from which agents can be added."""
        return [*self._available_specs()]

    @property
    def state(self) -> DynamicSupervisorState:
        """All of it at this moment: conversations, agents, specs, metrics, and what its work is at."""
        state, supervisor = self._state, self._supervisor
        agents = self.active_agents
        found = [
            agent.name for agent in self._agents if agent.origin and agent.origin.kind in ("catalogue", "discovery")
        ]
        return DynamicSupervisorState(
            messages=(*messages_of(state, supervisor),),
            active_agents=MappingProxyType(agents),
            agent_capabilities=MappingProxyType({name: agent.capability for name, agent in agents.items()}),
            discovered_agents=MappingProxyType({name: agents[name] for name in found}),
            available_specs=MappingProxyType(self._available_specs()),
            supervisor_metrics=metrics_of(state, supervisor),
            discovery_cache=MappingProxyType({search.task_id: search for search in supervisor.discoveries}),
            workflow_state=workflow_state(state, supervisor),
        )

    def get_supervision_metrics(self) -> SupervisorMetrics:
        """Return metrics of the supervisor, including everything under it."""
        return metrics_of(self._state, self._supervisor)

    def discover_agents(self, request: str) -> list[ActiveAgent]:
        """Return its own agents that would be chosen for `request`, best match first."""
        choice = choose_agents(self._state, list(self._agents), request, self._supervisor.discovery.max_matches)
        views = {view.id: view for view in self.active_agents.values()}
        return [views[match.id] for match in choice.matches]

    def find_matching_agent_specs(self, request: str, limit: int = 10) -> list[AgentSpec]:
        """Return specs of its agents and of the registries that match the words of `request`, the best first."""
        specs = self._known_specs()
        index = CapabilityIndex(candidate_from(spec, name, spec.name) for name, spec in specs.items())
        return [specs[match.id] for match in index.search(request, limit)]

    @checks_arguments
    async def find_agents(self, request: str, config: DiscoveryConfig | None = None) -> list[Match]:
        """Return who could work on `request`, in the team and outside, best first; adds nobody.

        Args:
            request: The request; its score says how much of it one covers, of all that anybody covers.
            config: Where to look; by default as the supervisor does. No tool server is started and no agent is made
                for it: `mcp` and `dynamic` find nobody here.
        """
        config = config or self._supervisor.discovery
        folder = Path(self._state.team.folder) if self._state.team is not None else Path.cwd()
        search = partial(find_stored, config, request, folder, list[str]())
        found = await anyio.to_thread.run_sync(search)
        found += registered_specs(self._state, config)
        return matches_of(self._state, list(self._agents), found, request, config.max_matches)

    @staticmethod
    def create_agent_from_spec(spec: AgentSpec) -> SpecifiedAgent:
        """Return an agent of `spec`, to register or add."""
        return create_agent_from_spec(spec)

    def _available_specs(self) -> dict[str, AgentSpec]:
        state, own_specs = self._state, {info.name: info.spec for info in self.agent_registry or ()}
        team = {name: self._engine.with_callables(state.specs[key]) for name, key in state.registry.items()}
        return own_specs | team | own_specs

    def _known_specs(self) -> dict[str, AgentSpec]:
        state, with_callables, target = self._state, self._engine.with_callables, self._target
        added_specs = [
            command.spec
            for command in self._engine.posted
            if isinstance(command, AddAgent) and command.supervisor == target
        ]
        added = {spec.name: spec for spec in added_specs if spec is not None}
        own = {agent.name: with_callables(state.spec_of(agent)) for agent in self._agents}
        return self._available_specs() | added | own


class AgentSpecs(MutableSequence[AgentSpec]):
    """Specs of the agents, in declared order; changes are carried out before any later call.

    `append` and `extend` add agents at the end, `remove`, `pop` and `del` remove agents after their current work, and
    assigning to an index swaps. Use it from the event loop of the team.
    """

    def __init__(self, node: SupervisorNode) -> None:
        self._node = node

    def _pending_specs(self) -> list[tuple[str, AgentSpec]]:
        """Targets and specs as they will be after all posted commands; a new agent has no id yet."""
        node = self._node
        state, engine, own_target = node._state, node._engine, node._target
        specs = {
            id_target(agent.id): engine.with_callables(state.spec_of(agent))
            for agent in node._agents
            if agent.removing is None
        }
        for command in engine.posted:
            match command:
                case AddAgent(supervisor=supervisor, spec=AgentSpec() as spec) if supervisor == own_target:
                    if all(spec.name != other.name for other in specs.values()):
                        specs[_placeholder(spec.name)] = spec
                case RemoveMember(target=target):
                    specs.pop(target, None)
                case SwapAgent(agent=target, spec=AgentSpec() as spec) if target in specs:
                    specs[target] = spec
                case _:
                    continue
        return list(specs.items())

    @override
    def insert(self, index: int, value: AgentSpec) -> None:
        """Add an agent at the end.

        Raises:
            CommandRefusedError: If the name is taken.
            Unusable: If its code is missing or cannot be called.
            IndexError: If `index` is not the end, because existing agents keep their order.
        """
        specs = self._pending_specs()
        if index < len(specs):
            raise IndexError("agents that are there keep their order; append adds one at the end")
        spec = spec_of(value)
        if any(spec.name == other.name for _, other in specs) and not self._is_left(spec.name):
            with translate_refusals():
                raise DuplicateName(spec.name, f"supervisor {self._node.name!r}")
        self._node._engine.post(lambda: AddAgent(supervisor=self._node._target, spec=spec))

    def _is_left(self, name: str) -> bool:
        """Return whether the agent of that name was left by an earlier process."""
        return any(agent.name == name and not self._node._engine.is_ours(agent.id) for agent in self._node._agents)

    @override
    def index(self, value: AgentSpec, start: int = 0, stop: int | None = None) -> int:
        """Return the index of a spec.

        Raises:
            ValueError: If the list does not contain it.
        """
        return super().index(spec_of(value), start, stop)  # type: ignore[arg-type]  # None is its default

    @overload
    def __setitem__(self, index: int, value: AgentSpec) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[AgentSpec]) -> None: ...
    @override
    def __setitem__(self, index: int | slice, value: Any) -> None:
        """Swap one agent."""
        if isinstance(index, slice):
            raise TypeError("assign to one place at a time")
        target_id, old_spec = self._pending_specs()[index]
        spec = spec_of(value)
        self._node._engine.post(lambda: SwapAgent(agent=self._target(target_id, old_spec.name), spec=spec))

    @override
    def __delitem__(self, index: int | slice) -> None:
        """Remove agents after their current work."""
        specs = self._pending_specs()
        for target_id, spec in specs[index] if isinstance(index, slice) else [specs[index]]:
            target = partial(self._target, target_id, spec.name)
            self._node._engine.post(lambda target=target: RemoveMember(target=target(), mode="drain"))  # type: ignore[misc]

    def _target(self, target_id: str, name: str) -> str:
        """Return the target of an agent; a placeholder if it was not added yet."""
        if target_id != _placeholder(name):
            return target_id
        return next((id_target(agent.id) for agent in self._node._agents if agent.name == name), target_id)

    @overload
    def __getitem__(self, index: int) -> AgentSpec: ...
    @overload
    def __getitem__(self, index: slice) -> list[AgentSpec]: ...
    @override
    def __getitem__(self, index: int | slice) -> AgentSpec | list[AgentSpec]:
        """Return specs, with their callables."""
        specs = [spec for _, spec in self._pending_specs()]
        return specs[index]

    @override
    def __len__(self) -> int:
        return len(self._pending_specs())

    @override
    def __repr__(self) -> str:
        return f"AgentSpecs({[spec for _, spec in self._pending_specs()]!r})"


def _placeholder(name: str) -> str:
    """Return the placeholder for an agent that has no id yet."""
    return f"new {name}"
