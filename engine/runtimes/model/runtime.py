"""Runtime of agents that a model plays: `SimpleAgent`, `ReactAgent` and those made of them, by their agent type."""

from collections.abc import Sequence

from engine.core.queries.team.workers import leads
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.specs.spec import AgentSpec
from engine.errors import Unusable
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Runtime
from engine.runtimes.code import Code
from engine.runtimes.functions.function import function_runtime
from engine.runtimes.model.builtin_tools import OwnTool
from engine.runtimes.model.calls import Calls
from engine.runtimes.model.delegation import Delegate, ForwardMessage, Workers
from engine.runtimes.model.judging import asked_by_strategy
from engine.runtimes.model.lookup import NamedModel, models_of
from engine.runtimes.model.loop import Loop
from engine.runtimes.model.member_tools import CreateAgent, ListWorkers
from engine.runtimes.model.memory import Recall, Remember, recalled, remembered
from engine.runtimes.model.options import ModelOptions, TalkOptions, TeamOptions, options_of, uses_tools
from engine.runtimes.model.people import AskHuman
from engine.runtimes.model.planning import CreatePlan
from engine.runtimes.model.teams import Says, run_talk, run_team
from engine.runtimes.model.turn import Turns
from engine.runtimes.toolbox.kit import Kit
from engine.runtimes.typed_output import check_output_schema, typed_value


def model_runtime(spec: AgentSpec, code: Code) -> Runtime:
    """Make the runtime of a spec that a model plays; with `run` it is a function that does.

    Raises:
        Unusable: If its options cannot be right.
    """
    if spec.run is not None:
        return function_runtime(spec, code)
    return ModelRuntime(spec, code, options_of(spec))


class ModelRuntime:
    """Let a model work, with tools where its spec gives it any."""

    def __init__(self, spec: AgentSpec, code: Code, options: ModelOptions) -> None:
        self._spec = spec
        self._code = code
        self._options = options
        self._kit = Kit(spec, code, {})

    async def check(self) -> None:
        """Import the tools, and look at the schema of the output."""
        await check_output_schema(self._spec)
        if uses_tools(self._spec):
            loaded = await self._code.load_tools(self._spec, described=True)
            missing = [name for name in self._spec.tools if isinstance(name, str) and ":" not in name]
            if missing:
                raise Unusable(
                    f"agent {self._spec.name!r}: the tool {missing[0]!r} is a name without code; give a function, or"
                    " its reference, module:function"
                )
            self._kit = Kit(self._spec, self._code, loaded)

    async def execute(self, work: Work) -> JsonValue:
        """Do the work of one attempt, as the type of the agent has it."""
        if isinstance(self._options, TeamOptions):
            output = await run_team(work, self._options, self._says(work))
            return output if self._spec.model else await typed_value(work, output, self._code.threads)
        if isinstance(self._options, TalkOptions):
            return await run_talk(work, self._options, self._says(work))
        models = self._models(work)
        task = work.state.tasks.get(work.effect.task_id)
        workers = Workers(work) if task is not None and leads(work.state, task) else None
        own = self._own(work, workers, [one.name for one in models])
        calls = Calls(work, self._options, kit=self._kit, own=own, workers=workers)
        asked = None if task is None or work.spec.output is not None else asked_by_strategy(work.state, task)
        besides, form = ("", work.spec.output) if asked is None else (asked.words, asked.schema)
        loop = Loop(work, self._options, self._turns(work, models, form), calls)
        if self._spec.agent_type != "MemoryAgent":
            return await loop.run(besides=besides)
        request = as_text(await work.value())
        found = await recalled(work, request)
        memory = f"What you remember from earlier tasks:\n{found}" if found else ""
        output = await loop.run(besides="\n\n".join(one for one in (besides, memory) if one))
        await remembered(work, request, as_text(output))
        return output

    def _models(self, work: Work) -> list[NamedModel]:
        return models_of(work.state, work.state.agents[work.effect.agent_id].supervisor_id, work.spec)

    def _turns(self, work: Work, models: Sequence[NamedModel], output: JsonValue) -> Turns:
        return Turns(work, models, params=self._options.request_params, output=output)

    def _says(self, work: Work) -> Says | None:
        """Return what lets the agent's own model speak, where it has one."""
        if not work.spec.model:
            return None

        async def says(text: str, schema: JsonValue) -> JsonValue:
            turns = self._turns(work, self._models(work), schema)
            return await Loop(work, self._options, turns, Calls(work, self._options)).run(text)

        return says

    def _own(self, work: Work, workers: Workers | None, models: Sequence[str]) -> list[OwnTool]:
        """Return the engine's own tools that the agent may use: those of a lead, and those that its spec allows."""
        if work.spec.agent_type == "SimpleAgent":
            return []
        own: list[OwnTool] = []
        if workers is not None:
            own += [Delegate(work, workers), CreatePlan(work, workers), ForwardMessage(work, workers)]
        if "list_workers" in work.spec.may:
            own.append(ListWorkers(work))
        if "create_agent" in work.spec.may:
            named = [one for one in work.spec.tools if isinstance(one, str)]
            tools = dict(zip(self._kit.functions, named, strict=False))
            own.append(CreateAgent(work, tools=tools, models=models))
        if "ask_human" in work.spec.may:
            own.append(AskHuman(work))
        if "remember" in work.spec.may:
            own.append(Remember(work))
        if "recall" in work.spec.may:
            own.append(Recall(work))
        return own
