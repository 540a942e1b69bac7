"""Makes what is under a supervisor like a description of it, all or nothing.

One rule holds inside: each change is decided on a copy of the state that has taken the ones before it, by what decides
the same change as a command. What is refused there is refused whole, and nothing has happened.
"""

from typing import Literal

from engine.core.commands import RemoveMember, SupervisorSpec, SwapAgent, SwitchStrategy
from engine.core.context import Context
from engine.core.decide.find import able_queues_for, member_name
from engine.core.decide.leaving import sent_away
from engine.core.decide.mint import Mint
from engine.core.decide.removing import remove_member
from engine.core.decide.scratch import Scratch
from engine.core.decide.settings import may_stay_so_deep, settings_changed, settings_of
from engine.core.decide.strategy import switched
from engine.core.decide.swapping import swap_agent
from engine.core.decide.team import must
from engine.core.errors import Refused
from engine.core.events import AgentAdded, Event, SupervisorAdded
from engine.core.hierarchy import DEEPEST, below_of, depth_of
from engine.core.queries.targets import at
from engine.core.spec import AgentSpec, spec_hash
from engine.core.state import Agent, State, Supervisor


class Merge(Scratch):
    """What has to happen, as far as it is decided, and the state that it leads to."""

    def __init__(
        self,
        state: State,
        ctx: Context,
        *,
        swaps: str = "drain",
        removals: Literal["drain", "requeue", "abort"] | None = None,
    ) -> None:
        """Begin with nothing changed.

        Args:
            state: What is there; left as it is.
            ctx: The moment.
            swaps: What becomes of attempts at work on agents whose spec is another.
            removals: What becomes of the work of members that the description does not name; None keeps them.
        """
        super().__init__(state)
        self._ctx = ctx
        self._swaps = swaps
        self._removals = removals
        self._switches: list[SwitchStrategy] = []

    def finish(self, there: Supervisor, team: SupervisorSpec) -> None:
        """Decide everything that makes `there` like `team`.

        Raises:
            Refused: If any of it cannot be.
        """
        top = self.state.supervisors[there.id]
        self._supervisor(top, team)
        for switch in self._switches:
            self.take([switched(self.state, switch, self._ctx.now_ms)])
        for below in below_of(self.state, top):
            may_stay_so_deep(self.state, below, below.options)
            must(depth_of(self.state, below) <= DEEPEST, f"supervisors go {DEEPEST} levels deep at most")

    def _supervisor(self, supervisor: Supervisor, team: SupervisorSpec) -> None:
        must(supervisor.leaving is None, f"supervisor {supervisor.name!r} is being removed; try again once it has left")
        if (event := settings_changed(supervisor, settings_of(team), self._ctx)) is not None:
            self.take([event])
        if _strategy_of(supervisor) != (team.mode, team.aggregation, team.aggregator or supervisor.aggregator):
            self._switches.append(
                SwitchStrategy(
                    supervisor=at(supervisor.id),
                    mode=team.mode,
                    aggregation=team.aggregation,
                    aggregator=team.aggregator,
                )
            )
        there = {member_name(self.state, member_id): member_id for member_id in supervisor.members}
        for member in team.members:
            self._member(supervisor, member, there.pop(member.name, None))
        if self._removals is not None:
            for member_id in there.values():
                self._remove(member_id, self._removals)

    def _member(self, above: Supervisor, member: AgentSpec | SupervisorSpec, member_id: str | None) -> None:
        if isinstance(member, SupervisorSpec):
            if member_id is None:
                self.take(added(member, above.id, self._ctx, Mint(self.state)))
            elif member_id in self.state.supervisors:
                self._supervisor(self.state.supervisors[member_id], member)
            else:
                raise Refused(f"{member.name} is an agent of {above.name} and would be a supervisor; remove it first")
        elif member_id is None:
            self.take([self._new_agent(above, member)])
        elif member_id in self.state.agents:
            self._agent(self.state.agents[member_id], member)
        else:
            raise Refused(f"{member.name} is a supervisor under {above.name} and would be an agent; remove it first")

    def _new_agent(self, above: Supervisor, spec: AgentSpec) -> AgentAdded:
        return AgentAdded(
            at_ms=self._ctx.now_ms,
            agent_id=Mint(self.state)("a"),
            name=spec.name,
            supervisor_id=above.id,
            spec=spec,
            queues=able_queues_for(self.state, above.id, spec, spec.name),
        )

    def _agent(self, agent: Agent, spec: AgentSpec) -> None:
        if agent.spec == spec_hash(spec):
            return
        must(agent.removing is None, f"{agent.name} is being removed; load the team again once it has left")
        must(not agent.draining, f"{agent.name} is swapping already; load the team again once it has drained")
        self.take(swap_agent(self.state, SwapAgent(agent=at(agent.id), spec=spec, mode=self._swaps), self._ctx).events)

    def _remove(self, member_id: str, mode: Literal["drain", "requeue", "abort"]) -> None:
        agent = self.state.agents.get(member_id)
        if agent is None:
            how: Literal["drain", "abort"] = "abort" if mode == "abort" else "drain"
            self.take(sent_away(self.state, self.state.supervisors[member_id], how, self._ctx))
        elif agent.removing != mode:
            self.take(remove_member(self.state, RemoveMember(target=at(agent.id), mode=mode), self._ctx).events)


def _strategy_of(supervisor: Supervisor) -> tuple[str, str, str | None]:
    return supervisor.mode, supervisor.aggregation, supervisor.aggregator


def added(team: SupervisorSpec, parent_id: str | None, ctx: Context, mint: Mint) -> list[Event]:
    """Return the events that make a supervisor with everything under it."""
    supervisor_id = mint("s")
    events: list[Event] = [
        SupervisorAdded(
            at_ms=ctx.now_ms,
            supervisor_id=supervisor_id,
            name=team.name,
            parent_id=parent_id,
            mode=team.mode,
            aggregation=team.aggregation,
            aggregator=team.aggregator,
            **settings_of(team),
        )
    ]
    for member in team.members:
        if isinstance(member, SupervisorSpec):
            events += added(member, supervisor_id, ctx, mint)
        else:
            events.append(
                AgentAdded(
                    at_ms=ctx.now_ms, agent_id=mint("a"), name=member.name, supervisor_id=supervisor_id, spec=member
                )
            )
    return events
