"""How a team works together: its strategy, and what it may change about that by itself."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from engine.core.commands import ChangeSupervisor, SwitchStrategy
from engine.core.discovery import choose
from engine.core.options import Optimize, SupervisorOptions
from engine.core.queries.suiting import candidate_of
from engine.core.strategies import strategy_named
from engine.host.orders import Applied
from engine.supervisor.errors import UnknownOption
from engine.supervisor.node import Node
from engine.supervisor.options import checks_arguments

_COORDINATION = ("mode", "aggregation", "aggregator", "preserve_agent_states", "scope", "settings", "lead", "run")
_MAKES_ONE_TEXT = "write, edit, summarize or combine several results into one text"
"""What an agent has to be good at that makes a synthesis."""


class Coordination(Node):
    """How the members of a team share a request."""

    @property
    def coordination_mode(self) -> str:
        """Name of the coordination strategy; assign another to switch, before anything that is asked later."""
        posted = [
            one.mode
            for one in self._line.posted
            if isinstance(one, SwitchStrategy) and one.mode and one.supervisor == self._target
        ]
        return posted[-1] if posted else self._here.mode

    @coordination_mode.setter
    def coordination_mode(self, mode: str) -> None:
        strategy_named(mode)
        self._line.post(lambda: SwitchStrategy(supervisor=self._target, mode=mode))

    @checks_arguments
    async def reconfigure_coordination(self, settings: Mapping[str, Any]) -> Applied:
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
        for key in settings:
            if key not in _COORDINATION:
                raise UnknownOption("reconfigure_coordination", key, _COORDINATION)
        return await self._order(
            lambda: SwitchStrategy(
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

    def _aggregator(self, settings: Mapping[str, Any]) -> str | None:
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
        known = [one.name for one in fields(Optimize)]
        for name in settings or ():
            if name not in known:
                raise UnknownOption("enable_auto_coordination_optimization", name, known)
        optimize = Optimize(**(settings or {}))
        if self._here.options.optimize == optimize:
            return Applied(self._state.seq, "is so already", {})
        return await self._order(
            lambda: ChangeSupervisor(supervisor=self._target, options=SupervisorOptions(optimize=optimize))
        )
