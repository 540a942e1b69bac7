"""Methods that change a team, also while it works; each returns the outcome, or raises the refusal."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeAlias

from engine.core import commands
from engine.core.discovery import choose
from engine.core.options import Optimize, SupervisorOptions
from engine.core.queries.suiting import candidate_of
from engine.core.queries.targets import at, find_supervisor
from engine.core.records import changed, names
from engine.core.spec import AgentSpec
from engine.core.strategies import strategy_named
from engine.core.validation.rules import Says, Within
from engine.host.pending_commands import Applied
from engine.registry import SpecifiedAgent
from engine.supervisor.node import Node, check_names, checks_arguments, spec_of

Settings: TypeAlias = Mapping[str, Any]
Trial: TypeAlias = Annotated[tuple[int, int], Within(min_length=2, max_length=2), Says("two whole numbers")]
SwapMode: TypeAlias = Literal["drain", "migrate", "abort"]

_COORDINATION = ("mode", "aggregation", "aggregator", "preserve_agent_states", "scope", "settings", "lead", "run")
_SPEC_FIELDS = tuple(name for name in names(AgentSpec) if name != "name")
_MAKES_ONE_TEXT = "write, edit, summarize or combine several results into one text"
"""Words by which an aggregator is chosen."""


class Changes(Node):
    """Methods that change the members of a team and how it is coordinated."""

    @checks_arguments
    async def add_agent(self, agent: AgentSpec | SpecifiedAgent, *, name: str | None = None) -> Applied:
        """Add an agent, with its id as `agent_id` in the result.

        Args:
            agent: What it is.
            name: What it is called, where not as its spec.

        Raises:
            CommandRefusedError: If the name is taken, or the team is full.
            Unusable: If it could not work.
        """
        spec = spec_of(agent)
        return await self._engine.order(lambda: commands.AddAgent(supervisor=self._target, spec=spec, name=name))

    @checks_arguments
    async def add_specialized_agent(self, name: str, settings: Settings) -> Applied:
        """Add an agent from fields of a spec, such as `{"specialties": [...], "tools": [...], "run": ...}`.

        Raises:
            UnknownOption: If one of them is no field of a spec.
            CommandRefusedError, Unusable: As `add_agent`.
        """
        check_names("an agent spec", settings, _SPEC_FIELDS)
        return await self.add_agent(AgentSpec(name=name, **settings))

    @checks_arguments
    async def add_agent_from_registry(self, name: str, *, as_name: str | None = None) -> Applied:
        """Add an agent from the program's registry, or else from the team's.

        Args:
            name: Of the entry.
            as_name: What the agent is called, where not as the entry.

        Raises:
            CommandRefusedError: If neither has it, or the name of the agent is taken.
        """
        if self.agent_registry is not None and name in self.agent_registry:
            return await self.add_agent(self.agent_registry.get(name).spec, name=as_name)
        return await self._engine.order(
            lambda: commands.AddAgent(supervisor=self._target, registered=name, name=as_name)
        )

    @checks_arguments
    async def remove_agent(self, name: str, *, mode: Literal["drain", "requeue", "abort"] | None = None) -> Applied:
        """Remove an agent.

        Args:
            name: Its name or id.
            mode: What becomes of its work: `drain` finishes it first, `requeue` gives it to others at the next step,
                `abort` at once. Without it a busy agent is not removed.

        Raises:
            CommandRefusedError: If there is none, or it is busy and no mode was given.
        """
        return await self._engine.order(lambda: commands.RemoveMember(target=self._agent_target(name), mode=mode))

    @checks_arguments
    async def swap_agent(
        self,
        name: str,
        spec: AgentSpec | SpecifiedAgent | str,
        mode: SwapMode = "drain",
        *,
        deadline_s: float | None = None,
        rollback_after: Trial | None = None,
    ) -> Applied:
        """Give an agent another spec while it works; attempts that begin from now on use it.

        Args:
            name: Name or id of the agent, which keeps both.
            spec: What it becomes; or the name of a spec in the registry.
            mode: What becomes of attempts at work. `drain`: they end on the old one. `migrate`: they stop at their next
                step and go on with the new one, on the steps that are finished. `abort`: they stop now and begin again.
            deadline_s: With `drain`: ask a person when they are still at work after so many seconds.
            rollback_after: `(n, m)`: roll back by itself when n of the first m tasks of the new one fail.

        Raises:
            CommandRefusedError: If there is no such agent, it has this spec already, or it is swapping.
            Unusable: If the new one could not work.
        """
        return await self._engine.order(lambda: self._swap(name, spec, mode, deadline_s, rollback_after))

    @checks_arguments
    async def swap_agents(
        self, specs: Mapping[str, AgentSpec | SpecifiedAgent | str], mode: SwapMode = "drain"
    ) -> Applied:
        """Swap several agents as one change: all of them, or none.

        Args:
            specs: From the name of each agent to what it becomes.
            mode: As for `swap_agent`.

        Raises:
            CommandRefusedError, Unusable: As `swap_agent`, for the first that cannot be.
        """
        return await self._engine.order(
            lambda: commands.SwapAgents(swaps=[self._swap(name, spec, mode) for name, spec in specs.items()])
        )

    def _swap(
        self,
        name: str,
        spec: AgentSpec | SpecifiedAgent | str,
        mode: SwapMode,
        deadline_s: float | None = None,
        rollback_after: tuple[int, int] | None = None,
    ) -> commands.SwapAgent:
        failures, tasks = rollback_after or (None, 10)
        return commands.SwapAgent(
            agent=self._agent_target(name),
            spec=None if isinstance(spec, str) else spec_of(spec),
            registered=spec if isinstance(spec, str) else None,
            mode=mode,
            deadline_s=deadline_s,
            rollback_failures=failures,
            rollback_tasks=tasks,
        )

    @checks_arguments
    async def rollback(self, name: str, mode: SwapMode = "drain") -> Applied:
        """Give an agent the spec of the generation before.

        Raises:
            CommandRefusedError: If there is none, or it was never swapped.
        """
        return await self._engine.order(lambda: commands.Rollback(agent=self._agent_target(name), mode=mode))

    @checks_arguments
    async def change_capabilities(self, name: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Applied:
        """Change what an agent is able to do, while it works; what it runs stays.

        Raises:
            CommandRefusedError: If there is none, or it does not have what is to go.
        """
        added, removed = list(add), list(remove)
        return await self._engine.order(
            lambda: commands.ChangeCapabilities(agent=self._agent_target(name), add=added, remove=removed)
        )

    @checks_arguments
    async def move(self, name: str, parent: str) -> Applied:
        """Put an agent, or a supervisor with everything under it, under another supervisor of the same tree.

        Args:
            name: Of the agent or the supervisor; of several with that name one of this supervisor's own.
            parent: Name or id of the supervisor that it comes under, likewise.

        Raises:
            CommandRefusedError: If either is not there, the name is taken, or it would be under itself.
        """
        return await self._engine.order(
            lambda: commands.Move(target=self._any_target(name), parent=self._any_target(parent, find_supervisor))
        )

    async def set_options(
        self,
        options: SupervisorOptions | None = None,
        *,
        max_parallel: int | None = None,
        max_agents: int | None = None,
    ) -> Applied:
        """Change what the supervisor allows; what is None stays.

        Raises:
            CommandRefusedError: If it cannot be right.
        """
        return await self._engine.order(
            lambda: commands.ChangeSupervisor(
                supervisor=self._target, options=options, max_parallel=max_parallel, max_agents=max_agents
            )
        )

    @checks_arguments
    async def replace_agent(self, name: str, changes: AgentSpec | SpecifiedAgent | Settings) -> Applied:
        """Give an agent another spec, or some fields of one; what is no field of a spec is an option for its runtime.

        Raises:
            UnknownOption: If a name is so near to a field that it must be a slip.
            CommandRefusedError, Unusable: As `swap_agent`.
        """
        if not isinstance(changes, Mapping):
            return await self.swap_agent(name, changes)
        settings = dict(changes)
        slips = [key for key in settings if get_close_matches(key, ["name", *_SPEC_FIELDS], n=1, cutoff=0.8)]
        check_names("an agent spec", slips, _SPEC_FIELDS)

        def swap() -> commands.SwapAgent:
            agent = self._agent(name)
            return commands.SwapAgent(
                agent=at(agent.id), spec=_with(self._engine.restored(self._state.spec_of(agent)), settings)
            )

        return await self._engine.order(swap)

    @property
    def coordination_mode(self) -> str:
        """Name of the coordination strategy; assign another to switch, before anything that is asked later."""
        posted = (one for one in reversed(self._engine.posted) if isinstance(one, commands.SwitchStrategy))
        return next((one.mode for one in posted if one.mode and one.supervisor == self._target), self._here.mode)

    @coordination_mode.setter
    def coordination_mode(self, mode: str) -> None:
        strategy_named(mode)
        self._engine.post(lambda: commands.SwitchStrategy(supervisor=self._target, mode=mode))

    @checks_arguments
    async def reconfigure_coordination(self, settings: Settings) -> Applied:
        """Change how the team works together, in the middle of its runs: done stays done, the rest is planned anew.

        Args:
            settings: Any of `mode`, `aggregation` (concat, vote, best, first, synthesis), `aggregator` (the agent that
                makes a synthesis; where nobody was ever named, the one whose words speak most of writing and
                combining), `preserve_agent_states` (False stops what is at work at its next step), `settings` of the
                strategy, `lead` for `delegate`, and `scope` (`open` runs too, `new` ones only, or one `run`).

        Raises:
            UnknownOption: If one of them is something else.
            CommandRefusedError: If there is no such strategy, or nobody to make a synthesis.
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
        if settings.get("aggregation") != "synthesis" or self._here.aggregator is not None:
            return None
        found = choose(_MAKES_ONE_TEXT, [candidate_of(self._state, agent) for agent in self._agents], limit=1)
        return self._state.agents[found.matches[0].id].name if found.matches else None

    @checks_arguments
    async def enable_auto_coordination_optimization(self, settings: Mapping[str, Any] | None = None) -> Applied:
        """Let the supervisor change how it coordinates by itself, from how its runs went.

        Nothing is changed on fewer than 20 finished runs; a change after which 20 runs go worse by a tenth is taken
        back and not tried again. Each is an event that says why.

        Args:
            settings: Any of `performance_threshold` (0 to 1; below this share of done runs, or of the speed that is
                possible, something is changed), `switch_to_parallel_when_slow` and `optimize_agent_selection`; None
                takes the permission back.

        Raises:
            UnknownOption: If one of them is something else.
            ValueError: If the threshold cannot be.
        """
        known = list(names(Optimize))
        check_names("enable_auto_coordination_optimization", settings or (), known)
        optimize = Optimize(**(settings or {}))
        if self._here.options.optimize == optimize:
            return Applied(self._state.seq, "is so already", {})
        return await self.set_options(SupervisorOptions(optimize=optimize))


def _with(spec: AgentSpec, settings: Settings) -> AgentSpec:
    named = {key: value for key, value in settings.items() if key in _SPEC_FIELDS}
    options = {key: value for key, value in settings.items() if key not in _SPEC_FIELDS}
    if options:
        named["options"] = {**named.get("options", spec.options), **options}
    return changed(spec, **named)
