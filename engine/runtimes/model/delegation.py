"""The tools of a lead: delegate to a worker, and answer with a worker's output.

Rule: whatever a model asks for, a call ends with one result and the run goes on; who may be asked is looked up when the
call is made, not when its schema was.
"""

from collections.abc import Sequence

from engine.core.queries.team.track_record import category_told
from engine.core.queries.team.workers import Worker, why_no_worker, workers_of
from engine.core.records.records import JsonValue
from engine.core.signals import PlannedItem
from engine.core.state import CallKind, State, Supervisor, Task
from engine.errors import DelegationFailed
from engine.models.records import ToolSchema
from engine.runtimes.attempts.work import DelegationResult, Work
from engine.runtimes.model.builtin_tools import CallResult, Forwarded, OwnTool, Refused, text_in
from engine.runtimes.model.prompt import MOST_NAMED, capabilities_of
from engine.runtimes.model.tools import Arguments, object_schema


class Workers:
    """The workers of one attempt, and their answers."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._seen: tuple[State, int] | None = None
        self._now: list[Worker] = []
        self._names: frozenset[str] = frozenset()

    @property
    def now(self) -> list[Worker]:
        """The workers available now, with their track records if the supervisor's settings ask for that."""
        state, effect = self._work.state, self._work.effect
        # Only events change a state: the fifty calls of one turn look once, and the schemas of a turn too.
        if self._seen is None or self._seen[0] is not state or self._seen[1] != state.seq:
            task = state.tasks.get(effect.task_id)
            category = None if task is None else category_told(state, self._home, task)
            self._now = workers_of(state, self._home, lead_id=effect.agent_id, category=category)
            self._names = frozenset(one.name for one in self._now)
            self._seen = state, state.seq
        return self._now

    @property
    def names(self) -> list[str]:
        """Their names, of the first hundred."""
        return [one.name for one in self.now[:MOST_NAMED]]

    @property
    def named(self) -> dict[str, JsonValue]:
        """The JSON Schema of who may be given work now."""
        return {"type": "string", **_one_of(self.now)}

    def why_not(self, worker: str) -> str | None:
        """Return why `worker` cannot get work; None if it can."""
        workers = self.now
        if worker in self._names or (len(workers) > MOST_NAMED and worker in capabilities_of(workers)):
            return None
        return why_no_worker(self._work.state, self._home, worker, lead_id=self._work.effect.agent_id)

    def answers(self) -> list[tuple[str, Task]]:
        """Return the tasks that were asked for and are done, the one that ended last behind, by who did them."""
        state = self._work.state
        task = state.tasks[self._work.effect.task_id]
        children = [state.tasks[child] for call in task.calls.values() for child in call.children]
        done = sorted((one for one in children if one.status == "done"), key=lambda one: one.ended_ms or 0)
        return [(self._name_of(one), one) for one in done]

    @property
    def _home(self) -> Supervisor:
        state = self._work.state
        return state.supervisors[state.agents[self._work.effect.agent_id].supervisor_id]

    def _name_of(self, task: Task) -> str:
        state, who = self._work.state, task.worker_id or task.agent_id or ""
        member = state.agents.get(who) or state.supervisors.get(who)
        return "" if member is None else member.name


class WorkersTool(OwnTool):
    """A tool about the workers of a lead.

    Args:
        workers: Whom it may give work to.
    """

    def __init__(self, work: Work, workers: Workers) -> None:
        super().__init__(work)
        self._workers = workers

    async def _outcomes(
        self, kind: CallKind, key: str, target: str, items: list[JsonValue], *, plan: Sequence[PlannedItem] = ()
    ) -> list[DelegationResult]:
        """Return the outcomes of work that is given, by this attempt or an earlier one; refuse if nobody takes it."""
        try:
            before = await self._work.answered_before(key)
            return before or await self._work.ask(kind, key, target, items, plan=plan)
        except DelegationFailed as failure:
            self._work.raise_if_stopping()  # refused because the attempt is to stop: no outcome of this call
            raise Refused(failure.reason) from failure


class Delegate(WorkersTool):
    """The tool `delegate`: give work to a worker and return its answer."""

    name = "delegate"
    asks_others = True

    def schema(self, name: str) -> ToolSchema | None:
        """Name exactly who may be asked now; of very many, what they can do."""
        if not self._workers.now:
            return None
        what: dict[str, JsonValue] = {"type": "string", "description": "What to do, in full."}
        about = "Give work to a worker, and get its answer."
        return ToolSchema(name, about, object_schema(worker=self._workers.named, instructions=what))

    async def _result(self, arguments: Arguments, key: str) -> CallResult:
        """Delegate to a worker; return its answer, or why there is none."""
        try:
            return CallResult(await self._asked(arguments, key))
        except Refused as refused:
            raise Refused(str(refused), workers=[*self._workers.names]) from None

    async def _asked(self, arguments: Arguments, key: str) -> JsonValue:
        worker, instructions = str(arguments.get("worker")), arguments.get("instructions")
        if not self._work.was_asked(key):
            worker, instructions = text_in(arguments, "worker"), text_in(arguments, "instructions")
            if (reason := self._workers.why_not(worker)) is not None:
                raise Refused(reason)
        (answer,) = await self._outcomes("delegate", key, worker, [instructions])
        if answer.error is not None:
            raise Refused(f"{worker} failed: {answer.error}")
        return answer.output


class ForwardMessage(WorkersTool):
    """The tool `forward_message`: end the task with a worker's last answer, unchanged."""

    name = "forward_message"
    comes_last = True

    def schema(self, name: str) -> ToolSchema | None:
        """List the workers available now; an earlier answer of any of them can be forwarded."""
        workers = self._workers.now
        if not workers:
            return None
        named = _one_of(workers) if len(workers) <= MOST_NAMED else {}
        whose: dict[str, JsonValue] = {"type": "string", **named}
        return ToolSchema(name, "End with the last answer of a worker, word for word.", object_schema(worker=whose))

    async def answer(self, name: str, arguments: Arguments, key: str) -> CallResult:
        """Return the worker's last answer in this task as the task's output."""
        work = self._work
        called = None if work.is_recorded(key) else await super().answer(name, arguments, key)
        result = await work.recorded(key) if called is None else called.value
        said = result.get("forwarded") if isinstance(result, dict) else None
        # In another database it has another id, and still is that worker's last.
        known = (task for _, task in self._workers.answers() if task.id == said)
        task = next(known, self._last_of(arguments)) if said is not None else None
        if task is None:
            return CallResult(result)
        return CallResult(result, Forwarded(task.id, await work.text(task.output)))

    async def _result(self, arguments: Arguments, key: str) -> JsonValue:
        task = self._last_of(arguments)
        if task is None:
            there = dict.fromkeys(who for who, _ in self._workers.answers())
            raise Refused(f"{arguments.get('worker')} has given no answer in this task", answered=[*there])
        return {"forwarded": task.id}

    def _last_of(self, arguments: Arguments) -> Task | None:
        """Return the last task of the worker that a call names."""
        answers = reversed(self._workers.answers())
        return next((task for who, task in answers if who == arguments.get("worker")), None)


def _one_of(workers: Sequence[Worker]) -> dict[str, JsonValue]:
    """Return the enum of workers, or of what very many of them can do."""
    named = len(workers) <= MOST_NAMED
    return {"enum": [*([one.name for one in workers] if named else capabilities_of(workers))]}
