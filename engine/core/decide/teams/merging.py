"""Merges a description of a team into the state, all or nothing.

Each change is decided on a scratch copy of the state, by the code that decides the same change as a command. One
refusal refuses the whole merge. See docs/semantics/changes.md.
"""

from collections.abc import Sequence
from typing import Any, Literal

from engine.core.commands import RemoveMember, SupervisorSpec, SwapAgent, SwitchStrategy, Winner
from engine.core.decide.people.trust import has_code
from engine.core.decide.teams.leaving import removal_events, remove_member
from engine.core.decide.teams.matching import Described, Matching, Path
from engine.core.decide.teams.moving import move_events
from engine.core.decide.teams.scratch import ReportingScratch, Scratch, differences
from engine.core.decide.teams.settings import check_depth_limit, settings_event
from engine.core.decide.teams.swapping import swap_member
from engine.core.decide.teams.team import check_name_free, refuse_unless
from engine.core.decide.work.strategy import switch_event_for
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Mint
from engine.core.encoding.json_values import json_equal
from engine.core.events import AgentAdded, Event, MemberRenamed, MembersDeclared, MembersOrdered, SupervisorAdded
from engine.core.events.hierarchy import Declared
from engine.core.queries.targets import id_target, member_name, member_with
from engine.core.queries.team.code import code_of
from engine.core.queries.team.declared import (
    OPTIONS,
    ORDER,
    OWN_SETTINGS,
    SETTINGS,
    STRATEGY,
    STRATEGY_CHOICE,
    as_json,
    setting,
)
from engine.core.queries.team.team_plan import FieldDifference
from engine.core.queries.team.tree import MAX_DEPTH, agents_of, depth_of, parent_of, subtree_of
from engine.core.queries.work.placement import able_queues_for
from engine.core.queries.work.queues import is_for_named_members
from engine.core.records.records import copy_with, fact
from engine.core.specs.spec import AgentSpec, digest, spec_hash
from engine.core.state import NO_CODE_HASHES, Agent, Declaration, State, Supervisor


@fact
class Terms:
    """How a description is merged."""

    whole: bool = True
    """The description is complete: members missing from it were renamed, moved or dropped."""
    declares: bool = True
    """The description becomes the declared state; only declared members are dropped."""
    on_conflict: Winner = "declared"
    swaps: str = "drain"
    """Swap mode for agents whose spec changes."""
    removals: Literal["drain", "requeue", "abort"] | None = None
    """Removal mode for dropped members; None keeps them."""
    settings: bool = True
    """Apply the settings of the description to existing supervisors."""
    scope: Literal["open", "new"] = "open"
    """Whether graphs in progress follow a changed strategy."""


class Merge(ReportingScratch):
    """The events decided so far, and the state that they lead to.

    Args:
        state: The state; it is not changed.
        ctx: Time and grants of the decision.
        terms: How the description is merged.

    Attributes:
        changes: Changes that happen, and differences that are left as they are.
        ids: Ids of the described members, by their path.
    """

    def __init__(self, state: State, ctx: DecisionContext, terms: Terms) -> None:
        super().__init__(state, ctx)
        self.ids: dict[Path, str] = {}
        self._base = state.declared
        self._terms = terms
        self._mint = Mint(state)
        self._switches: list[Supervisor] = []
        self._unapplied: dict[str, Declaration] = {}

    def merge_supervisor(self, top_id: str, team: SupervisorSpec) -> None:
        """Decide the changes that make a supervisor equal to `team`; raises Refused if one is refused."""
        self._match(top_id, team)
        self._rename(top_id, team.name)
        self._merge_supervisor((), top_id, team)
        self._complete(top_id)

    def merge_member(self, above_id: str, member: Described) -> None:
        """Decide the changes that make a member of a supervisor equal to `member`; raises Refused if one is refused."""
        supervisor = self.state.supervisors[above_id]
        self._match(above_id, SupervisorSpec(name=supervisor.name, members=[member]))
        self._merge_member((), above_id, member)
        del self.ids[()]
        self._complete(above_id)

    def _match(self, top_id: str, team: SupervisorSpec) -> None:
        matching = Matching(self.state, top_id, team)
        matching.match_by_place()
        if self._terms.whole:
            matching.match_by_content()
        self.ids = matching.ids

    def _complete(self, top_id: str) -> None:
        # Switches last: a strategy may name members that the merge has only now added or renamed.
        for supervisor in self._switches:
            switch = SwitchStrategy(supervisor=id_target(supervisor.id), scope=self._terms.scope)
            current = self.state.supervisors[supervisor.id]
            self.take([switch_event_for(self.state, copy_with(supervisor, options=current.options), switch)])
        self.renew_code()
        dropped = self._dropped_ids() if self._terms.whole else []
        if self._terms.declares:
            self._declare(dropped)
        if self._terms.removals is not None:
            for member_id in dropped:
                self._remove(member_id, self._terms.removals)
        for below in subtree_of(self.state, self.state.supervisors[top_id]):
            check_depth_limit(self.state, below, below.options)
            refuse_unless(depth_of(self.state, below) <= MAX_DEPTH, f"supervisors go {MAX_DEPTH} levels deep at most")

    def renew_code(self) -> None:
        """Swap every agent whose code has changed, also agents that the description does not contain."""
        for agent in list(self.state.agents.values()):
            if agent.removing is None and not has_code(self.state, agent, self._ctx):
                spec = self.state.spec_of(agent)
                codes = self.state.code.get(agent.id, NO_CODE_HASHES)[0], code_of(self.state.trusted, spec)
                was, now = (digest(code)[:8] if code else None for code in codes)
                self.note("swapped", agent.id, fields=[FieldDifference(field="code", was=was, now=now)])
                self._swap(agent, spec)

    def _merge_supervisor(self, path: Path, supervisor_id: str, team: SupervisorSpec) -> None:
        supervisor = self.state.supervisors[supervisor_id]
        refuse_unless(
            supervisor.leaving is None, f"supervisor {supervisor.name!r} is being removed; try again once it has left"
        )
        self._merge_settings(supervisor, team)
        for member in team.members:
            self._merge_member(path, supervisor_id, member)
        if self._terms.settings:
            self._order_members(path, supervisor_id, team)

    def _merge_member(self, path: Path, above_id: str, member: Described) -> None:
        member_path = (*path, member.name)
        member_id = self.ids.get(member_path)
        if member_id is None:
            self._add(member_path, above_id, member)
            return
        self._move(above_id, member_id)
        self._rename(member_id, member.name)
        if isinstance(member, SupervisorSpec):
            self._merge_supervisor(member_path, member_id, member)
        else:
            self._merge_agent(member_id, member)

    def _add(self, member_path: Path, above_id: str, member: Described) -> None:
        base = self._base.get(above_id)
        was_removed = base is not None and member.name in base.removed
        since = self._winner_of(was_removed or self._is_name_taken(above_id, member.name))
        is_agent = isinstance(member, AgentSpec)
        path = f"{self.path_of(above_id)}/{member.name}"
        if since == "current":
            self.note("added", None, path=path, since=since, subject="agent" if is_agent else "supervisor")
            self._record_unapplied(above_id, removed=[*self._find_unapplied(above_id).removed, member.name])
            return
        new = self._mint("a" if is_agent else "s")
        if isinstance(member, SupervisorSpec):
            self.take([supervisor_added(member, new, above_id, declared=self._terms.declares)])
        else:
            self.take([self._agent_added(member, new, above_id)])
        self.note("added", new, path=path, since=since)
        self.ids[member_path] = new
        for child in member.members if isinstance(member, SupervisorSpec) else ():
            self._merge_member(member_path, new, child)

    def _is_name_taken(self, above_id: str, name: str) -> bool:
        """Return whether a member described elsewhere was moved here, stays here, and has the name."""
        member_ids = self.state.supervisors[above_id].members
        return self._terms.on_conflict == "current" and any(
            member_name(self.state, member_id) == name and self.ids[path[:-1]] != above_id
            for path, member_id in self.ids.items()
            if member_id in member_ids
            and (base := self._base.get(member_id)) is not None
            and base.parent_id is not None
        )

    def _agent_added(self, spec: AgentSpec, agent_id: str, above_id: str) -> AgentAdded:
        return AgentAdded(
            agent_id=agent_id,
            name=spec.name,
            supervisor_id=above_id,
            spec=spec,
            queues=able_queues_for(self.state, above_id, spec, spec.name),
            declared=self._terms.declares,
        )

    def _move(self, above_id: str, member_id: str) -> None:
        member = member_with(self.state, member_id)
        if above_id == getattr(parent_of(self.state, member), "id", None):
            return
        base = self._base.get(member_id)
        since = self._winner_of(base is not None and base.parent_id is not None)
        self.note("moved", member_id, to=f"{self.path_of(above_id)}/{member.name}", since=since)
        if since == "current":
            self._record_unapplied(member_id, parent_id=above_id)
        else:
            self.take(move_events(self.state, member, self.state.supervisors[above_id], self._ctx))

    def _rename(self, member_id: str, name: str) -> None:
        member = member_with(self.state, member_id)
        if member.name == name:
            return
        if (parent := parent_of(self.state, member)) is not None:
            check_name_free(self.state, parent, name)
        event = MemberRenamed(member_id=member_id, name=name, previous=member.name)
        if isinstance(member, Agent):
            spec = self.state.spec_of(member).with_name(name)
            queues = able_queues_for(self.state, member.supervisor_id, spec, name, excluded=member)
            # Queues that name it by its former name.
            named_queues = (key for key in member.queues if is_for_named_members(key))
            event = copy_with(event, spec=spec, queues=[*queues, *named_queues])
        path = self.path_of(member_id)
        self.note("renamed", member_id, to=path[: len(path) - len(member.name)] + name)
        self.take([event])

    def _merge_agent(self, agent_id: str, spec: AgentSpec) -> None:
        agent = self.state.agents[agent_id]
        now = self.state.spec_of(agent)
        if spec_hash(spec.with_name(now.name)) == agent.spec:
            return
        base = self._base.get(agent_id)
        since = self._winner_of(base is None or base.spec is not None)
        self.note("swapped", agent_id, fields=differences(now, spec), since=since)
        if since == "current":
            self._record_unapplied(agent_id, spec=spec_hash(spec))
            return
        self._swap(agent, spec)

    def _swap(self, agent: Agent, spec: AgentSpec) -> None:
        refuse_unless(agent.removing is None, f"{agent.name} is being removed; load the team again once it has left")
        refuse_unless(not agent.draining, f"{agent.name} is swapping already; load the team again once it has drained")
        swap = SwapAgent(agent=id_target(agent.id), spec=spec, mode=self._terms.swaps)
        self.take(swap_member(self.state, swap, agent, self._ctx).events)

    def _merge_settings(self, supervisor: Supervisor, team: SupervisorSpec) -> None:
        differ = [name for name in SETTINGS if not json_equal(setting(supervisor, name), setting(team, name))]
        if not self._terms.settings:
            self._record_unapplied(supervisor.id, settings={name: digest(setting(team, name)) for name in differ})
            return
        base = self._base.get(supervisor.id)
        conflicting = set(differ if base is None else base.settings) & set(differ)
        if "mode" in differ and conflicting.intersection(STRATEGY_CHOICE):
            conflicting.update(STRATEGY_CHOICE)
        since = {name: self._winner_of(name in conflicting) for name in differ}
        for winner in (None, "declared", "current"):
            names = [name for name in differ if since[name] == winner]
            fields = [
                FieldDifference(field=name, was=as_json(setting(supervisor, name)), now=as_json(setting(team, name)))
                for name in names
            ]
            if names:
                self.note("changed", supervisor.id, fields=fields, since=winner)
            if winner == "current":
                self._record_unapplied(supervisor.id, settings={name: digest(setting(team, name)) for name in names})
        self._apply_settings(supervisor, {name: setting(team, name) for name in differ if since[name] != "current"})

    def _apply_settings(self, supervisor: Supervisor, values: dict[str, Any]) -> None:
        options = copy_with(supervisor.options, **{name: values[name] for name in OPTIONS if name in values})
        settings = {name: values[name] for name in OWN_SETTINGS if name in values} | {"options": options}
        strategy = {name: values[name] for name in STRATEGY if name in values}
        if strategy:
            self._switches.append(copy_with(supervisor, **strategy))
        if (event := settings_event(supervisor, settings)) is not None:
            self.take([event])

    def _order_members(self, path: Path, supervisor_id: str, team: SupervisorSpec) -> None:
        """Order members as described, followed by those that are not described."""
        members = self.state.supervisors[supervisor_id].members
        described = [self.ids.get((*path, member.name), "") for member in team.members]
        ordered = [member_id for member_id in described if member_id in members]
        ordered += [member_id for member_id in members if member_id not in described]
        if ordered == members:
            return
        added = {change.id for change in self.changes if change.change == "added"}
        previous_members = [member_id for member_id in members if member_id not in added]
        is_reordered = previous_members != [member_id for member_id in ordered if member_id not in added]
        kept = [member_id for member_id in described if member_id in previous_members]
        base = self._base.get(supervisor_id)
        has_undeclared = any(member_id not in self._base for member_id in kept)
        has_conflict = has_undeclared or (base is not None and ORDER in base.settings)
        since = self._winner_of(has_conflict) if is_reordered else None
        was = [member_name(self.state, member_id) for member_id in members if member_id in kept]
        now = [member_name(self.state, member_id) for member_id in ordered if member_id in kept]
        if was != now:
            fields = [FieldDifference(field=ORDER, was=as_json(was), now=as_json(now))]
            self.note("changed", supervisor_id, fields=fields, since=since)
        if since == "current":
            self._record_unapplied(supervisor_id, settings=self._find_unapplied(supervisor_id).settings | {ORDER: ""})
        else:
            self.take([MembersOrdered(supervisor_id=supervisor_id, members=ordered)])

    def _dropped_ids(self) -> list[str]:
        """Return the members that are no longer described, without those below them."""
        described = dict.fromkeys(self.ids.values())  # a dict, not a set: the order of events must be reproducible
        dropped = []
        for supervisor_id in [member_id for member_id in described if member_id in self.state.supervisors]:
            for member_id in self.state.supervisors[supervisor_id].members:
                if member_id not in described and self._should_drop(member_id):
                    self.note("dropped", member_id)
                    dropped.append(member_id)
        return dropped

    def _should_drop(self, member_id: str) -> bool:
        if self._terms.declares:
            return member_id in self.state.declared
        agent = self.state.agents.get(member_id)
        return agent is None or agent.removing != self._terms.removals

    def _declare(self, dropped: Sequence[str]) -> None:
        """Record the new declared state."""
        same: list[str] = []
        different: dict[str, Declared] = {}
        for path, member_id in self.ids.items():
            declaration, base = self._find_unapplied(member_id), self.state.declared.get(member_id)
            if base is not None and not self._terms.whole:
                # Later declarations of single members may restore them.
                declaration = copy_with(declaration, removed=list(base.removed))
            if base is not None and not path:
                # A description does not say where its top belongs.
                declaration = copy_with(declaration, parent_id=base.parent_id)
            if base == declaration:
                continue
            if declaration == Declaration():
                same.append(member_id)
            else:
                values = {name: getattr(declaration, name) for name in ("spec", "settings", "parent_id", "removed")}
                different[member_id] = Declared(**values)
        below_ids = (below_id for member_id in dropped for below_id in self._all_under(member_id))
        dropped_ids = [below_id for below_id in below_ids if below_id in self.state.declared]
        if same or different or dropped_ids:
            self.take([MembersDeclared(same=same, different=different, dropped=dropped_ids)])

    def _all_under(self, member_id: str) -> list[str]:
        supervisor = self.state.supervisors.get(member_id)
        teams = [] if supervisor is None else [team.id for team in subtree_of(self.state, supervisor)]
        return [*teams, *(agent.id for agent in agents_of(self.state, member_id))]

    def _remove(self, member_id: str, mode: Literal["drain", "requeue", "abort"]) -> None:
        agent = self.state.agents.get(member_id)
        if agent is None:
            leaving_mode: Literal["drain", "abort"] = "abort" if mode == "abort" else "drain"
            self.take(removal_events(self.state, self.state.supervisors[member_id], leaving_mode))
        elif agent.removing != mode:
            self.take(remove_member(self.state, RemoveMember(target=id_target(agent.id), mode=mode), self._ctx).events)

    def _winner_of(self, has_conflict: bool) -> Winner | None:
        """Return which side wins a conflict; None if there is no conflict."""
        return self._terms.on_conflict if has_conflict and self._terms.declares and self._terms.settings else None

    def _record_unapplied(self, member_id: str, **values: Any) -> None:
        """Record declared values of a member that are not applied."""
        self._unapplied[member_id] = copy_with(self._find_unapplied(member_id), **values)

    def _find_unapplied(self, member_id: str) -> Declaration:
        return self._unapplied.get(member_id, Declaration())


def supervisor_added(
    team: SupervisorSpec, supervisor_id: str, parent_id: str | None, *, declared: bool
) -> SupervisorAdded:
    """Return the event that creates a supervisor without members."""
    return SupervisorAdded(
        supervisor_id=supervisor_id,
        name=team.name,
        parent_id=parent_id,
        declared=declared,
        **{name: getattr(team, name) for name in (*STRATEGY, *OWN_SETTINGS, "options")},
    )


def subtree_events(
    team: SupervisorSpec, parent_id: str | None, ctx: DecisionContext, mint: Mint, *, declared: bool
) -> list[Event]:
    """Return the events that create a supervisor with its subtree."""
    supervisor_id = mint("s")
    events: list[Event] = [supervisor_added(team, supervisor_id, parent_id, declared=declared)]
    for member in team.members:
        if isinstance(member, SupervisorSpec):
            events += subtree_events(member, supervisor_id, ctx, mint, declared=declared)
        else:
            events.append(
                AgentAdded(
                    agent_id=mint("a"), name=member.name, supervisor_id=supervisor_id, spec=member, declared=declared
                )
            )
    return events


def add_queues(state: State, events: Sequence[Event], ctx: DecisionContext) -> list[Event]:
    """Return `events` with the queues that the new agents serve: shared ones of supervisors above them."""
    if not any(key.startswith("able:") for key in state.queues):
        return [*events]
    scratch = Scratch(state, ctx)
    for event in events:
        if isinstance(event, AgentAdded):
            queues = able_queues_for(scratch.state, event.supervisor_id, event.spec, event.name)
            event = copy_with(event, queues=queues)
        scratch.take([event])
    return scratch.events
