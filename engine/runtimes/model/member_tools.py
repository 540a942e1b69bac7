"""Tools about the members of the team: `list_workers` and `create_agent`.

Rule: a created agent has at most the rights of its creator: it is a model agent, its tools, servers, rights and models
are among its creator's, and its budget is no larger.
"""

from collections.abc import Mapping, Sequence

import anyio
from typing_extensions import override

from engine.core.decide.teams.team import MAX_AGENTS_ADDED_PER_RUN
from engine.core.queries.team.code import function_name
from engine.core.queries.team.made import powers_of
from engine.core.queries.team.models import model_names
from engine.core.queries.team.workers import workers_of
from engine.core.records.records import JsonValue
from engine.models.records import ToolSchema
from engine.runtimes.attempts.making import create_agent
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.builtin_tools import BuiltinTool, CallRefused, CallResult, text_in, texts_in
from engine.runtimes.model.tools import Arguments, object_schema


class ListWorkers(BuiltinTool):
    """The tool `list_workers`: list the members that can get work now."""

    name = "list_workers"

    @override
    def schema(self, name: str) -> ToolSchema | None:
        """The tool has no arguments."""
        about = "List the members of the team that can work now, with their specialties and what they are for."
        return ToolSchema(name, about, object_schema())

    @override
    async def _result(self, arguments: Arguments, key: str) -> JsonValue:
        """Return an object for each worker."""
        work = self._work
        agent = work.attempt.state.agents[work.effect.agent_id]
        home = work.attempt.state.supervisors[agent.supervisor_id]
        return [
            {"name": worker.name, "description": worker.description, "specialties": [*worker.specialties]}
            for worker in workers_of(work.attempt.state, home, lead_id=agent.id)
        ]


class CreateAgent(BuiltinTool):
    """The tool `create_agent`: add an agent with at most its creator's rights.

    Args:
        tools: References of the creator's tools, by the names that the model knows them by.
        models: Names of the creator's models.
    """

    name = "create_agent"

    def __init__(self, work: Work, *, tools: Mapping[str, str], models: Sequence[str]) -> None:
        super().__init__(work)
        self._tools = tools
        self._models = models
        self._lock = anyio.Lock()

    @override
    def schema(self, name: str) -> ToolSchema | None:
        """Name the tools, servers, rights and models of the creator."""
        spec = self._work.spec
        text: JsonValue = {"type": "string"}
        optional: dict[str, JsonValue] = {
            "description": text,
            "specialties": {"type": "array", "items": text},
            "model": {"type": "string", "enum": [*self._models]},
            **{
                key: {"type": "array", "items": {"type": "string", "enum": [*names]}}
                for key, names in (
                    ("tools", self._tools),
                    ("mcp", spec.mcp),
                    ("may", spec.may),
                    ("toolsets", self._toolsets()),
                )
                if names
            },
            "tokens": {"type": "integer", "minimum": 1, "description": "The most tokens that it may spend in all."},
        }
        about = f"Add an agent to the team, played by a model; at most {MAX_AGENTS_ADDED_PER_RUN} in one request."
        return ToolSchema(name, about, object_schema(optional, name=text, instructions=text))

    def _toolsets(self) -> list[str]:
        state = self._work.attempt.state
        return [*powers_of(state, state.agents[self._work.effect.agent_id]).toolsets]

    @override
    async def answer(self, name: str, arguments: Arguments, key: str) -> CallResult:
        """Add the agent; one call after the other, because each is a command of this agent."""
        async with self._lock:
            return await super().answer(name, arguments, key)

    @override
    async def _result(self, arguments: Arguments, key: str) -> JsonValue:
        creator_spec = self._work.spec
        model = text_in(arguments, "model", needed=False)
        _check_within("model", [model] if model else [], self._models)
        named_tools = _check_within("tools", texts_in(arguments, "tools"), self._tools)
        # `@tool(name=...)` names it for models alone.
        tools = [function_name(self._tools[tool]) for tool in named_tools]
        mcp = _check_within("mcp", texts_in(arguments, "mcp"), creator_spec.mcp)
        rights = _check_within("may", texts_in(arguments, "may"), creator_spec.may)
        tokens = arguments.get("tokens")
        if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1):
            raise CallRefused("tokens must be a whole number, 1 or more")
        fields = {
            "name": text_in(arguments, "name"),
            "primer": text_in(arguments, "instructions"),
            "description": text_in(arguments, "description", needed=False),
            "specialties": texts_in(arguments, "specialties"),
            "capabilities": [*tools, *mcp, *rights, *texts_in(arguments, "toolsets")],
            # A model that the spec does not name is that of the environment, which it has without its name.
            "model": model if model in model_names(creator_spec.model) else None,
            "tokens": tokens,
        }
        return {"created": (await create_agent(self._work, key, fields)).name}


def _check_within(field: str, requested: Sequence[str], allowed: Sequence[str] | Mapping[str, str]) -> list[str]:
    excess = next((name for name in requested if name not in allowed), None)
    if excess is not None:
        raise CallRefused(f"{field}: {excess!r} is not yours to give", **{field: [*allowed]})
    return [*requested]
