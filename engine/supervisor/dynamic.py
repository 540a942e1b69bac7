"""`DynamicSupervisor`: a live team in a program.

This file has the constructor, joining of teams, and serialization; the other methods are in `requests`, `changes`,
`people`, `views` and `history`.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from engine.core.commands import AddSupervisor, RegisterSpec, SupervisorSpec, Target, Winner
from engine.core.records.records import Json, JsonValue, copy_with
from engine.core.specs.discovery import DiscoveryConfig
from engine.core.specs.failure_policies import Chain
from engine.core.specs.limits import Limits
from engine.core.specs.model_spec import McpSpec, ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, lead_spec
from engine.core.validation.bounds import Rows
from engine.core.validation.records import check_arguments
from engine.errors import AlreadyStarted, NotInThisVersion
from engine.host.pending_commands import Applied
from engine.platform.clock import Clock
from engine.supervisor.adoption import tree_of
from engine.supervisor.changes import Changes
from engine.supervisor.history import RecordedWork
from engine.supervisor.local_engine import LocalEngine
from engine.supervisor.node import check_names, checks_arguments, spec_of
from engine.supervisor.offline import complete_state_of, state_ready
from engine.supervisor.people import People
from engine.supervisor.registry import AgentRegistry, SpecifiedAgent
from engine.supervisor.requests import Requests
from engine.supervisor.views import AgentSpecs, Views
from store import Durability

if TYPE_CHECKING:
    from engine.supervisor.attached import AttachedSupervisor

Self = TypeVar("Self", bound="DynamicSupervisor")


class DynamicSupervisor(Requests, People, Changes, Views, RecordedWork):
    """A team of agents that works on requests, and can be changed while it works.

    Calls need no set-up: each starts an engine while it needs one; `async with supervisor:` keeps one running. Between
    calls the team is kept in memory, or in the file `store`. Use it from one event loop at a time; from other threads,
    use `asyncio.run_coroutine_threadsafe`, or `attach` to its file.

    Args:
        name: A letter, then up to 63 letters, digits, "_" or "-".
        agent_specs: Its agents, in the order in which they take part; supervisors that have not worked yet join as with
            `add_sub_supervisor`, under their names.
        agent_registry: What `add_agent_from_registry` takes agents from.
        coordination_mode: Name of its coordination strategy, such as `sequential`, `parallel` or `map`; `sequential`
            by default, `delegate` with `model`.
        auto_discover: Choose agents by the words of each request, instead of using all of them.
        discovery: Where agents are found, and when they join the team.
        participants: Names of the participants, in order; None for all members.
        default_agent: Takes requests that match no agent.
        aggregator: The agent that makes a synthesis of results.
        max_agents: Limit on its agents.
        max_parallel: Limit on concurrent attempts of its own agents.
        on_failure: Failure policies of agents whose specs have none, here and in supervisors that join.
        limits: Budgets of its whole subtree, and the deadline of runs.
        coordination_strategies: Strategies by category of work, such as `{"research_tasks": "parallel"}`.
        coordination_settings: Settings of its coordination strategy.
        lead: The agent that gets the whole request in the mode `delegate`: a spec, or the name of one of its agents.
        model: The model of a lead, or several for failover: an agent with the supervisor's name is made, which
            delegates to the others. Not together with `lead`, or with a mode other than `delegate`.
        instructions: Instructions of the lead made by `model`.
        instructions_template: Instructions of a lead about its workers, in place of the engine's: at each turn
            `{worker_descriptions}` in it stands for those that are there, one a line.
        models: Models by the names that specs use, for its whole subtree.
        mcp: Servers of tools by the names that specs use, for its whole subtree.
        toolsets: Functions by names that agents made by its agents may be given, for its whole subtree.
        options: All other options of a supervisor; arguments above override them.
        store: Path of the team's file, resolved now if relative; None keeps everything in memory.
        durability: Whether acknowledged events are on disk (`full`) or may be lost in a power cut (`normal`).
        accept_loss: How many acknowledged events may be missing at the end of the file, for example after a disk fault;
            more raise `RowsLost`. Remove it once the team has started.
        on_conflict: What happens with settings that were changed in the file since this program declared them last:
            `declared` sets them again, `current` keeps them. Both are logged.
        clock: Source of time; the system clock by default.
        enable_auto_evolution: Not in this version.

    Raises:
        UnknownOption: If an option does not exist.
        AlreadyStarted: If a supervisor among `agent_specs` has worked, or is part of another.
        NotInThisVersion: If an option is not implemented in this version.
        CommandRefusedError: If the team is invalid, for example with two agents of one name.
        UnknownRuntime, Unusable: If an agent cannot work.
        ValueError: If a name or a number is invalid.
    """

    _engine: LocalEngine

    def __init__(
        self,
        name: str,
        *,
        agent_specs: "Iterable[AgentSpec | SpecifiedAgent | DynamicSupervisor]" = (),
        agent_registry: AgentRegistry | None = None,
        coordination_mode: str | None = None,
        coordination_strategies: Mapping[str, str] | None = None,
        coordination_settings: Mapping[str, Json] | None = None,
        auto_discover: bool = False,
        discovery: DiscoveryConfig | None = None,
        participants: Sequence[str] | None = None,
        default_agent: str | None = None,
        lead: AgentSpec | SpecifiedAgent | str | None = None,
        model: str | Sequence[str] | None = None,
        instructions: str = "",
        instructions_template: str | None = None,
        models: Mapping[str, ModelSpec] | None = None,
        mcp: Mapping[str, McpSpec] | None = None,
        toolsets: Mapping[str, Sequence[str | Callable[..., Any]]] | None = None,
        aggregator: str | None = None,
        max_agents: int = 50,
        max_parallel: int = 10,
        on_failure: Chain = (),
        limits: Limits | None = None,
        options: SupervisorOptions | None = None,
        enable_auto_evolution: bool = False,
        store: str | os.PathLike[str] | None = None,
        durability: Durability = "full",
        accept_loss: Rows | None = None,
        on_conflict: Winner = "declared",
        clock: Clock | None = None,
        **unknown: NoReturn,
    ) -> None:
        check_names("DynamicSupervisor", unknown, DynamicSupervisor.__init__.__kwdefaults__ or ())
        if enable_auto_evolution:
            instead = "look at get_supervision_metrics and change the team yourself"
            raise NotInThisVersion("enable_auto_evolution", instead)
        check_arguments(f"supervisor {name!r:.70}", DynamicSupervisor.__init__, locals())
        self.agent_registry = agent_registry
        self._path = (name,)
        members = list(agent_specs)
        teams = [member for member in members if isinstance(member, DynamicSupervisor)]
        specs = [spec_of(member) for member in members if not isinstance(member, DynamicSupervisor)]
        if model is not None:
            if lead is not None or coordination_mode not in (None, "delegate"):
                other = "lead" if lead is not None else f"coordination_mode={coordination_mode!r}"
                raise ValueError(f"supervisor {name!r} is led by the model that model= names; leave out {other}")
            lead, coordination_mode = lead_spec(name, model, instructions), "delegate"
        elif instructions or (instructions_template and lead is None):
            text = "instructions" if instructions else "an instructions_template"
            raise ValueError(f"supervisor {name!r} has {text}, and no model= that leads by them")
        if lead is not None and not isinstance(lead, str) and spec_of(lead).name not in [spec.name for spec in specs]:
            specs.insert(0, spec_of(lead))
            members.insert(0, lead)
        if len(specs) > max_agents:
            raise ValueError(f"supervisor {name!r} is given {len(specs)} agents, and max_agents is {max_agents}")
        named: dict[str, Any] = {
            "on_failure": tuple(on_failure),
            "limits": limits,
            "strategies": dict(coordination_strategies or {}),
            "settings": dict(coordination_settings or {}),
            "models": dict(models or {}),
            "mcp": dict(mcp or {}),
            "toolsets": {toolset: [*tools] for toolset, tools in (toolsets or {}).items()},
            "instructions_template": instructions_template,
            "discovery": discovery,
            "lead": lead if lead is None or isinstance(lead, str) else spec_of(lead).name,
        }
        team = SupervisorSpec(
            name=name,
            mode=coordination_mode or "sequential",
            aggregator=aggregator,
            participants=None if participants is None else list(participants),
            auto_discover=auto_discover,
            default_agent=default_agent,
            max_parallel=max_parallel,
            max_agents=max_agents,
            options=copy_with(options or SupervisorOptions(), **{key: value for key, value in named.items() if value}),
            members=[
                member._as_member_spec(member.name) if isinstance(member, DynamicSupervisor) else spec_of(member)
                for member in members
            ],
        )
        self._engine = LocalEngine(
            AddSupervisor(parent=None, team=team, forming=True),
            joining=[sub_supervisor._engine.callables for sub_supervisor in teams],
            store=None if store is None else Path(store),
            durability=durability,
            accept_loss=accept_loss or 0,
            on_conflict=on_conflict,
            clock=clock,
        )
        self._engine.add_nodes([self])
        for sub_supervisor in teams:
            sub_supervisor._join(self, sub_supervisor.name)
        self._stack: AsyncExitStack | None = None
        for info in agent_registry or ():
            self._engine.post(lambda spec=info.spec: RegisterSpec(spec=spec))  # type: ignore[misc]

    @property
    def agent_specs(self) -> AgentSpecs:
        """The specs of its own agents; changing the list changes the team."""
        return AgentSpecs(self)

    @classmethod
    def attach(cls, path: str | os.PathLike[str], supervisor: Target | None = None) -> "AttachedSupervisor":
        """Return a supervisor of a team in another process, with the same methods, through its file.

        Args:
            path: The team's file.
            supervisor: Name, id or path of the supervisor; the first root by default.

        Raises:
            StoreError: If there is no Quarterdeck database.
        """
        from engine.supervisor.attached import AttachedSupervisor  # most programs do not need it

        return AttachedSupervisor(path, supervisor)

    async def __aenter__(self: Self) -> Self:
        """Keep an engine running until the block ends.

        Raises:
            StoreError: If the files of the team cannot be opened, such as `StoreBusy`.
            Unusable: If an agent of the program cannot work.
            AlreadyStarted: If another `async with` keeps it running.
            CommandRefusedError: If a supervisor names a missing member.
        """
        if self._stack is not None:
            raise AlreadyStarted(self.name, is_kept=True)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._engine.running())
            self._engine.check_complete()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Release the engine once posted changes are carried out; the next engine of a file resumes its open runs.

        Raises:
            CommandRefusedError, Unusable: The error of a posted change that no call has raised.
        """
        stack, self._stack = self._stack, None
        if stack is not None:
            async with stack:
                if kind is None:
                    await self._engine.flush()

    @checks_arguments
    async def add_sub_supervisor(self, name: str, unstarted: "DynamicSupervisor") -> Applied:
        """Add another supervisor with its subtree; it becomes a view on this team.

        Args:
            name: Its name here.
            unstarted: A supervisor in memory that has not worked yet.

        Raises:
            AlreadyStarted: If it has worked, or would be under itself.
            CommandRefusedError: If the name is taken.
        """
        if unstarted._engine is self._engine:
            raise AlreadyStarted(unstarted.name)
        team = unstarted._as_member_spec(name)
        self._engine.callables.adopt_all(unstarted._engine.callables)
        forming = not self._engine.is_complete
        applied = await self._engine.order(lambda: AddSupervisor(parent=self._target, team=team, forming=forming))
        unstarted._join(self, name)
        return applied

    def _as_member_spec(self, name: str) -> SupervisorSpec:
        """Return the description with which this supervisor joins another.

        Raises:
            AlreadyStarted: If it is on a file, has worked, or is part of another.
        """
        if len(self._path) > 1 or not self._engine.is_untouched:
            raise AlreadyStarted(self.name)
        return tree_of(self._engine.state, self._supervisor, self._engine.callables, name=name)

    def _join(self, parent: "DynamicSupervisor", name: str) -> None:
        """Become a view on the team that this supervisor has joined."""
        nodes, depth = self._engine.nodes, len(self._path)
        for node in nodes:
            node._engine = parent._engine
            node._path = (*parent._path, name, *node._path[depth:])
        parent._engine.add_nodes(nodes)

    async def serialize_complete_state(self) -> dict[str, JsonValue]:
        """Return agents, registry, open work, history and metrics as one JSON value, as in an archive.

        Work in progress is included as work to be restarted, with its finished steps.
        """
        if len(self._path) > 1:
            raise NotInThisVersion("serialize_complete_state under another supervisor", "ask the one at the top")
        async with nullcontext() if self._engine.is_current else self._engine.running():
            return await complete_state_of(self._state, self._engine.text)

    @checks_arguments
    async def deserialize_state(
        self, state: Mapping[str, Any], paused: bool = False, *, trusted: Iterable[str] = ()
    ) -> Applied:
        """Restore what `serialize_complete_state` returned; its first supervisor becomes this one.

        The agents that this program declares are declared again on top of it, and replace those of the same name.

        Args:
            state: The value, from this process or another.
            paused: Pause its open runs until `resume`.
            trusted: References to code in it that may be imported, in addition to callables of this process.

        Raises:
            NotEmpty: If this supervisor runs or has worked, or its file contains a team.
            ImportRefused: If the value is invalid.
            CommandRefusedError: If it refers to code that is not trusted.
        """
        if len(self._path) > 1:
            raise NotInThisVersion("deserialize_state under another supervisor", "take it into a supervisor of its own")
        signal = state_ready(state, self.name, self._engine.callables, paused=paused, trusted=trusted)
        await self._engine.restore_state(signal)
        return Applied(self._engine.state.seq, "took in a state", {})
