"""Supervisors and agents: their tree, their settings and the queues that they serve."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from typing_extensions import override

from engine.core import events
from engine.core.records.records import copy_with
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.core.state import Agent, Origin, State, Supervisor
from engine.simulation.ledger import Ledger, make_entry

Declaration: TypeAlias = tuple[str | None, str]
"""The content hash of the spec, None for a supervisor; the id of the supervisor, empty for a root."""


@dataclass(slots=True)
class SupervisorEntry:
    """A supervisor, as of the events."""

    id: str
    name: str
    parent_id: str | None
    mode: str
    options: SupervisorOptions
    max_parallel: int
    max_agents: int
    members: list[str] = field(default_factory=list)
    paused: bool = False
    error: str | None = None
    leaving: str | None = None
    exhausted: bool = False
    is_on_hold: bool = False

    @property
    def is_leaving(self) -> bool:
        """True while it is being removed."""
        return self.leaving is not None


def supervisor_entry(supervisor: Supervisor) -> SupervisorEntry:
    """Convert a supervisor of the state."""
    return make_entry(
        SupervisorEntry, supervisor, exhausted=supervisor.exhausted is not None, is_on_hold=supervisor.held
    )


@dataclass(slots=True)
class AgentEntry:
    """An agent, as of the events."""

    id: str
    name: str
    supervisor_id: str
    spec: AgentSpec
    origin: Origin | None = None
    previous: AgentSpec | None = None
    generation: int = 1
    drained: int = 1
    size: int = 1
    paused: bool = False
    removing: Literal["drain", "requeue", "abort"] | None = None
    error: str | None = None
    away: bool = False
    stuck: int = 0
    exhausted: bool = False
    is_on_hold: bool = False
    restarts: int = 0
    resized_ms: int | None = field(default=None, compare=False)
    """When it last got another instance."""

    @property
    def parent_id(self) -> str:
        """Its supervisor."""
        return self.supervisor_id

    @property
    def is_leaving(self) -> bool:
        """True while it is being removed."""
        return self.removing is not None

    @property
    def slots(self) -> int:
        """Most attempts at once."""
        return self.size * self.spec.max_concurrency


def agent_entry(state: State, agent: Agent) -> AgentEntry:
    """Convert an agent of the state."""
    return make_entry(
        AgentEntry,
        agent,
        spec=state.spec_of(agent),
        previous=state.specs.get(agent.previous or ""),
        exhausted=agent.exhausted is not None,
        is_on_hold=agent.held,
        resized_ms=None,
    )


class GrantEntry(NamedTuple):
    """A standing permission."""

    agent_id: str
    generation: int
    tool: str
    allows: bool
    limit: str | int | None
    """The task or run that it is for, or when it ends."""
    where: tuple[tuple[str, str], ...]


class TeamLedger(Ledger):
    """Every supervisor and agent."""

    def __init__(self) -> None:
        self.supervisors: dict[str, SupervisorEntry] = {}
        self.agents: dict[str, AgentEntry] = {}
        self.served: dict[str, list[str]] = {}
        """Agents that serve each queue by capability."""
        self.registry: dict[str, AgentSpec] = {}
        self.declared: dict[str, Declaration] = {}
        """Existing members that were declared, with their last declaration."""
        self.grants: dict[str, GrantEntry] = {}
        self.token = 0
        """Lease token of the last engine."""
        self.processes: int | None = None
        """Processes that its computer can run at once."""

    @override
    def take(self, event: events.Event) -> None:
        """Apply an event to the team."""
        super().take(event)
        if getattr(event, "stuck", False):
            self.agents[event.agent_id].stuck += 1  # type: ignore[attr-defined]

    def adopt(self, state: State) -> None:
        """Take the members of an import from the folded state."""
        for supervisor in state.supervisors.values():
            self.supervisors.setdefault(supervisor.id, supervisor_entry(supervisor))
        for agent in state.agents.values():
            self.agents.setdefault(agent.id, agent_entry(state, agent))
        for key, queue in state.queues.items():
            if key.startswith("able:") and key not in self.served:
                self.served[key] = [*queue.agents]
        self.registry = {name: state.specs[key] for name, key in state.registry.items()}

    # Questions

    def member(self, member_id: str) -> AgentEntry | SupervisorEntry:
        """Return an existing agent or supervisor."""
        return self.agents.get(member_id) or self.supervisors[member_id]

    def find(self, member_id: str) -> AgentEntry | SupervisorEntry | None:
        """Return an agent or a supervisor; None if none has this id."""
        return self.agents.get(member_id) or self.supervisors.get(member_id)

    def lineage(self, supervisor_id: str | None) -> Iterator[SupervisorEntry]:
        """Yield a supervisor and its ancestors."""
        while supervisor_id is not None and supervisor_id in self.supervisors:
            yield self.supervisors[supervisor_id]
            supervisor_id = self.supervisors[supervisor_id].parent_id

    def inherited_option(self, supervisor_id: str, name: str, default: Any) -> Any:
        """Return an option of the nearest supervisor that has it."""
        values = (getattr(supervisor.options, name) for supervisor in self.lineage(supervisor_id))
        return next((value for value in values if value not in (None, ())), default)

    def subtree_ids(self, supervisor_id: str) -> list[str]:
        """Return the ids of a supervisor and its descendants."""
        return [
            candidate_id
            for candidate_id in self.supervisors
            if supervisor_id in {ancestor.id for ancestor in self.lineage(candidate_id)}
        ]

    def agents_under(self, supervisor_id: str) -> list[AgentEntry]:
        """Return the agents of a supervisor and its descendants."""
        below = set(self.subtree_ids(supervisor_id))
        return [agent for agent in self.agents.values() if agent.supervisor_id in below]

    def queues_of(self, agent_id: str) -> list[str]:
        """Return the queues that an agent takes tasks from."""
        return [f"agent:{agent_id}", *(key for key, agents in self.served.items() if agent_id in agents)]

    def home_of(self, queue: str | None) -> str:
        """Return the supervisor of a queue."""
        owner = (queue or "::").split(":")[1].partition("+")[0]
        return self.agents[owner].supervisor_id if owner in self.agents else owner

    def declaration(self, member_id: str) -> Declaration:
        """Return the present values of a member, as a declaration."""
        agent = self.agents.get(member_id)
        if agent is None:
            return None, self.supervisors[member_id].parent_id or ""
        return spec_hash(agent.spec), agent.supervisor_id

    def _serve(self, agent_id: str, keys: list[str]) -> None:
        for key, agents in self.served.items():
            if agent_id in agents and key not in keys:
                agents.remove(agent_id)
        for key in keys:
            agents = self.served.setdefault(key, [])
            if agent_id not in agents:
                agents.append(agent_id)

    def _leave_shared_queues(self, supervisor_id: str) -> None:
        """Agents of a moved team serve no queue of a supervisor that they no longer stand below."""
        for agent in self.agents_under(supervisor_id):
            ancestor_ids = {supervisor.id for supervisor in self.lineage(agent.supervisor_id)}
            self._serve(agent.id, [key for key in self.queues_of(agent.id)[1:] if self.home_of(key) in ancestor_ids])

    # Events

    def _on_supervisor_added(self, event: events.SupervisorAdded) -> None:
        self.supervisors[event.supervisor_id] = make_entry(SupervisorEntry, event, id=event.supervisor_id)
        if event.parent_id is not None:
            self.supervisors[event.parent_id].members.append(event.supervisor_id)
        if event.declared:
            self.declared[event.supervisor_id] = self.declaration(event.supervisor_id)

    def _on_supervisor_removed(self, event: events.SupervisorRemoved) -> None:
        self.declared.pop(event.supervisor_id, None)
        supervisor = self.supervisors.pop(event.supervisor_id)
        if supervisor.parent_id is not None:
            self.supervisors[supervisor.parent_id].members.remove(supervisor.id)
        key_prefixes = (f"able:{supervisor.id}:", f"able:{supervisor.id}+")
        self.served = {key: agents for key, agents in self.served.items() if not key.startswith(key_prefixes)}

    def _on_supervisor_changed(self, event: events.SupervisorChanged) -> None:
        supervisor = self.supervisors[event.supervisor_id]
        supervisor.options, supervisor.max_parallel, supervisor.max_agents = (
            event.options,
            event.max_parallel,
            event.max_agents,
        )

    def _on_strategy_switched(self, event: events.StrategySwitched) -> None:
        if event.scope != "run":
            supervisor = self.supervisors[event.supervisor_id]
            supervisor.mode = event.mode
            supervisor.options = copy_with(supervisor.options, settings=event.settings, lead=event.lead)

    def _set_supervisor_paused(self, event: events.SupervisorPaused | events.SupervisorResumed) -> None:
        self.supervisors[event.supervisor_id].paused = isinstance(event, events.SupervisorPaused)

    _on_supervisor_paused = _on_supervisor_resumed = _set_supervisor_paused

    def _on_supervisor_leaving(self, event: events.SupervisorLeaving) -> None:
        self.supervisors[event.supervisor_id].leaving = event.mode

    def _on_supervisor_failed(self, event: events.SupervisorFailed) -> None:
        supervisor = self.supervisors[event.supervisor_id]
        supervisor.error = event.error if supervisor.parent_id is None else supervisor.error

    def _on_supervisor_mended(self, event: events.SupervisorMended) -> None:
        self.supervisors[event.supervisor_id].error = None

    def _on_member_moved(self, event: events.MemberMoved) -> None:
        if event.previous_id is not None:
            self.supervisors[event.previous_id].members.remove(event.member_id)
        self.supervisors[event.parent_id].members.append(event.member_id)
        if event.member_id in self.agents:
            self.agents[event.member_id].supervisor_id = event.parent_id
            self._serve(event.member_id, event.queues)
        else:
            self.supervisors[event.member_id].parent_id = event.parent_id
            self._leave_shared_queues(event.member_id)

    def _on_members_ordered(self, event: events.MembersOrdered) -> None:
        self.supervisors[event.supervisor_id].members = [*event.members]

    def _on_member_renamed(self, event: events.MemberRenamed) -> None:
        agent = self.agents.get(event.member_id)
        if agent is None:
            self.supervisors[event.member_id].name = event.name
            return
        agent.name = event.name
        if event.spec is not None:
            agent.spec = event.spec
            self.registry[event.spec.name] = event.spec
        self._serve(agent.id, event.queues)

    def _on_agent_added(self, event: events.AgentAdded) -> None:
        agent = make_entry(AgentEntry, event, id=event.agent_id)
        self.agents[agent.id] = agent
        agent.size = _instance_count(event.spec, 1)
        if event.declared:
            self.declared[agent.id] = self.declaration(agent.id)
        self.supervisors[agent.supervisor_id].members.append(agent.id)
        self.registry[event.spec.name] = event.spec
        self._serve(agent.id, event.queues)

    def _on_agent_removed(self, event: events.AgentRemoved) -> None:
        self.declared.pop(event.agent_id, None)
        agent = self.agents.pop(event.agent_id)
        self._end_grants(agent.id)
        self.supervisors[agent.supervisor_id].members.remove(agent.id)
        self._serve(agent.id, [])

    def _on_agent_removing(self, event: events.AgentRemoving) -> None:
        self.agents[event.agent_id].removing = event.mode

    def _swap_agent(self, event: events.AgentSwapped | events.SwapRolledBack) -> None:
        agent = self.agents[event.agent_id]
        agent.previous, agent.spec, agent.generation = agent.spec, event.spec, event.generation
        self._end_grants(agent.id)
        agent.error = None
        agent.away = False
        agent.size = _instance_count(event.spec, agent.size)
        self.registry[event.spec.name] = event.spec
        self._serve(agent.id, event.queues)

    def _end_grants(self, agent_id: str) -> None:
        self.grants = {key: grant for key, grant in self.grants.items() if grant.agent_id != agent_id}

    def _on_grant_given(self, event: events.GrantGiven) -> None:
        self.grants[event.grant_id] = GrantEntry(
            event.agent_id,
            event.generation,
            event.tool,
            event.allows,
            event.scope_id if event.until_ms is None else event.until_ms,
            tuple(sorted(event.where.items())),
        )

    def _on_grant_revoked(self, event: events.GrantRevoked) -> None:
        del self.grants[event.grant_id]

    _on_agent_swapped = _on_swap_rolled_back = _swap_agent

    def _on_swap_drained(self, event: events.SwapDrained) -> None:
        self.agents[event.agent_id].drained = event.generation

    def _on_capabilities_changed(self, event: events.CapabilitiesChanged) -> None:
        self.agents[event.agent_id].spec = event.spec
        self._serve(event.agent_id, event.queues)

    def _set_agent_paused(self, event: events.AgentPaused | events.AgentResumed) -> None:
        self.agents[event.agent_id].paused = isinstance(event, events.AgentPaused)

    _on_agent_paused = _on_agent_resumed = _set_agent_paused

    def _on_agent_broke(self, event: events.AgentBroke) -> None:
        agent = self.agents[event.agent_id]
        if event.away:
            agent.away = True
        else:
            agent.error = event.error

    def _on_agent_mended(self, event: events.AgentMended) -> None:
        agent = self.agents[event.agent_id]
        agent.error = None
        agent.away = False

    def _on_pool_resized(self, event: events.PoolResized) -> None:
        agent = self.agents[event.agent_id]
        if event.size > agent.size:
            agent.resized_ms = event.at_ms
        agent.size = event.size

    def _on_thread_returned(self, event: events.ThreadReturned) -> None:
        self.agents[event.agent_id].stuck -= 1

    def _on_agents_restarted(self, event: events.AgentsRestarted) -> None:
        for agent_id in event.agent_ids:
            self.agents[agent_id].restarts += 1

    def _on_engine_started(self, event: events.EngineStarted) -> None:
        self.token, self.processes = event.token, event.processes
        for agent in self.agents.values():
            agent.stuck = 0
            agent.away = agent.away if event.away is None else agent.id in event.away

    def _on_queue_made(self, event: events.QueueMade) -> None:
        agents = self.served.setdefault(event.key, [])
        agents += [agent_id for agent_id in event.agent_ids if agent_id not in agents]

    def _on_budget_exhausted(self, event: events.BudgetExhausted) -> None:
        member = self.find(event.subject)
        if member is not None:
            member.exhausted = True
            member.is_on_hold = event.then == "ask"

    def _on_budget_extended(self, event: events.BudgetExtended) -> None:
        member = self.find(event.subject)
        if member is not None:
            member.exhausted = member.is_on_hold = False

    def _on_spec_registered(self, event: events.SpecRegistered) -> None:
        self.registry[event.spec.name] = event.spec

    def _on_spec_unregistered(self, event: events.SpecUnregistered) -> None:
        self.registry.pop(event.name, None)

    def _on_members_declared(self, event: events.MembersDeclared) -> None:
        for member_id in event.same:
            self.declared[member_id] = self.declaration(member_id)
        for member_id, difference in event.different.items():
            spec, parent_id = self.declaration(member_id)
            self.declared[member_id] = (
                difference.spec or spec,
                parent_id if difference.parent_id is None else difference.parent_id,
            )
        for member_id in event.dropped:
            self.declared.pop(member_id, None)


def _instance_count(spec: AgentSpec, now: int) -> int:
    return 1 if spec.pool is None else sorted((spec.pool.min, now, spec.pool.max))[1]
