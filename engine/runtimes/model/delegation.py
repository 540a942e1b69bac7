"""The tools of a lead: delegate to a worker, and answer with a worker's output.

Rule: every call ends with one result, also an invalid one, and the run continues. The available workers are looked up
when a call is made, not when its schema is.
"""

from collections.abc import Sequence

from typing_extensions import override

from engine.core.queries.team.track_record import track_record_category
from engine.core.queries.team.workers import Worker, why_no_worker, workers_of
from engine.core.records.records import JsonValue
from engine.core.signals import PlannedItem
from engine.core.state import CallKind, State, Supervisor, Task
from engine.errors import DelegationFailed
from engine.models.records import ToolSchema
from engine.runtimes.attempts.delegations import DelegationResult
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.builtin_tools import BuiltinTool, CallRefused, CallResult, ForwardedAnswer, text_in
from engine.runtimes.model.prompt import MAX_LISTED_AGENTS, capabilities_of
from engine.runtimes.model.tools import Arguments, object_schema


class Workers:
    """The workers of one attempt, and their answers."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._cached_at: tuple[State, int] | None = None
        self._available: list[Worker] = []
        self._names: frozenset[str] = frozenset()

    @property
    def available(self) -> list[Worker]:
        """The workers available now, with their track records if the supervisor's settings ask for that."""
        state, effect = self._work.attempt.state, self._work.effect
        # Only events change a state, so the lookup is shared by all calls and schemas of a turn.
        if self._cached_at is None or self._cached_at[0] is not state or self._cached_at[1] != state.seq:
            task = state.tasks.get(effect.task_id)
            category = None if task is None else track_record_category(state, self._home, task)
            self._available = workers_of(state, self._home, lead_id=effect.agent_id, category=category)
            self._names = frozenset(worker.name for worker in self._available)
            self._cached_at = state, state.seq
        return self._available

    @property
    def names(self) -> list[str]:
        """Their names, up to `MAX_LISTED_AGENTS`."""
        return [worker.name for worker in self.available[:MAX_LISTED_AGENTS]]

    @property
    def name_schema(self) -> dict[str, JsonValue]:
        """The JSON Schema of the name of an available worker."""
        return {"type": "string", **_worker_enum(self.available)}

    @property
    def template(self) -> str:
        """What the supervisor's settings say in place of the engine's instructions for leads; empty for nothing."""
        return self._home.options.instructions_template or ""

    def why_not(self, worker: str) -> str | None:
        """Return why `worker` cannot get work; None if it can."""
        workers = self.available
        if worker in self._names or (len(workers) > MAX_LISTED_AGENTS and worker in capabilities_of(workers)):
            return None
        return why_no_worker(self._work.attempt.state, self._home, worker, lead_id=self._work.effect.agent_id)

    def answers(self) -> list[tuple[str, Task]]:
        """Return the delegated tasks that are done, in the order of their ends, each with the name of its worker."""
        state = self._work.attempt.state
        task = state.tasks[self._work.effect.task_id]
        children = [state.tasks[child] for call in task.calls.values() for child in call.children]
        done = sorted((child for child in children if child.status == "done"), key=lambda child: child.ended_ms or 0)
        return [(self._name_of(child), child) for child in done]

    @property
    def _home(self) -> Supervisor:
        state = self._work.attempt.state
        return state.supervisors[state.agents[self._work.effect.agent_id].supervisor_id]

    def _name_of(self, task: Task) -> str:
        state = self._work.attempt.state
        worker_id = task.worker_id or task.agent_id or ""
        member = state.agents.get(worker_id) or state.supervisors.get(worker_id)
        return "" if member is None else member.name


class WorkersTool(BuiltinTool):
    """A tool about the workers of a lead."""

    def __init__(self, work: Work, workers: Workers) -> None:
        super().__init__(work)
        self._workers = workers

    async def _outcomes(
        self, kind: CallKind, key: str, target: str, items: list[JsonValue], *, plan: Sequence[PlannedItem] = ()
    ) -> list[DelegationResult]:
        """Return the outcomes of a delegation, made now or by an earlier attempt.

        Raises:
            CallRefused: If no member can do the work.
        """
        try:
            before = await self._work.delegations.earlier_results(key)
            return before or await self._work.delegations.ask(kind, key, target, items, plan=plan)
        except DelegationFailed as failure:
            self._work.attempt.raise_if_stopping()  # a refusal because of the stop is no outcome of this call
            raise CallRefused(failure.reason) from failure


class DelegateTool(WorkersTool):
    """The tool `delegate`: give work to a worker and return its answer."""

    name = "delegate"
    only_delegates = True

    @override
    def schema(self, name: str) -> ToolSchema | None:
        """Name the available workers; if there are very many, their capabilities."""
        if not self._workers.available:
            return None
        instructions: dict[str, JsonValue] = {"type": "string", "description": "What to do, in full."}
        about = "Give work to a worker, and get its answer."
        return ToolSchema(name, about, object_schema(worker=self._workers.name_schema, instructions=instructions))

    @override
    async def _result(self, arguments: Arguments, key: str) -> CallResult:
        """Return the answer of a worker; a refusal names the available workers."""
        try:
            return CallResult(await self._delegate(arguments, key))
        except CallRefused as refused:
            raise CallRefused(str(refused), workers=[*self._workers.names]) from None

    async def _delegate(self, arguments: Arguments, key: str) -> JsonValue:
        worker = str(arguments.get("worker"))
        instructions = arguments.get("instructions")
        if not self._work.delegations.has_delegated(key):
            worker, instructions = text_in(arguments, "worker"), text_in(arguments, "instructions")
            if (reason := self._workers.why_not(worker)) is not None:
                raise CallRefused(reason)
        (answer,) = await self._outcomes("delegate", key, worker, [instructions])
        if answer.error is not None:
            raise CallRefused(f"{worker} failed: {answer.error}")
        return answer.output


class ForwardMessage(WorkersTool):
    """The tool `forward_message`: end the task with a worker's last answer, unchanged."""

    name = "forward_message"
    runs_last = True

    @override
    def schema(self, name: str) -> ToolSchema | None:
        """List the workers available now; an earlier answer of any of them can be forwarded."""
        workers = self._workers.available
        if not workers:
            return None
        enum = _worker_enum(workers) if len(workers) <= MAX_LISTED_AGENTS else {}
        worker: dict[str, JsonValue] = {"type": "string", **enum}
        return ToolSchema(name, "End with the last answer of a worker, word for word.", object_schema(worker=worker))

    @override
    async def answer(self, name: str, arguments: Arguments, key: str) -> CallResult:
        """Return the worker's last answer in this task as the task's output."""
        work = self._work
        called = None if work.attempt.is_recorded(key) else await super().answer(name, arguments, key)
        result = await work.attempt.recorded_output(key) if called is None else called.value
        forwarded_id = result.get("forwarded") if isinstance(result, dict) else None
        # In a fork the task may have another id; then it is the last task of the worker.
        matching_tasks = (task for _, task in self._workers.answers() if task.id == forwarded_id)
        task = next(matching_tasks, self._last_of(arguments)) if forwarded_id is not None else None
        if task is None:
            return CallResult(result)
        return CallResult(result, ForwardedAnswer(task.id, await work.text(task.output)))

    @override
    async def _result(self, arguments: Arguments, key: str) -> JsonValue:
        task = self._last_of(arguments)
        if task is None:
            names = dict.fromkeys(worker for worker, _ in self._workers.answers())
            raise CallRefused(f"{arguments.get('worker')} has given no answer in this task", answered=[*names])
        return {"forwarded": task.id}

    def _last_of(self, arguments: Arguments) -> Task | None:
        """Return the last task of the worker that a call names."""
        answers = reversed(self._workers.answers())
        return next((task for worker, task in answers if worker == arguments.get("worker")), None)


def _worker_enum(workers: Sequence[Worker]) -> dict[str, JsonValue]:
    """Return the enum of the workers' names, or of their capabilities if there are very many."""
    lists_names = len(workers) <= MAX_LISTED_AGENTS
    return {"enum": [*([worker.name for worker in workers] if lists_names else capabilities_of(workers))]}
