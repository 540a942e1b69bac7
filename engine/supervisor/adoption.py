"""Converts declarations of a program to commands of the core, with references in place of callables.

A program that restarts on its file declares its team again. Members left there by an earlier process are taken over:
their callables are bound again, and differences are merged by the same rules as for a team file. Each member is taken
over once; declaring it a second time in the same process is a duplicate.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeAlias, TypeVar

from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    Command,
    Declare,
    RegisterSpec,
    SupervisorSpec,
    SwapAgent,
    SwapAgents,
    Winner,
)
from engine.core.decide.teams.loading import find_declared_root, merge_declaration
from engine.core.decide.teams.matching import Described, Matching, Path
from engine.core.decisions.decision_context import DecisionContext
from engine.core.errors import Refused
from engine.core.queries.targets import find_supervisor, id_target
from engine.core.queries.team.code import grants_for_own_program
from engine.core.queries.team.declared import describe_member
from engine.core.queries.team.team_plan import describe_change
from engine.core.records.records import copy_with, fact
from engine.core.specs.spec import spec_hash
from engine.core.state import State, Supervisor
from engine.supervisor.callables import Callables

WithSpec = TypeVar("WithSpec", AddAgent, RegisterSpec, SwapAgent)
AddCommand: TypeAlias = AddAgent | AddSupervisor

log = logging.getLogger(__name__)


class Adoption:
    """Tracks which members of a state were declared by an earlier process and are not taken over yet.

    Args:
        callables: The callables of this program.
        declares: Whether added members are declared again at its next start; True on a file.
        on_conflict: Which values win for a member that was changed after its last declaration.
    """

    def __init__(self, callables: Callables, *, declares: bool = False, on_conflict: Winner = "declared") -> None:
        self._callables = callables
        self._declares = declares
        self._on_conflict = on_conflict
        self._unadopted: set[str] = set()
        self._removed: set[tuple[str, str]] = set()
        """Members that an earlier process declared and that were removed, as (supervisor id, name)."""

    def mark_all_members(self, state: State) -> None:
        """Mark all members of `state` as left by an earlier process."""
        self._unadopted = {*state.agents, *state.supervisors}
        self._removed = {
            (supervisor_id, name)
            for supervisor_id, declaration in state.declared.items()
            for name in declaration.removed
        }

    def mark_new_members(self, before: State, state: State) -> None:
        """Mark the members added since `before`, the last state this program saw, as left by another process."""
        self._unadopted |= {*state.agents, *state.supervisors}.difference(before.agents, before.supervisors)

    def bind_ahead(self, state: State, command: Command) -> None:
        """Bind the callables in `command` to members that already exist, without taking them over yet.

        An engine checks its agents when it starts, so that their code has to be bound before.
        """
        if isinstance(command, AddAgent | AddSupervisor) and (place := _place_of(state, command)) is not None:
            self._reference_callables(state, place.team, place.ids)

    def is_ours(self, member_id: str) -> bool:
        """Return whether a member was made or taken over by this program."""
        return member_id not in self._unadopted

    def commands(self, state: State, command: Command, *, settings: bool = True) -> list[Command]:
        """Return the commands that replace `command`; none if all of it exists already.

        With `settings`, existing supervisors get the declared settings; else they keep theirs. Raises Unusable if a
        callable cannot be called.
        """
        if isinstance(command, AddAgent | AddSupervisor):
            return self._declaring_commands(state, command, settings=settings)
        if isinstance(command, SwapAgent):
            return [self._with_references(command)]
        if isinstance(command, SwapAgents):
            return [copy_with(command, swaps=[self._with_references(swap) for swap in command.swaps])]
        if isinstance(command, RegisterSpec):
            registration = self._with_references(command)
            return [] if state.registry.get(registration.spec.name) == spec_hash(registration.spec) else [registration]
        return [command]

    def _declaring_commands(self, state: State, command: AddCommand, *, settings: bool) -> list[Command]:
        place = _place_of(state, command)
        if place is None or not (self._unadopted.intersection(place.member_ids) or place.name in self._removed):
            if isinstance(command, AddAgent):
                return [copy_with(self._with_references(command), declared=self._declares)]
            return [
                copy_with(command, team=self._reference_callables(State(), command.team, {}), declared=self._declares)
            ]
        self._removed.discard(place.name)
        self._unadopted.difference_update(place.member_ids)
        member = self._reference_callables(state, place.team, place.ids)
        declare = Declare(
            parent=None if place.parent_id is None else id_target(place.parent_id),
            member=member if place.parent_id is None else member.members[0],
            on_conflict=self._on_conflict,
            settings=settings,
        )
        try:
            merge = merge_declaration(
                state, declare, DecisionContext(now_ms=state.at_ms, jitter=0.0, granted=grants_for_own_program(declare))
            )
        except Refused:
            return [declare]  # the core refuses it when it decides
        for change in merge.changes:
            if change.since is not None:
                log.warning("%s", describe_change(change))
        return [declare] if merge.events else []

    def _reference_callables(
        self, state: State, team: SupervisorSpec, ids: Mapping[Path, str], path: Path = ()
    ) -> SupervisorSpec:
        """Return a declaration with references in place of callables; existing agents keep their references."""
        members: list[Described] = []
        for member in team.members:
            member_path = (*path, member.name)
            if isinstance(member, SupervisorSpec):
                members.append(self._reference_callables(state, member, ids, member_path))
            elif (agent := state.agents.get(ids.get(member_path, ""))) is not None:
                present = state.spec_of(agent)
                rebound_spec = self._callables.rebind(member.with_name(present.name), present)
                members.append(rebound_spec.with_name(member.name))
            else:
                members.append(self._callables.with_references(member))
        supervisor = state.supervisors.get(ids.get(path, ""))
        present_options = None if supervisor is None else supervisor.options
        return copy_with(team, members=members, options=self._callables.with_toolsets(team.options, present_options))

    def _with_references(self, command: WithSpec) -> WithSpec:
        if command.spec is None:
            return command
        return copy_with(command, spec=self._callables.with_references(command.spec))


@fact
class _DeclaredPlace:
    """Where a program declares a member, and which parts of it already exist."""

    team: SupervisorSpec
    """The declared root with everything under it, or the parent with only the declared member."""
    parent_id: str | None
    """None for a root."""
    ids: dict[Path, str]
    """Ids of the members that exist, by their path in `team`."""
    name: tuple[str, str]
    """Id of its supervisor, and its name there."""

    @property
    def member_ids(self) -> list[str]:
        """Ids of the member and of everything under it, as far as they exist."""
        return [member_id for path, member_id in self.ids.items() if path or self.parent_id is None]


def _place_of(state: State, command: AddCommand) -> _DeclaredPlace | None:
    """Return where a member is declared; None if neither it nor its parent exists."""
    if isinstance(command, AddAgent):
        if command.spec is None:
            return None
        member: Described = command.spec.with_name(command.name or command.spec.name)
        parent_target = command.supervisor
    elif command.parent is not None:
        member, parent_target = command.team, command.parent
    else:
        root = find_declared_root(state, command.team.name)
        return None if root is None else _make_place(state, root, command.team, command.team, is_root=True)
    try:
        parent = find_supervisor(state, parent_target)
    except Refused:
        return None  # the core refuses it when it decides
    return _make_place(state, parent, SupervisorSpec(name=parent.name, members=[member]), member)


def _make_place(
    state: State, top: Supervisor, team: SupervisorSpec, member: Described, *, is_root: bool = False
) -> _DeclaredPlace:
    matching = Matching(state, top.id, team)
    with suppress(Refused):  # the core refuses it when it decides
        matching.match_by_place()
    parent_id = None if is_root else top.id
    return _DeclaredPlace(team=team, parent_id=parent_id, ids=matching.ids, name=(parent_id or "", member.name))


def tree_of(state: State, supervisor: Supervisor, callables: Callables, *, name: str | None = None) -> SupervisorSpec:
    """Return the declaration by which a program would get `supervisor` with everything under it, with its callables.

    `name`, if given, replaces the name of the top.
    """
    team = describe_member(state, supervisor.id, callables.with_callables)
    assert isinstance(team, SupervisorSpec)
    return copy_with(team, name=name or team.name)
