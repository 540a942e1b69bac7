"""Looks for agents outside a team, in the places that its supervisor allows.

A place that cannot be searched is a fault in words: the request goes on with what the others have.
"""

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from engine.catalogue import Catalogue, Source, find_specs
from engine.core.budgets.enforcement import exhaustion_reason
from engine.core.effects import FindAgents
from engine.core.queries.team.code import reference_of_server, references_of
from engine.core.queries.team.discovery import agents_to_choose_from, offer_of, registered_specs
from engine.core.queries.team.models import team_servers
from engine.core.queries.team.tree import agents_in
from engine.core.records.values import NO_USAGE, Usage, as_text
from engine.core.signals import AgentsFound, FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
from engine.core.specs.model_spec import McpSpec
from engine.core.specs.spec import digest
from engine.core.state import State, Supervisor
from engine.errors import CatalogueError, Unusable
from engine.finding.making import described_by, made_from, question_to
from engine.finding.tool_servers import agent_for
from engine.host.trusting import Trusting
from engine.models.records import ModelAnswer, ModelError, ModelRequest
from engine.runtimes.attempts.services import Services
from engine.runtimes.model.lookup import model_named
from engine.runtimes.programs.external_programs import Programs
from engine.runtimes.toolbox.mcp_connection import load
from engine.runtimes.toolbox.mcp_records import OfferedTool
from engine.runtimes.toolbox.probing import offered_tools
from engine.runtimes.values import one_line, with_class

log = logging.getLogger(__name__)

COMPONENT_SOURCE: Source = "entry_point"
"""Source of the catalogue's entries of installed packages."""
MAX_MEMBERS = 50
"""Members that a model is told of."""
MAX_ROOM = 100
SERVER_PAUSE_MS = 60_000
"""A server that failed is not asked again for so long."""
T = TypeVar("T")


class AgentSearch:
    """Searches for the requests of one engine.

    Args:
        trusting: Decides what may be started and imported.
        programs: Starts programs, which end with the engine.
        catalogue: What is searched; None opens that of the user who runs the engine.
    """

    def __init__(
        self, services: Services, trusting: Trusting, programs: Programs, *, catalogue: Catalogue | None = None
    ) -> None:
        self._services = services
        self._trusting = trusting
        self._programs = programs
        self._catalogue = catalogue
        self._tools: dict[str, list[OfferedTool]] = {}
        """Tools of servers that were asked before, by the digest of the server."""
        self._failed: dict[str, tuple[int, Unusable]] = {}
        """Until when a server is not asked, and why."""
        self._asking: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def find(self, effect: FindAgents) -> AgentsFound:
        """Search all places that a supervisor allows; a place that fails is a fault of the result."""
        text = as_text(await self._services.text(effect.input))
        state = self._services.state
        supervisor = state.supervisors.get(effect.supervisor_id)
        if supervisor is None:
            return AgentsFound(task_id=effect.task_id, text=text, found=[])
        config, faults = supervisor.discovery, list[str]()
        stored = self._run(partial(self._find_stored, config, " ".join(effect.words), faults))
        found = await _tried(stored, faults, [])
        if config.uses(AgentDiscoveryMode.MCP):
            found += await _tried(self._find_at_servers(state, supervisor, faults), faults, [])
        usage = NO_USAGE
        if config.uses(AgentDiscoveryMode.DYNAMIC):
            making = self._make(state, supervisor, text, effect.words, found=found, faults=faults)
            made, usage = await _tried(making, faults, ([], NO_USAGE))
            found += made
        references = [reference for each in found for reference in references_of(each.spec)]
        granted = await self._run(partial(self._trusting.find_grants, references)) if references else {}
        return AgentsFound(
            task_id=effect.task_id,
            text=text,
            found=found,
            granted=granted,
            faults=faults,
            model=config.model if usage is not NO_USAGE else None,
            usage=usage,
        )

    async def _run(self, call: Callable[[], T]) -> T:
        """Run a blocking call in a thread; the virtual clock stands still meanwhile."""
        with self._services.clock.held():
            return await self._services.threads.run(call)

    def _find_stored(self, config: DiscoveryConfig, words: str, faults: list[str]) -> list[FoundSpec]:
        return find_stored(config, words, self._trusting.folder, faults, self._catalogue)

    async def _find_at_servers(self, state: State, supervisor: Supervisor, faults: list[str]) -> list[FoundSpec]:
        found, model = [], _model_for_new(state, supervisor)
        members = [state.spec_of(agent) for agent in state.agents.values()]
        for name, server in team_servers(state, supervisor.id).items():
            try:
                tools = await self._tools_of(server)
            except Unusable as unusable:
                faults.append(f"the tool server {name!r}: {unusable.reason}")
                continue
            if (agent := agent_for(name, tools, model, members)) is not None:
                found.append(agent)
        return found

    async def _tools_of(self, server: McpSpec) -> list[OfferedTool]:
        key, clock = digest(server), self._services.clock
        async with self._asking[key]:  # requests that come together start it once
            until_ms, failure = self._failed.get(key, (0, None))
            if failure is not None and clock.now_ms() < until_ms:
                raise failure
            if key not in self._tools:
                await self._run(partial(self._trusting.check, reference_of_server(server)))
                await self._run(load)
                try:
                    self._tools[key] = await offered_tools(server, self._trusting.folder, self._programs)
                except Unusable as unusable:
                    self._failed[key] = clock.now_ms() + SERVER_PAUSE_MS, unusable
                    raise
            return self._tools[key]

    async def _make(
        self,
        state: State,
        supervisor: Supervisor,
        text: str,
        words: Sequence[str],
        *,
        found: list[FoundSpec],
        faults: list[str],
    ) -> tuple[list[FoundSpec], Usage]:
        """Return a new agent where nothing else was found and it would be chosen, and what describing it has used."""
        config = supervisor.discovery
        is_last = AgentDiscoveryMode.HYBRID in config.modes
        key = state.registry.get(config.template or "")
        if config.template is not None and key is None:
            faults.append(f"dynamic: the registry has no spec {config.template!r} for its template")
            return [], NO_USAGE
        template = None if key is None else state.specs[key]
        plain = made_from(template, words, model=config.model, always_asks=is_last)
        others = [*registered_specs(state, config), *found]
        if is_last and offer_of(state, supervisor, text, others, room=1).chosen:
            return [], NO_USAGE
        if plain not in offer_of(state, supervisor, text, [*others, plain], room=MAX_ROOM).chosen:
            return [], NO_USAGE
        if config.model is None:
            return [plain], NO_USAGE
        spent = exhaustion_reason(state, supervisor)
        if spent is not None:
            faults.append(f"dynamic: {spent}")
            return [], NO_USAGE
        members = [state.spec_of(agent).description or agent.name for agent in agents_to_choose_from(state, supervisor)]
        model = model_named(state, supervisor.id, config.model)
        request = question_to(config.model, model, text=text, words=words, members=members[:MAX_MEMBERS])
        try:
            answer = await self._ask(request)
        except ModelError as error:
            faults.append(f"dynamic: {one_line(error)}")
            return [], error.usage
        try:
            rules = "" if template is None else template.instructions
            return [await self._run(partial(described_by, answer.text, plain, rules))], answer.usage
        except Unusable as unusable:
            faults.append(f"dynamic: {unusable.reason}")
            return [], answer.usage

    async def _ask(self, request: ModelRequest) -> ModelAnswer:
        """Ask a model under its rate limits."""
        services, usage = self._services, NO_USAGE
        try:
            await services.clock.sleep_until(services.models.due_ms(request, services.clock.now_ms()))
            answer = await services.models.ask(request, lambda chunk: None, self._sleep)
            usage = answer.usage
            return answer
        finally:
            services.models.settle(request, usage, services.clock.now_ms())

    async def _sleep(self, seconds: float) -> None:
        await self._services.clock.sleep_until(self._services.clock.now_ms() + round(seconds * 1000))


async def _tried(looking: Awaitable[T], faults: list[str], otherwise: T) -> T:
    """Return what looking in a place comes to; what it raises is a fault."""
    try:
        return await looking
    except Exception as error:  # files, servers and answers of others: none may end the engine, or keep a request
        log.warning("a search for agents failed", exc_info=True)
        faults.append(f"a search failed: {with_class(error)}")
        return otherwise


def find_stored(
    config: DiscoveryConfig, text: str, folder: Path, faults: list[str], catalogue: Catalogue | None = None
) -> list[FoundSpec]:
    """Return what the catalogue has by the words of a text, and the documents in a folder; blocks.

    Args:
        config: Says where to look.
        text: The words.
        folder: That of the team.
        faults: Gets what could not be searched, one line each.
        catalogue: None opens that of this user.
    """
    found = []
    if config.uses(AgentDiscoveryMode.CATALOGUE) or config.uses(AgentDiscoveryMode.COMPONENT):
        sources = None if config.uses(AgentDiscoveryMode.CATALOGUE) else (COMPONENT_SOURCE,)
        try:
            found += find_specs(catalogue or Catalogue.open(), text, sources=sources)
        except CatalogueError as error:
            faults.append(one_line(error))
    if config.uses(AgentDiscoveryMode.RAG):
        from engine.finding.documents import read_documents  # pydantic and yaml, which others do not need

        found += read_documents(folder, config.documents, faults)
    return found


def _model_for_new(state: State, supervisor: Supervisor) -> str | Sequence[str] | None:
    """Return the model of a new agent: that of the settings, else that of the lead."""
    if supervisor.discovery.model is not None:
        return supervisor.discovery.model
    lead = next((agent for agent in agents_in(state, supervisor) if agent.name == supervisor.options.lead), None)
    return None if lead is None else state.spec_of(lead).model
