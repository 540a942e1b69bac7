"""The members that a program declares: commands about them, with its callables bound and checked.

The same commands go to the offline journal while no engine runs, and to an engine otherwise.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress

import anyio

from engine.core import commands
from engine.core.queries.team.code import specs_of
from engine.core.signals import AgentUnusable, AgentUsable, Signal
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.core.state import Agent, State
from engine.errors import BoundElsewhere, CommandRefusedError, HostStopped, Unusable
from engine.host.host import Host
from engine.host.pending_commands import Applied
from engine.supervisor.adoption import Adoption
from engine.supervisor.callables import Callables
from engine.supervisor.offline import OfflineJournal


class ProgramMembers:
    """The members of one program and their code.

    Args:
        team: The root supervisor as the program declares it.
        on_file: Whether the team is in a file, where earlier processes may have declared members.
        on_conflict: As for `Adoption`.
    """

    def __init__(self, team: commands.AddSupervisor, *, on_file: bool, on_conflict: commands.Winner) -> None:
        self.callables = Callables()
        self._on_file = on_file
        self._on_conflict: commands.Winner = on_conflict
        self._team = team
        self.is_declared = not on_file
        """False until the team has been declared to the file."""
        self.adoption = Adoption(self.callables, declares=on_file, on_conflict=on_conflict)
        self._checked: set[str] = set()

    def make_adoption(self, state: State) -> Adoption:
        """Return an adoption for a restored state, all of whose members are left to take over."""
        adoption = Adoption(self.callables, declares=self._on_file, on_conflict=self._on_conflict)
        adoption.mark_all_members(state)
        return adoption

    def check_kinds(self, state: State, command: commands.Command) -> None:
        """Check that the kinds of the agents that a command brings exist; raises UnknownRuntime."""
        for spec in brought_specs(state, command):
            self.callables.check_kind(spec)

    async def check(self, spec: AgentSpec, host: Host | None = None) -> None:
        """Check once that the agent of a spec can work; raises Unusable."""
        if (key := spec_hash(spec)) not in self._checked:
            await self.callables.check_usable(spec, None if host is None else host.processes)
            self._checked.add(key)

    def decide(
        self,
        journal: OfflineJournal,
        command: commands.Command,
        now_ms: int,
        *,
        adoption: Adoption | None = None,
        settings: bool = True,
    ) -> Applied:
        """Carry out a command without an engine; `adoption` and `settings` are for a restored state."""
        outcome = Applied(journal.state.seq, "already exists", {})
        for replacement in (adoption or self.adoption).commands(journal.state, command, settings=settings):
            self.check_kinds(journal.state, replacement)
            outcome = journal.order(replacement, now_ms)
        return outcome

    async def order_from(self, host: Host, command: commands.Command) -> Applied:
        """Have an engine carry out a command."""
        outcome = Applied(host.state.seq, "already exists", {})
        for replacement in self.adoption.commands(host.state, command):
            host.bind(self.callables.by_reference)
            for spec in brought_specs(host.state, replacement):
                await self.check(spec, host)
            outcome = await host.order(replacement)
        host.bind(self.callables.by_reference)
        if isinstance(command, commands.AddAgent | commands.AddSupervisor):
            await self._clear_errors(host, {spec.name for spec in brought_specs(host.state, command)})
        return outcome

    async def _clear_errors(self, host: Host, names: Collection[str]) -> None:
        """Clear the error of agents whose code arrived when they were adopted."""
        for agent in list(host.state.agents.values()):
            if (agent.error is not None or agent.away) and self.adoption.is_ours(agent.id):
                try:
                    await self.callables.check_usable(host.state.spec_of(agent), host.processes)
                except BoundElsewhere:
                    continue  # its spec was changed since the declaration, and the new code is not in this program
                except Unusable:
                    if agent.name in names:
                        raise
                    continue
                await _signal_and_wait(host, AgentUsable(agent_id=agent.id, generation=agent.generation))

    def is_team_in(self, state: State) -> bool:
        """Return whether the state of a file contains the team."""
        return any(root.name == self._team.team.name for root in state.roots)

    def bind_ahead(self, state: State, posted: Iterable[commands.Command]) -> None:
        """Bind the callables to the members in the state of a file, before its engine starts."""
        for command in (self._team, *posted):
            with suppress(CommandRefusedError):  # raised again when it is carried out
                self.adoption.bind_ahead(state, command)

    async def declare(self, host: Host, before: State) -> bool:
        """Declare the team to a file, once; return whether it was declared now.

        Where others have worked on the file since the state `before`, it is declared again if they gave an agent of
        ours their own code.
        """
        if self._on_file and self.is_declared:
            self.adoption.mark_new_members(before, host.state)
            if any(self._is_code_replaced(agent, before) for agent in host.state.agents.values()):
                self.adoption.mark_all_members(host.state)
                self.is_declared = False
        if self.is_declared:
            return False
        await self.order_from(host, self._team)
        self.is_declared = True
        return True

    def _is_code_replaced(self, agent: Agent, before: State) -> bool:
        """Return whether another program has replaced the code of an agent of ours with code of its own."""
        earlier = before.agents.get(agent.id)
        return agent.away and self.adoption.is_ours(agent.id) and earlier is not None and earlier.spec != agent.spec

    async def check_agents(self, host: Host) -> None:
        """Check that every agent of the program can work; raises Unusable."""
        for agent in list(host.state.agents.values()):
            is_ours = self.adoption.is_ours(agent.id)
            if agent.away and not is_ours:
                continue
            try:
                await self.check(host.state.spec_of(agent), host)
            except Unusable as unusable:
                if agent.away and isinstance(unusable, BoundElsewhere):
                    continue  # its work waits; the rest of the team goes on
                if is_ours:
                    raise
                # Before any work is assigned: the engine's own check of its agents takes a while.
                signal = AgentUnusable(agent_id=agent.id, generation=agent.generation, error=unusable.reason)
                await _signal_and_wait(host, signal)


async def _signal_and_wait(host: Host, signal: Signal) -> None:
    """Return once the core has decided a signal and that is on disk."""
    if host.stopped is not None:
        raise HostStopped(host.stopped)
    decided_event = anyio.Event()
    host.signal(signal, lambda error: decided_event.set())
    await decided_event.wait()


def brought_specs(state: State, command: commands.Command) -> list[AgentSpec]:
    """Return every spec that a command brings to work, also by its name in the registry."""
    if isinstance(command, commands.RegisterSpec):
        return []
    if isinstance(command, commands.SwapAgents):
        return [spec for swap in command.swaps for spec in brought_specs(state, swap)]
    if isinstance(command, commands.AddAgent | commands.SwapAgent) and command.spec is None:
        key = state.registry.get(command.registered or "")
        return [] if key is None else [state.specs[key]]
    return specs_of(command)
