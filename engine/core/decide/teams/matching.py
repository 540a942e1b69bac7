"""Matches the members of a description with those of the state.

A member is matched by name and place; else by the place where it was declared before it was moved; else, if the
description is whole, by content: a member that is no longer described and has the same spec was renamed or moved.
"""

from collections.abc import Iterator
from typing import TypeAlias

from engine.core.commands import SupervisorSpec
from engine.core.errors import Refused
from engine.core.queries.targets import member_name, member_with
from engine.core.queries.team.declared import SETTINGS, describe_member, setting
from engine.core.queries.team.tree import parent_of, subtree_of
from engine.core.specs.spec import AgentSpec, digest, spec_hash
from engine.core.state import Declaration, State

Path: TypeAlias = tuple[str, ...]
"""Names from the top of a description down to a member; the top itself is the empty path."""
Described: TypeAlias = AgentSpec | SupervisorSpec


def members_of(team: SupervisorSpec, path: Path = ()) -> Iterator[tuple[Path, Described]]:
    """Yield every member of a description, parents first."""
    for member in team.members:
        yield (*path, member.name), member
        if isinstance(member, SupervisorSpec):
            yield from members_of(member, (*path, member.name))


class Matching:
    """Matches the members of the description of one supervisor."""

    def __init__(self, state: State, top_id: str, team: SupervisorSpec) -> None:
        self._state = state
        # Supervisors first: whether an agent was moved away from a supervisor is known once that one is matched.
        self._described = dict(sorted(members_of(team), key=lambda pair: isinstance(pair[1], AgentSpec)))
        self.ids: dict[Path, str] = {(): top_id}
        """Ids of matched members, by their path in the description."""
        self._matched_ids = {top_id}

    def match_by_place(self) -> None:
        """Match members where they are described or were moved from; raises Refused if a kind differs."""
        self._match_by_name()
        declared = self._state.declared.items()
        away = {
            (declaration.parent_id, member_name(self._state, key)): key
            for key, declaration in declared
            if declaration.parent_id
        }
        for path, member in self._described.items():
            if path not in self.ids and (above_id := self.ids.get(path[:-1])) is not None:
                member_id = away.get((above_id, path[-1]))
                if member_id is not None and member_id not in self._matched_ids and self._has_kind(member_id, member):
                    self._add_match(path, member_id)

    def match_by_content(self) -> None:
        """Match described members with members that are no longer described and have the same content.

        Declared content comes before present content, so that a member that was swapped since is found.
        """
        for kind, described_key, member_key in (
            (SupervisorSpec, _content, self._declared_content),
            (SupervisorSpec, _content, self._content),
            (SupervisorSpec, _names, self._names),
            (AgentSpec, _content, self._declared_content),
            (AgentSpec, _content, self._content),
        ):
            ids_by_content: dict[str, list[str]] = {}
            for member_id in self._unmatched_ids():
                if (member_id in self._state.agents) == (kind is AgentSpec):
                    ids_by_content.setdefault(member_key(member_id), []).append(member_id)
            ids_by_content.pop("", None)
            for path, member in self._described.items() if ids_by_content else ():
                if path in self.ids or not isinstance(member, kind) or self._was_removed(path):
                    continue
                same_content = ids_by_content.get(described_key(member), ())
                candidates = [member_id for member_id in same_content if member_id not in self._matched_ids]
                if candidates:
                    self._add_match(path, min(candidates, key=lambda member_id: self._distance_key(path, member_id)))

    def _was_removed(self, path: Path) -> bool:
        """Return whether a described member was removed since it was declared; then no other member replaces it."""
        declaration = self._state.declared.get(self.ids.get(path[:-1], ""))
        return declaration is not None and path[-1] in declaration.removed

    def _content(self, member_id: str) -> str:
        return _content(describe_member(self._state, member_id))

    def _names(self, member_id: str) -> str:
        return _names(describe_member(self._state, member_id))

    def _declared_content(self, member_id: str) -> str:
        """Return `_content` of a member as last declared; values that have not changed since are the present ones."""
        state = self._state
        base = state.declared.get(member_id, Declaration())
        agent = state.agents.get(member_id)
        if agent is not None:
            return _content(state.specs.get(base.spec or "") or state.spec_of(agent))
        supervisor = state.supervisors[member_id]
        settings = {name: base.settings.get(name) or digest(setting(supervisor, name)) for name in SETTINGS}
        below = [(member_name(state, child_id), self._declared_content(child_id)) for child_id in supervisor.members]
        return digest([settings, below])

    def _distance_key(self, path: Path, member_id: str) -> tuple[bool, bool]:
        """Return a sort key that prefers members with the same name, then members in the same place."""
        parent = parent_of(self._state, member_with(self._state, member_id))
        return member_name(self._state, member_id) != path[-1], getattr(parent, "id", None) != self.ids.get(path[:-1])

    def _unmatched_ids(self) -> list[str]:
        """Return the declared members that are not matched yet; all members if nothing was declared."""
        state, top = self._state, self._state.supervisors[self.ids[()]]
        return [
            member_id
            for supervisor in subtree_of(state, top)
            for member_id in supervisor.members
            if member_id not in self._matched_ids and (top.id not in state.declared or member_id in state.declared)
        ]

    def _match_by_name(self, under: Path = ()) -> None:
        state = self._state
        for path, member in self._described.items():
            above_id = self.ids.get(path[:-1])
            if path in self.ids or above_id is None or path[: len(under)] != under:
                continue
            supervisor = state.supervisors[above_id]
            namesakes = (member_id for member_id in supervisor.members if member_name(state, member_id) == path[-1])
            member_id = next(namesakes, None)
            if member_id is None or member_id in self._matched_ids or self._belongs_elsewhere(member_id):
                continue
            if not self._has_kind(member_id, member):
                words = ("an agent", "a supervisor")
                kind, new_kind = words if member_id in state.agents else words[::-1]
                raise Refused(f"{path[-1]} is {kind} of {supervisor.name} and would be {new_kind}; remove it first")
            self.ids[path] = member_id
            self._matched_ids.add(member_id)

    def _belongs_elsewhere(self, member_id: str) -> bool:
        """Return whether a member was moved here since it was declared, and is still described in its old place."""
        declared = self._state.declared.get(member_id)
        if declared is None or not declared.parent_id:
            return False
        before = next((path for path, matched_id in self.ids.items() if matched_id == declared.parent_id), None)
        return before is not None and (*before, member_name(self._state, member_id)) in self._described

    def _has_kind(self, member_id: str, member: Described) -> bool:
        return (member_id in self._state.agents) == isinstance(member, AgentSpec)

    def _add_match(self, path: Path, member_id: str) -> None:
        self.ids[path] = member_id
        self._matched_ids.add(member_id)
        if member_id in self._state.supervisors:
            self._match_by_name(path)


def _content(member: Described) -> str:
    """Return a digest of an agent's spec, or of a supervisor with its subtree, without its own name."""
    if isinstance(member, AgentSpec):
        return spec_hash(member.with_name("x"))
    settings = {name: digest(setting(member, name)) for name in SETTINGS}
    return digest([settings, [(child.name, _content(child)) for child in member.members]])


def _names(member: Described) -> str:
    """Return a digest of the names of a supervisor and its members; empty for an agent or without members."""
    if isinstance(member, AgentSpec) or not member.members:
        return ""
    return digest([member.name, [child.name for child in member.members]])
