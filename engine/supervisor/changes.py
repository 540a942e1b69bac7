"""Changing a team, also while it works. Every change returns what it came to, or raises why it was refused."""

from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

from engine.core.commands import AddAgent, RemoveMember, SwapAgent, SwitchStrategy
from engine.core.decide.find import candidate_of
from engine.core.discovery import choose
from engine.core.spec import AgentSpec, FailurePolicy
from engine.core.strategies import strategy_named
from engine.host.orders import Applied
from engine.registry import SpecifiedAgent
from engine.supervisor.errors import UnknownOption
from engine.supervisor.node import Node

Settings: TypeAlias = Mapping[str, Any]

_COORDINATION = ("mode", "aggregation", "aggregator", "preserve_agent_states", "scope")
_SPEC_FIELDS = tuple(one.name for one in fields(AgentSpec))
_MAKES_ONE_TEXT = "write, edit, summarize or combine several results into one text"
"""What an agent has to be good at that makes a synthesis."""


class Changes(Node):
    """Who is in a team, and how it works together."""

    _on_failure: tuple[FailurePolicy, ...] = ()

    async def add_agent(self, agent: AgentSpec | SpecifiedAgent, *, name: str | None = None) -> Applied:
        """Add an agent, with its id as `agent_id` in the result.

        Args:
            agent: What it is.
            name: What it is called, where not as its spec.

        Raises:
            CommandRefusedError: If the name is taken, or the team is full.
            Unusable: If it could not work.
        """
        spec = self._completed(agent)
        return await self._order(lambda: AddAgent(supervisor=self._here.id, spec=spec, name=name))

    async def add_specialized_agent(self, name: str, settings: Settings) -> Applied:
        """Add an agent from fields of a spec, such as `{"specialties": [...], "tools": [...], "run": ...}`.

        Raises:
            UnknownOption: If one of them is no field of a spec.
            CommandRefusedError, Unusable: As `add_agent`.
        """
        for key in settings:
            if key not in _SPEC_FIELDS or key == "name":
                raise UnknownOption("an agent spec", key, [known for known in _SPEC_FIELDS if known != "name"])
        return await self.add_agent(AgentSpec(name=name, **settings))

    async def remove_agent(self, name: str, *, mode: Literal["drain", "requeue", "abort"] | None = None) -> Applied:
        """Remove an agent.

        Args:
            name: Its name or id.
            mode: What becomes of its work: `drain` finishes it first, `requeue` gives it to others at the next step,
                `abort` at once. Without it a busy agent is not removed.

        Raises:
            CommandRefusedError: If there is none, or it is busy and no mode was given.
        """
        return await self._order(lambda: RemoveMember(target=self._agent(name).id, mode=mode))

    async def swap_agent(self, name: str, spec: AgentSpec | SpecifiedAgent | str, mode: str = "drain") -> Applied:
        """Give an agent another spec while it works; new attempts use it at once, running ones end on the old one.

        Args:
            name: Name or id of the agent, which keeps both.
            spec: What it becomes; or the name of a spec in the registry.
            mode: What becomes of attempts at work; `drain` lets them end.

        Raises:
            CommandRefusedError: If there is no such agent, it has this spec already, or it is swapping.
            Unusable: If the new one could not work.
        """
        if isinstance(spec, str):
            return await self._order(lambda: SwapAgent(agent=self._agent(name).id, registered=spec, mode=mode))
        wanted = self._completed(spec)
        return await self._order(lambda: SwapAgent(agent=self._agent(name).id, spec=wanted, mode=mode))

    async def replace_agent(self, name: str, changes: AgentSpec | SpecifiedAgent | Settings) -> Applied:
        """Give an agent another spec, or some fields of one; what is no field of a spec is an option for its runtime.

        Raises:
            UnknownOption: If a name is so near to a field that it must be a slip.
            CommandRefusedError, Unusable: As `swap_agent`.
        """
        if not isinstance(changes, Mapping):
            return await self.swap_agent(name, changes)
        settings = dict(changes)
        for key in settings:
            if key == "name" or (key not in _SPEC_FIELDS and get_close_matches(key, _SPEC_FIELDS, n=1, cutoff=0.8)):
                raise UnknownOption("an agent spec", key, [known for known in _SPEC_FIELDS if known != "name"])

        def swap() -> SwapAgent:
            agent = self._agent(name)
            return SwapAgent(agent=agent.id, spec=_with(self._line.restored(self._state.spec_of(agent)), settings))

        return await self._order(swap)

    @property
    def coordination_mode(self) -> str:
        """Name of the coordination strategy; assign another to switch, before anything that is asked later."""
        posted = [
            one.mode
            for one in self._line.posted
            if isinstance(one, SwitchStrategy) and one.mode and one.supervisor == self._here.id
        ]
        return posted[-1] if posted else self._here.mode

    @coordination_mode.setter
    def coordination_mode(self, mode: str) -> None:
        strategy_named(mode)
        self._line.post(lambda: SwitchStrategy(supervisor=self._here.id, mode=mode))

    async def reconfigure_coordination(self, settings: Settings) -> Applied:
        """Change how the team works together, in the middle of its runs: done stays done, the rest is planned anew.

        Args:
            settings: Any of `mode`, `aggregation` (concat, vote, best, first, synthesis), `aggregator` (the agent that
                makes a synthesis; where nobody was ever named, the one whose words speak most of writing and
                combining), `preserve_agent_states` (False stops what is at work at its next step) and `scope`
                (`open` runs too, or `new` ones only).

        Raises:
            UnknownOption: If one of them is something else.
            CommandRefusedError: If there is no such strategy, or nobody to make a synthesis.
        """
        for key in settings:
            if key not in _COORDINATION:
                raise UnknownOption("reconfigure_coordination", key, _COORDINATION)
        return await self._order(
            lambda: SwitchStrategy(
                supervisor=self._here.id,
                mode=settings.get("mode"),
                aggregation=settings.get("aggregation"),
                aggregator=settings.get("aggregator") or self._aggregator(settings),
                preserve_agent_states=bool(settings.get("preserve_agent_states", True)),
                scope=settings.get("scope", "open"),
            )
        )

    def _aggregator(self, settings: Settings) -> str | None:
        if settings.get("aggregation") != "synthesis" or self._here.aggregator is not None:
            return None
        found = choose(_MAKES_ONE_TEXT, [candidate_of(self._state, agent) for agent in self._agents], limit=1)
        return self._state.agents[found.matches[0].id].name if found.matches else None

    def _completed(self, agent: AgentSpec | SpecifiedAgent) -> AgentSpec:
        """Return the spec of `agent`, with the failure policies of the team where it has none of its own."""
        spec = agent.spec if isinstance(agent, SpecifiedAgent) else agent
        return spec if spec.on_failure or not self._on_failure else replace(spec, on_failure=self._on_failure)


def _with(spec: AgentSpec, settings: Settings) -> AgentSpec:
    named = {key: value for key, value in settings.items() if key in _SPEC_FIELDS}
    options = {key: value for key, value in settings.items() if key not in _SPEC_FIELDS}
    if options:
        named["options"] = {**named.get("options", spec.options), **options}
    return replace(spec, **named)
