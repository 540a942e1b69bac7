"""From what a program says to what the core is asked: references in place of callables, and what is there already.

A program that starts again on its file says the same once more. Members that an earlier process left there are taken
over by name: callables are bound again, a changed spec is swapped in, what is new is added. A member is taken over
once; to say it a second time in the same process is a duplicate.
"""

from collections.abc import Iterator
from typing import TypeVar

from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    ChangeSupervisor,
    Command,
    RegisterSpec,
    SupervisorSpec,
    SwapAgent,
    SwapAgents,
    SwitchStrategy,
)
from engine.core.decide.loading import specs_in
from engine.core.decide.trust import references_of
from engine.core.errors import Refused
from engine.core.fact import changed
from engine.core.queries.targets import at, find_supervisor
from engine.core.spec import AgentSpec, spec_hash
from engine.core.state import State, Supervisor
from engine.supervisor.callables import Callables

WithSpec = TypeVar("WithSpec", AddAgent, RegisterSpec, SwapAgent)


class Adoption:
    """Who of a state was left by an earlier process and is not taken over yet."""

    def __init__(self, callables: Callables) -> None:
        self._callables = callables
        self._left: set[str] = set()
        self._keep_modes = False

    def begin(self, state: State, *, keep_modes: bool = False) -> None:
        """Count all of `state` as left by an earlier process.

        Args:
            state: What stands there.
            keep_modes: Supervisors go on in the strategies that they have, whatever the program says.
        """
        self._keep_modes = keep_modes
        self._left = {*state.agents, *state.supervisors}

    def bind_ahead(self, state: State, command: Command) -> None:
        """Bind the callables that `command` brings to who is there already; nobody is taken over yet.

        An engine looks at its agents when it starts: by then their code has to be there.
        """
        left = set(self._left)
        self.asked(state, command)
        self._left = left

    def is_ours(self, member_id: str) -> bool:
        """Tell whether a member was made or taken over by this program."""
        return member_id not in self._left

    def asked(self, state: State, command: Command) -> list[Command]:
        """Return what the core is asked in place of `command`; nothing where all of it is there.

        Raises:
            Unusable: If something that is to be called cannot be.
        """
        if isinstance(command, AddAgent) and command.spec is not None:
            return self._agent(state, _found(state, command.supervisor), command.spec, command)
        if isinstance(command, AddSupervisor):
            return self._supervisor(state, command)
        if isinstance(command, SwapAgent):
            return [self._with_references(command)]
        if isinstance(command, SwapAgents):
            return [changed(command, swaps=[self._with_references(one) for one in command.swaps])]
        if isinstance(command, RegisterSpec):
            return self._registered(state, self._with_references(command))
        return [command]

    def _registered(self, state: State, command: RegisterSpec) -> list[Command]:
        """Return nothing where the registry has this very spec."""
        return [] if state.registry.get(command.spec.name) == spec_hash(command.spec) else [command]

    def _agent(self, state: State, above: Supervisor | None, spec: AgentSpec, command: AddAgent) -> list[Command]:
        present = next(
            (
                agent
                for agent in (state.agents.get(member_id) for member_id in (above.members if above else ()))
                if agent is not None and agent.id in self._left and agent.name == (command.name or spec.name)
            ),
            None,
        )
        if present is None:
            return [self._with_references(command)]
        self._left.discard(present.id)
        found = state.spec_of(present)
        wanted = self._callables.in_place_of(spec, found)
        if spec_hash(wanted) == spec_hash(found):
            return []
        return [SwapAgent(agent=at(present.id), spec=wanted, trusted=references_of(wanted))]

    def _supervisor(self, state: State, command: AddSupervisor) -> list[Command]:
        present = self._left_supervisor(state, command)
        if present is None:
            return [self._tree(command)]
        return list(self._merged(state, present, command.team))

    def _left_supervisor(self, state: State, command: AddSupervisor) -> Supervisor | None:
        above = _found(state, command.parent) if command.parent is not None else None
        candidates = state.roots if command.parent is None else _supervisors_of(state, above)
        return next((one for one in candidates if one.id in self._left and one.name == command.team.name), None)

    def _merged(self, state: State, present: Supervisor, team: SupervisorSpec) -> Iterator[Command]:
        self._left.discard(present.id)
        for member in team.members:
            if isinstance(member, AgentSpec):
                yield from self._agent(state, present, member, AddAgent(supervisor=at(present.id), spec=member))
            else:
                yield from self._supervisor(state, AddSupervisor(parent=at(present.id), team=member))
        if team.options != present.options:
            yield ChangeSupervisor(supervisor=at(present.id), options=team.options)
        if not self._keep_modes and _ways(team) != _ways(present):
            yield SwitchStrategy(
                supervisor=at(present.id),
                mode=team.mode,
                aggregation=team.aggregation,
                aggregator=team.aggregator,
                scope="new",
            )

    def _tree(self, command: AddSupervisor) -> AddSupervisor:
        team = self._referred(command.team)
        trusted = {one for spec in specs_in(team) for one in references_of(spec)}
        return changed(command, team=team, trusted=sorted(trusted))

    def _referred(self, team: SupervisorSpec) -> SupervisorSpec:
        members = [
            self._callables.referred(one) if isinstance(one, AgentSpec) else self._referred(one) for one in team.members
        ]
        return changed(team, members=members)

    def _with_references(self, command: WithSpec) -> WithSpec:
        if command.spec is None:
            return command
        spec = self._callables.referred(command.spec)
        return changed(command, spec=spec, trusted=references_of(spec))


def _found(state: State, target: str | None) -> Supervisor | None:
    try:
        return find_supervisor(state, target)
    except Refused:
        return None  # the core says so when it is asked


def _supervisors_of(state: State, above: Supervisor | None) -> list[Supervisor]:
    members = above.members if above is not None else ()
    return [state.supervisors[member_id] for member_id in members if member_id in state.supervisors]


def _ways(one: SupervisorSpec | Supervisor) -> tuple[str, str, str | None]:
    return one.mode, one.aggregation, one.aggregator


def tree_of(state: State, supervisor: Supervisor, callables: Callables, *, name: str | None = None) -> SupervisorSpec:
    """Return what a program would have to say to get `supervisor` with everything under it, callables in it.

    Args:
        state: Where it stands.
        supervisor: The top.
        callables: What its references stand for.
        name: Of the top, in place of its own.
    """
    members: list[AgentSpec | SupervisorSpec] = []
    for member_id in supervisor.members:
        if member_id in state.supervisors:
            members.append(tree_of(state, state.supervisors[member_id], callables))
        else:
            agent = state.agents[member_id]
            members.append(callables.restored(state.spec_of(agent)).with_name(agent.name))
    return SupervisorSpec(
        name=name or supervisor.name,
        mode=supervisor.mode,
        aggregation=supervisor.aggregation,
        aggregator=supervisor.aggregator,
        participants=supervisor.participants,
        auto_discover=supervisor.auto_discover,
        max_matches=supervisor.max_matches,
        default_agent=supervisor.default_agent,
        max_parallel=supervisor.max_parallel,
        max_agents=supervisor.max_agents,
        options=supervisor.options,
        members=members,
    )
