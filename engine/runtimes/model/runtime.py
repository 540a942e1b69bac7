"""Runtime of model agents: `SimpleAgent`, `ReactAgent` and those built on them, by their agent type."""

from collections.abc import Sequence

from engine.core.queries.team.rights import OwnTool
from engine.core.queries.team.workers import is_lead
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.specs.spec import AgentSpec
from engine.errors import Unusable
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Runtime
from engine.runtimes.code import Code
from engine.runtimes.functions.function import function_runtime
from engine.runtimes.model.answer_forms import answer_form_of
from engine.runtimes.model.ask_human import AskHuman
from engine.runtimes.model.builtin_tools import BuiltinTool
from engine.runtimes.model.calls import Calls
from engine.runtimes.model.delegation import DelegateTool, ForwardMessage, Workers
from engine.runtimes.model.lookup import NamedModel, models_of
from engine.runtimes.model.loop import ModelLoop
from engine.runtimes.model.member_tools import CreateAgent, ListWorkers
from engine.runtimes.model.memory import QUOTES_ARE_DATA, Recall, Remember, recall_text, remember_answer
from engine.runtimes.model.options import ModelOptions, TalkOptions, TeamOptions, options_of, uses_tools
from engine.runtimes.model.planning import CreatePlan
from engine.runtimes.model.team_changes import MANAGEMENT_TOOLS
from engine.runtimes.model.teams import AskModel, run_talk, run_team
from engine.runtimes.model.turn import Turns
from engine.runtimes.toolbox.kit import Kit
from engine.runtimes.typed_output import check_output_schema, typed_value


def model_runtime(spec: AgentSpec, code: Code) -> Runtime:
    """Create the runtime of a model agent; a spec with `run` is executed as a function.

    Raises:
        Unusable: If its options are invalid.
    """
    if spec.run is not None:
        return function_runtime(spec, code)
    return ModelRuntime(spec, code, options_of(spec))


class ModelRuntime:
    """Runs a model, with tools if its spec gives it any."""

    def __init__(self, spec: AgentSpec, code: Code, options: ModelOptions) -> None:
        self._spec = spec
        self._code = code
        self._options = options
        self._kit = Kit(spec, code, {})

    async def check(self) -> None:
        """Import the tools, and check the schema of the output."""
        await check_output_schema(self._spec)
        if uses_tools(self._spec):
            tools = await self._code.load_tools(self._spec, described=True)
            missing = [name for name in self._spec.tools if isinstance(name, str) and ":" not in name]
            if missing:
                raise Unusable(
                    f"agent {self._spec.name!r}: the tool {missing[0]!r} is a name without code; give a function, or"
                    " its reference, module:function"
                )
            self._kit = Kit(self._spec, self._code, tools)

    async def execute(self, work: Work) -> JsonValue:
        """Do the work of one attempt according to the agent's type."""
        if isinstance(self._options, TeamOptions):
            output = await run_team(work, self._options, self._own_model(work))
            return output if self._spec.model else await typed_value(work, output, self._code.threads)
        if isinstance(self._options, TalkOptions):
            return await run_talk(work, self._options, self._own_model(work))
        models = self._models(work)
        task = work.attempt.state.tasks.get(work.effect.task_id)
        workers = Workers(work) if task is not None and is_lead(work.attempt.state, task) else None
        builtin_tools = self._builtin_tools(work, workers, [model.name for model in models])
        calls = Calls(work, self._options, kit=self._kit, builtin_tools=builtin_tools, workers=workers)
        answer_form = None if task is None or work.spec.output is not None else answer_form_of(work.attempt.state, task)
        extra_instructions = "" if answer_form is None else answer_form.instructions
        output_schema = work.spec.output if answer_form is None else answer_form.schema
        loop = ModelLoop(work, self._options, self._turns(work, models, output_schema), calls)
        if self._spec.agent_type != "MemoryAgent":
            return await loop.run(extra_instructions=extra_instructions)
        request = as_text(await work.value())
        insights = await recall_text(work, request)
        memory = f"What you remember from earlier tasks:\n{QUOTES_ARE_DATA}\n{insights}" if insights else ""
        output = await loop.run(extra_instructions="\n\n".join(text for text in (extra_instructions, memory) if text))
        await remember_answer(work, request, as_text(output))
        return output

    def _models(self, work: Work) -> list[NamedModel]:
        return models_of(work.attempt.state, work.attempt.state.agents[work.effect.agent_id].supervisor_id, work.spec)

    def _turns(self, work: Work, models: Sequence[NamedModel], output: JsonValue) -> Turns:
        return Turns(work, models, params=self._options.request_params, output=output)

    def _own_model(self, work: Work) -> AskModel | None:
        """Return a function that asks the agent's own model; None if it has no model."""
        if not work.spec.model:
            return None

        async def ask_model(text: str, schema: JsonValue) -> JsonValue:
            turns = self._turns(work, self._models(work), schema)
            return await ModelLoop(work, self._options, turns, Calls(work, self._options)).run(text)

        return ask_model

    def _builtin_tools(self, work: Work, workers: Workers | None, models: Sequence[str]) -> list[BuiltinTool]:
        """Return the built-in tools of the agent: those of a lead, and those that its spec allows."""
        if work.spec.agent_type == "SimpleAgent":
            return []
        builtin_tools: list[BuiltinTool] = []
        if workers is not None:
            builtin_tools += [DelegateTool(work, workers), CreatePlan(work, workers), ForwardMessage(work, workers)]
        if "list_workers" in work.spec.may:
            builtin_tools.append(ListWorkers(work))
        references = [reference for reference in work.spec.tools if isinstance(reference, str)]
        functions = dict(zip(self._kit.functions, references, strict=False))
        if "create_agent" in work.spec.may:
            builtin_tools.append(CreateAgent(work, tools=functions, models=models))
        rules = {name: tool.options.approve for name, tool in self._kit.functions.items()}
        tools = {name: OwnTool(reference=functions[name], approve=rules[name]) for name in functions}
        changing = [kind for kind in MANAGEMENT_TOOLS if kind.name in work.spec.may]
        builtin_tools += [kind(work, tools=tools, models=models) for kind in changing]
        if "ask_human" in work.spec.may:
            builtin_tools.append(AskHuman(work))
        if "remember" in work.spec.may:
            builtin_tools.append(Remember(work))
        if "recall" in work.spec.may:
            builtin_tools.append(Recall(work))
        return builtin_tools
