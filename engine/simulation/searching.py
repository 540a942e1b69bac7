"""Searches of a simulation: what stands outside a team is drawn; the search, the trust and the choice are the engine's.

What is found depends on the seed alone, so that the same agents are found again, also by other teams and after a kill.
"""

import json
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

from typing_extensions import override

from engine.core.effects import FindAgents
from engine.core.records.records import copy_with
from engine.core.records.values import Usage
from engine.core.signals import AgentsFound, FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
from engine.core.specs.spec import spec_hash
from engine.core.state import State, Supervisor
from engine.finding.agent_search import AgentSearch
from engine.host.trusting import Trusting
from engine.models.records import ModelAnswer, ModelError, ModelRequest
from engine.runtimes.attempts.services import Services
from engine.runtimes.functions.threads import Threads
from engine.runtimes.programs.external_programs import Programs
from engine.simulation.drawing import SKILLS
from engine.simulation.model_agents import to_model_agent
from engine.simulation.teams import draw_spec
from engine.trusted_code.closure import Folder
from engine.trusted_code.trust import Granted, TrustList

if TYPE_CHECKING:
    from engine.simulation.world import World

T = TypeVar("T")
_STORED = (AgentDiscoveryMode.CATALOGUE, AgentDiscoveryMode.COMPONENT, AgentDiscoveryMode.RAG)
STORED_SPECS = 8
"""Specs outside the team."""
REFERRING_SHARE = 0.4
"""Share of these whose code has to be trusted."""
MAX_SEARCH_S = 300.0
_TRUST_MS = 7_200_000
"""How long the list of what the user trusts stays as it is, in milliseconds."""


class SimulatedSearch(AgentSearch):
    """Searches drawn places, at which a search sometimes fails."""

    def __init__(self, services: Services, trusting: Trusting, programs: Programs, world: "World") -> None:
        super().__init__(services, trusting, programs)
        self._world = world
        draw = Random(f"{world.plan.seed} outside")
        self._outside = [self._draw_found(draw, number) for number in range(STORED_SPECS)]

    def _draw_found(self, draw: Random, number: int) -> FoundSpec:
        spec = draw_spec(draw)
        spec = copy_with(spec, specialties=draw.sample([*SKILLS, "request"], draw.choice([1, 1, 2])))
        if self._world.plan.models:
            spec = to_model_agent(spec)
        if not spec.is_played_by_model and draw.random() < REFERRING_SHARE:
            spec = copy_with(spec, run=f"found:agent{number}")
        source = draw.choice([*_STORED, AgentDiscoveryMode.CATALOGUE, AgentDiscoveryMode.MCP])
        return FoundSpec(source=source, id=f"c{number}", hash=spec_hash(spec), spec=spec)

    @override
    async def find(self, effect: FindAgents) -> AgentsFound:
        """Search for a while."""
        draw = Random(f"{self._world.plan.seed} search {effect.task_id} {effect.words}")
        if draw.random() < 0.8:
            await self._sleep(math.exp(draw.uniform(math.log(0.05), math.log(MAX_SEARCH_S))))
        return await super().find(effect)

    @override
    def _find_stored(self, config: DiscoveryConfig, words: str, faults: list[str]) -> list[FoundSpec]:
        if crc32(words.encode()) % 10 == 0:
            faults.append("the catalogue is damaged")
            return []
        return [each for each in self._outside if each.source in _STORED and config.uses(each.source)]

    @override
    async def _find_at_servers(self, state: State, supervisor: Supervisor, faults: list[str]) -> list[FoundSpec]:
        return [each for each in self._outside if each.source is AgentDiscoveryMode.MCP]

    @override
    async def _ask(self, request: ModelRequest) -> ModelAnswer:
        draw = Random(f"{self._world.plan.seed} {request.messages[-1].text}")
        await self._sleep(draw.choice([0.0, 1.0, 60.0]))
        usage = Usage(tokens_in=300, tokens_out=draw.choice([50, 3_000]), cost_usd=draw.choice([None, Decimal("0.02")]))
        if draw.random() < 0.2:
            raise ModelError("it breaks off", model=request.name, error_type="cut", retryable=True, usage=usage)
        agent = {"name": "new", "description": "a new one", "specialties": draw.sample(SKILLS, 2), "instructions": ""}
        return ModelAnswer(text=draw.choice(["I know none.", json.dumps(agent)]), usage=usage)


class SimulatedTrust(TrustList):
    """What the user of a simulated engine trusts: some code from the first, some for a while, some never."""

    def __init__(self, world: "World") -> None:
        super().__init__(Path())
        self._world = world

    @override
    def find_granted(self, references: Iterable[str], folder: Folder, *, db: Path | None, team: Path | None) -> Granted:
        """Return which references are trusted at this time."""
        references, ledger, at = [*references], self._world.ledger.discovery, self._world.now_ms // _TRUST_MS
        granted: Granted = {
            reference: {}
            for reference in references
            if crc32(reference.encode()) % 3 == 0 or crc32(f"{reference} {at}".encode()) % 3 == 0
        }
        ledger.looked_up.update(references)
        ledger.allowed.update(granted)
        return granted


class NoThreads(Threads):
    """Runs blocking calls at once: the timing of a thread does not depend on the seed."""

    @override
    async def run(self, call: Callable[[], T], *, on_return: Callable[[], None] | None = None) -> T:
        """Run a call."""
        try:
            return call()
        finally:
            if on_return is not None:
                on_return()
