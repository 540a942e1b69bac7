"""Tools about the members of the team: `list_workers` and `create_agent`.

Rule: a created agent has at most the rights of its creator: it is a model agent, its tools, servers, rights and models
are among its creator's, and its budget is no larger.
"""

from collections.abc import Mapping, Sequence

import anyio
from typing_extensions import override

from engine.core.commands import AddAgent
from engine.core.decide.teams.team import MAX_AGENTS_ADDED_PER_RUN
from engine.core.queries.targets import id_target
from engine.core.queries.team.workers import workers_of
from engine.core.records.records import JsonValue, copy_with
from engine.core.specs.limits import Limits
from engine.core.specs.spec import AgentSpec
from engine.models.records import ToolSchema
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
                for key, names in (("tools", self._tools), ("mcp", spec.mcp), ("may", spec.may))
                if names
            },
            "tokens": {"type": "integer", "minimum": 1, "description": "The most tokens that it may spend in all."},
        }
        about = f"Add an agent to the team, played by a model; at most {MAX_AGENTS_ADDED_PER_RUN} in one request."
        return ToolSchema(name, about, object_schema(optional, name=text, instructions=text))

    @override
    async def answer(self, name: str, arguments: Arguments, key: str) -> CallResult:
        """Add the agent; one call after the other, because each is a command of this agent."""
        async with self._lock:
            return await super().answer(name, arguments, key)

    @override
    async def _result(self, arguments: Arguments, key: str) -> JsonValue:
        work = self._work
        agent = work.attempt.state.agents[work.effect.agent_id]
        spec = self._spec(arguments)
        await work.order(AddAgent(supervisor=id_target(agent.supervisor_id), spec=spec), key)
        return {"created": spec.name}

    def _spec(self, arguments: Arguments) -> AgentSpec:
        """Return the spec of the new agent.

        Raises:
            CallRefused: If it exceeds the rights of its creator.
        """
        creator_spec = self._work.spec
        model = text_in(arguments, "model", needed=False)
        models = _check_within("model", [model] if model else [], self._models)
        tools = _check_within("tools", texts_in(arguments, "tools"), self._tools)
        mcp = _check_within("mcp", texts_in(arguments, "mcp"), creator_spec.mcp)
        rights = _check_within("may", texts_in(arguments, "may"), creator_spec.may)
        return copy_with(
            creator_spec,  # time limits and concurrency are those of the creator
            name=text_in(arguments, "name"),
            agent_type="llm",
            instructions=text_in(arguments, "instructions"),
            description=text_in(arguments, "description", needed=False),
            specialties=texts_in(arguments, "specialties"),
            model=models[0] if models else [*self._models],
            tools=[self._tools[name] for name in tools],
            mcp=mcp,
            approve={
                name: rule
                for name, rule in creator_spec.approve.items()
                if self._is_among(name, [*tools, *rights], mcp)
            },
            may=[right for right in creator_spec.may if right in rights],
            limits=_limits(arguments, creator_spec.limits),
            output=None,
            category=None,
            weight=1.0,
            max_concurrency=1,
            pool=None,
            options={},
        )

    def _is_among(self, rule_name: str, tools: Sequence[str], mcp: Sequence[str]) -> bool:
        """Return whether an approval rule applies to one of these tools or servers."""
        return rule_name in (*tools, *mcp) or rule_name.partition("/")[0] in mcp


def _check_within(field: str, requested: Sequence[str], allowed: Sequence[str] | Mapping[str, str]) -> list[str]:
    excess = next((name for name in requested if name not in allowed), None)
    if excess is not None:
        raise CallRefused(f"{field}: {excess!r} is not yours to give", **{field: [*allowed]})
    return [*requested]


def _limits(arguments: Arguments, creator_limits: Limits | None) -> Limits | None:
    """Return the budget of the new agent: its creator's, with the requested number of tokens if one is given."""
    tokens = arguments.get("tokens")
    if tokens is None:
        return creator_limits
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1:
        raise CallRefused("tokens must be a whole number, 1 or more")
    max_tokens = None if creator_limits is None else creator_limits.tokens
    if max_tokens is not None and tokens > max_tokens:
        raise CallRefused(f"tokens: {tokens:,} are more than your own {max_tokens:,}")
    return copy_with(creator_limits, tokens=tokens) if creator_limits is not None else Limits(tokens=tokens)
