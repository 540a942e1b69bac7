"""Methods that change a live team; each returns the outcome of its command, or raises the refusal."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeAlias

from engine.core import commands
from engine.core.commands import Target
from engine.core.discovery.choosing import choose
from engine.core.queries.targets import find_member, find_supervisor, id_target
from engine.core.queries.team.fits import candidate_of
from engine.core.records.records import copy_with, field_names
from engine.core.specs.options import Optimize, SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.core.state import RecipeTask
from engine.core.strategies import strategy_named
from engine.core.validation.rules import Within, Wording
from engine.host.pending_commands import Applied
from engine.supervisor.node import SupervisorNode, check_names, checks_arguments, spec_of, translate_refusals
from engine.supervisor.registry import SpecifiedAgent

Settings: TypeAlias = Mapping[str, Any]
Trial: TypeAlias = Annotated[tuple[int, int], Within(min_length=2, max_length=2), Wording("two whole numbers")]
SwapMode: TypeAlias = Literal["drain", "migrate", "abort"]

_COORDINATION = ("mode", "aggregation", "aggregator", "preserve_agent_states", "scope", "settings", "lead", "run")
_SPEC_FIELDS = tuple(name for name in field_names(AgentSpec) if name != "name")
_AGGREGATOR_REQUEST = "write, edit, summarize or combine several results into one text"
"""The request by which an agent is chosen as aggregator if none was ever named."""


class Changes(SupervisorNode):
    """Methods that change the members, settings and coordination of a team."""

    @checks_arguments
    async def add_agent(self, agent: AgentSpec | SpecifiedAgent, *, name: str | None = None) -> Applied:
        """Add an agent; the result contains its id as `agent_id`.

        Args:
            agent: Its spec.
            name: Its name; None takes that of the spec.

        Raises:
            CommandRefusedError: If the name is taken, or the team is full.
            Unusable: If its code is missing or cannot be called.
        """
        spec = spec_of(agent)
        return await self._engine.order(lambda: commands.AddAgent(supervisor=self._target, spec=spec, name=name))

    @checks_arguments
    async def create_agent(
        self,
        maker: Target,
        name: str,
        primer: str,
        *,
        capabilities: Sequence[str] = (),
        run: str | None = None,
        tasks: Mapping[str, RecipeTask] | None = None,
        model: str | None = None,
        tokens: int | None = None,
    ) -> Applied:
        """Make an agent for another one, as its own code does by `ctx.create_agent`; the result has its `recipe_id`.

        Args:
            maker: The agent that could have made it: it has no right that its maker has not.
            name: Its name.
            primer: What its model is told it is.
            capabilities: Names in what its maker may use.
            run: A tool of its maker that does the work in place of a model.
            tasks: What it is called for.
            model: The model that plays it; by default that of its maker.
            tokens: The most tokens that it may spend in all.

        Raises:
            CommandRefusedError: If something is not its maker's to give, the name is taken, or it would be too deep.
        """
        command = commands.CreateAgent(
            maker=maker, name=name, primer=primer, capabilities=[*capabilities], run=run, tasks=dict(tasks or {}),
            model=model, tokens=tokens,
        )  # fmt: skip
        return await self._engine.order(lambda: command)

    @checks_arguments
    async def add_specialized_agent(self, name: str, settings: Settings) -> Applied:
        """Add an agent from fields of a spec, such as `{"specialties": [...], "tools": [...], "run": ...}`.

        Raises:
            UnknownOption: If a key is not a field of a spec.
            CommandRefusedError, Unusable: As `add_agent`.
        """
        check_names("an agent spec", settings, _SPEC_FIELDS)
        return await self.add_agent(AgentSpec(name=name, **settings))

    @checks_arguments
    async def add_agent_from_registry(self, name: str, *, as_name: str | None = None) -> Applied:
        """Add an agent from the program's registry, or else from the team's.

        Args:
            name: Name of the entry.
            as_name: Name of the agent; None takes that of the entry.

        Raises:
            CommandRefusedError: If neither has the entry, or the name of the agent is taken.
        """
        if self.agent_registry is not None and name in self.agent_registry:
            return await self.add_agent(self.agent_registry.get(name).spec, name=as_name)
        return await self._engine.order(
            lambda: commands.AddAgent(supervisor=self._target, registered=name, name=as_name)
        )

    @checks_arguments
    async def remove_agent(self, name: Target, *, mode: Literal["drain", "requeue", "abort"] | None = None) -> Applied:
        """Remove an agent.

        Args:
            name: As any target: its name, id or path; this supervisor's own agents come first.
            mode: What happens to its work: `drain` finishes it first, `requeue` gives it to other agents at the next
                step, `abort` at once. None refuses to remove a busy agent.

        Raises:
            CommandRefusedError: If there is no such agent, or it is busy and no mode was given.
        """
        return await self._engine.order(
            lambda: commands.RemoveMember(target=id_target(self._agent(name).id), mode=mode)
        )

    @checks_arguments
    async def swap_agent(
        self,
        name: Target,
        spec: AgentSpec | SpecifiedAgent | str,
        mode: SwapMode = "drain",
        *,
        deadline_s: float | None = None,
        rollback_after: Trial | None = None,
    ) -> Applied:
        """Give an agent another spec, also while it works; attempts that start from now on use it.

        Args:
            name: The agent, as for `remove_agent`; it keeps its name and id.
            spec: The new spec, or the name of one in the registry.
            mode: What happens to attempts at work. `drain`: they finish on the old spec. `migrate`: they stop at their
                next step and continue on the new spec with their recorded steps. `abort`: they stop now and start over.
            deadline_s: With `drain`: ask a person if attempts still run on the old spec after so many seconds.
            rollback_after: `(n, m)`: roll back automatically if n of the first m tasks of the new spec fail.

        Raises:
            CommandRefusedError: If there is no such agent, it has this spec already, or an earlier swap has not ended.
            Unusable: If the code of the new spec is missing or cannot be called.
        """
        return await self._engine.order(lambda: self._swap(name, spec, mode, deadline_s, rollback_after))

    @checks_arguments
    async def swap_agents(
        self, specs: Mapping[Target, AgentSpec | SpecifiedAgent | str], mode: SwapMode = "drain"
    ) -> Applied:
        """Swap several agents as one change: all or none.

        Args:
            specs: The new spec of each agent, named as for `remove_agent`.
            mode: As for `swap_agent`.

        Raises:
            CommandRefusedError, Unusable: As `swap_agent`, for the first swap that is impossible.
        """
        return await self._engine.order(
            lambda: commands.SwapAgents(swaps=[self._swap(name, spec, mode) for name, spec in specs.items()])
        )

    def _swap(
        self,
        name: Target,
        spec: AgentSpec | SpecifiedAgent | str,
        mode: SwapMode,
        deadline_s: float | None = None,
        rollback_after: tuple[int, int] | None = None,
    ) -> commands.SwapAgent:
        failures, tasks = rollback_after or (None, 10)
        return commands.SwapAgent(
            agent=id_target(self._agent(name).id),
            spec=None if isinstance(spec, str) else spec_of(spec),
            registered=spec if isinstance(spec, str) else None,
            mode=mode,
            deadline_s=deadline_s,
            rollback_failures=failures,
            rollback_tasks=tasks,
        )

    @checks_arguments
    async def rollback(self, name: Target, mode: SwapMode = "drain") -> Applied:
        """Give an agent the spec of its previous generation.

        Raises:
            CommandRefusedError: If there is no such agent, or it was never swapped.
        """
        return await self._engine.order(lambda: commands.Rollback(agent=id_target(self._agent(name).id), mode=mode))

    @checks_arguments
    async def change_capabilities(
        self, name: Target, *, add: Iterable[str] = (), remove: Iterable[str] = ()
    ) -> Applied:
        """Add or remove specialties of a live agent; its code stays.

        Raises:
            CommandRefusedError: If there is no such agent, or it does not have a specialty that is to be removed.
        """
        added, removed = list(add), list(remove)
        return await self._engine.order(
            lambda: commands.ChangeCapabilities(agent=id_target(self._agent(name).id), add=added, remove=removed)
        )

    @checks_arguments
    async def move(self, name: Target, parent: Target) -> Applied:
        """Move an agent, or a supervisor with everything under it, to another supervisor of the same tree.

        Args:
            name: Name, id or path of the agent or supervisor; this supervisor's own members come first.
            parent: The new parent, looked up in the same way.

        Raises:
            CommandRefusedError: If one of them is unknown, the name is taken, or the move would make a cycle.
        """
        return await self._engine.order(
            lambda: commands.Move(
                target=self._target_for(name, find_member), parent=self._target_for(parent, find_supervisor)
            )
        )

    async def set_options(
        self,
        options: SupervisorOptions | None = None,
        *,
        max_parallel: int | None = None,
        max_agents: int | None = None,
    ) -> Applied:
        """Change settings of the supervisor; None leaves a setting as it is.

        Raises:
            CommandRefusedError: If a setting is invalid.
        """
        return await self._engine.order(
            lambda: commands.ChangeSupervisor(
                supervisor=self._target, options=options, max_parallel=max_parallel, max_agents=max_agents
            )
        )

    @checks_arguments
    async def replace_agent(self, name: Target, changes: AgentSpec | SpecifiedAgent | Settings) -> Applied:
        """Give an agent another spec, or change fields of its spec; other keys become options of its runtime.

        Raises:
            UnknownOption: If a key resembles a field so closely that it is probably misspelled.
            CommandRefusedError, Unusable: As `swap_agent`.
        """
        if not isinstance(changes, Mapping):
            return await self.swap_agent(name, changes)
        settings = dict(changes)
        unknown_keys = [key for key in settings if get_close_matches(key, ["name", *_SPEC_FIELDS], n=1, cutoff=0.8)]
        check_names("an agent spec", unknown_keys, _SPEC_FIELDS)

        def swap() -> commands.SwapAgent:
            agent = self._agent(name)
            return commands.SwapAgent(
                agent=id_target(agent.id),
                spec=_with_settings(self._engine.with_callables(self._state.spec_of(agent)), settings),
            )

        return await self._engine.order(swap)

    @property
    def coordination_mode(self) -> str:
        """Name of the coordination strategy; assigning another one switches before any later call is carried out."""
        switches = (
            command for command in reversed(self._engine.posted) if isinstance(command, commands.SwitchStrategy)
        )
        return next(
            (switch.mode for switch in switches if switch.mode and switch.supervisor == self._target),
            self._supervisor.mode,
        )

    @coordination_mode.setter
    def coordination_mode(self, mode: str) -> None:
        with translate_refusals():
            strategy_named(mode)
        self._engine.post(lambda: commands.SwitchStrategy(supervisor=self._target, mode=mode))

    @checks_arguments
    async def reconfigure_coordination(self, settings: Settings) -> Applied:
        """Switch the coordination strategy, also while runs are open: finished nodes stay, the rest is planned anew.

        Args:
            settings: Any of `mode`, `aggregation` (concat, vote, best, first, synthesis), `aggregator` (the agent that
                does the synthesis; if none was ever named, the agent whose description fits writing and combining
                best), `preserve_agent_states` (False stops attempts at work at their next step), `settings` of the
                strategy, `lead` for `delegate`, and `scope` (`open`: open runs too, `new`: only new ones, `run`: one).

        Raises:
            UnknownOption: If a key is none of these.
            CommandRefusedError: If there is no such strategy, or no agent for the synthesis.
        """
        check_names("reconfigure_coordination", settings, _COORDINATION)
        return await self._engine.order(
            lambda: commands.SwitchStrategy(
                supervisor=self._target,
                mode=settings.get("mode"),
                aggregation=settings.get("aggregation"),
                aggregator=settings.get("aggregator") or self._aggregator(settings),
                preserve_agent_states=bool(settings.get("preserve_agent_states", True)),
                scope=settings.get("scope", "run" if settings.get("run") else "open"),
                settings=settings.get("settings"),
                lead=settings.get("lead"),
                run=settings.get("run"),
            )
        )

    def _aggregator(self, settings: Settings) -> str | None:
        if settings.get("aggregation") != "synthesis" or self._supervisor.aggregator is not None:
            return None
        choice = choose(_AGGREGATOR_REQUEST, [candidate_of(self._state, agent) for agent in self._agents], limit=1)
        return self._state.agents[choice.matches[0].id].name if choice.matches else None

    @checks_arguments
    async def enable_auto_coordination_optimization(self, settings: Mapping[str, Any] | None = None) -> Applied:
        """Let the supervisor tune its own coordination by the results of its runs.

        Nothing changes before 20 runs have finished. A change after which 20 runs perform worse by a tenth is reverted
        and not tried again. Each change is an event that contains the reason.

        Args:
            settings: Any of `performance_threshold` (0 to 1; the share of successful runs, or of the possible speed,
                below which the coordination is changed), `switch_to_parallel_when_slow` and
                `optimize_agent_selection`; None turns tuning off.

        Raises:
            UnknownOption: If a key is none of these.
            ValueError: If the threshold is out of range.
        """
        option_names = list(field_names(Optimize))
        check_names("enable_auto_coordination_optimization", settings or (), option_names)
        optimize = Optimize(**(settings or {}))
        if self._supervisor.options.optimize == optimize:
            return Applied(self._state.seq, "is so already", {})
        return await self.set_options(SupervisorOptions(optimize=optimize))


def _with_settings(spec: AgentSpec, settings: Settings) -> AgentSpec:
    fields = {key: value for key, value in settings.items() if key in _SPEC_FIELDS}
    options = {key: value for key, value in settings.items() if key not in _SPEC_FIELDS}
    if options:
        fields["options"] = {**fields.get("options", spec.options), **options}
    return copy_with(spec, **fields)
