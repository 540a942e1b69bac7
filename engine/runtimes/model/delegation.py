"""The tools of whoever leads: to give work to a worker, and to answer with a worker's words.

Rule: whatever a model asks for, a call ends with one result and the run goes on; who may be asked is looked up when the
call is made, not when its schema was.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.core.fact import JsonValue
from engine.core.queries.workers import Worker, why_no_worker, workers_of
from engine.core.state import State, Supervisor, Task
from engine.errors import DelegationFailed
from engine.models.records import ToolSchema
from engine.runtimes.model.options import ModelOptions
from engine.runtimes.model.prompt import MOST_NAMED, capabilities_of
from engine.runtimes.model.tools import Arguments, error_result, object_schema, tool_step
from engine.runtimes.work import Work


@dataclass(frozen=True, slots=True)
class Forwarded:
    """The answer of a worker, which is that of the turn."""

    task_id: str
    output: JsonValue


class Delegation:
    """Work given to others by one attempt.

    Args:
        work: The attempt of the lead.
        options: What it calls these tools.
    """

    def __init__(self, work: Work, options: ModelOptions) -> None:
        self._work = work
        self._delegate = options.name_of("delegate")
        self._forward = options.name_of("forward_message")

    @property
    def names(self) -> list[str]:
        """What the model calls these tools."""
        return [self._delegate, self._forward]

    @property
    def workers(self) -> list[Worker]:
        """Who may be given work now."""
        return workers_of(self._work.state, self._home, lead_id=self._work.effect.agent_id)

    def schemas(self, workers: Sequence[Worker]) -> list[ToolSchema]:
        """Return what the model is told of these tools; without workers there is nobody to ask."""
        if not workers:
            return []
        names = [worker.name for worker in workers]
        who: dict[str, JsonValue] = {"type": "string", "enum": [*names], "description": "Who does it."}
        whose: dict[str, JsonValue] = {**who, "description": "Whose last answer is the answer."}
        if len(names) > MOST_NAMED:
            who = {"type": "string", "enum": [*capabilities_of(workers)], "description": "What it takes to do it."}
            whose = {"type": "string", "description": "The name of the worker whose last answer is the answer."}
        what: dict[str, JsonValue] = {"type": "string", "description": "What to do, in full."}
        return [
            ToolSchema(
                self._delegate,
                "Give work to a worker, and get its answer.",
                object_schema(worker=who, instructions=what),
            ),
            ToolSchema(
                self._forward, "End with the last answer of a worker, word for word.", object_schema(worker=whose)
            ),
        ]

    def delegates(self, name: str) -> bool:
        """Return True for the tool that gives work to a worker."""
        return name == self._delegate

    def forwards(self, name: str) -> bool:
        """Return True for the tool that answers with a worker's words."""
        return name == self._forward

    async def delegate(self, arguments: Arguments, key: str) -> JsonValue:
        """Give work to a worker and return its answer, or why there is none."""
        work = self._work
        began_ms = work.now_ms()
        worker, instructions = arguments.get("worker"), arguments.get("instructions")
        if not self.was_asked(key) and (
            not isinstance(worker, str) or not isinstance(instructions, str) or not instructions.strip()
        ):
            error = f"{self._delegate} takes a worker and its instructions, both texts"
        elif not self.was_asked(key) and (reason := self._why_not(str(worker))) is not None:
            error = reason
        else:
            try:
                (answer,) = await work.ask("delegate", key, str(worker), [instructions])
            except DelegationFailed as failure:
                work.raise_if_stopping()  # refused because the attempt is to stop: no outcome of this call
                error = failure.reason
            else:
                if answer.error is None:
                    return answer.output
                error = f"{worker} failed: {answer.error}"
        result = error_result(error, workers=[*(one.name for one in self.workers[:MOST_NAMED])])
        await work.record(
            tool_step(work, self._delegate, key, arguments=dict(arguments), result=result, began_ms=began_ms)
        )
        return result

    async def forward(self, arguments: Arguments, key: str) -> tuple[JsonValue, Forwarded | None]:
        """Return the result of the call, and the last answer of the worker, where it has given one in this task."""
        work = self._work
        if work.is_recorded(key):
            recorded = await work.recorded(key)
            found = recorded.get("forwarded") if isinstance(recorded, dict) else None
            task = work.state.tasks.get(found) if isinstance(found, str) else None
            if task is None:
                return recorded, None
            return recorded, Forwarded(task.id, await work.text(task.output))
        began_ms = work.now_ms()
        worker = arguments.get("worker")
        answered = self._answers_of(worker)
        if answered:
            forwarded = Forwarded(answered[-1].id, await work.text(answered[-1].output))
            result: JsonValue = {"forwarded": forwarded.task_id}
        else:
            forwarded = None
            there = list(dict.fromkeys(self._name_of(one) for one in self._done()))
            result = error_result(f"{worker} has given no answer in this task", answered=[*there])
        await work.record(
            tool_step(work, self._forward, key, arguments=dict(arguments), result=result, began_ms=began_ms)
        )
        return result, forwarded

    @property
    def _state(self) -> State:
        return self._work.state

    @property
    def _home(self) -> Supervisor:
        state = self._state
        return state.supervisors[state.agents[self._work.effect.agent_id].supervisor_id]

    def was_asked(self, key: str) -> bool:
        """Tell whether an earlier attempt has asked this: whoever does it goes on, wherever it is now."""
        task = self._state.tasks.get(self._work.effect.task_id)
        return task is not None and key in task.calls

    def _why_not(self, worker: str) -> str | None:
        workers = self.workers
        if len(workers) > MOST_NAMED and worker in capabilities_of(workers):
            return None
        return why_no_worker(self._state, self._home, worker, lead_id=self._work.effect.agent_id)

    def _answers_of(self, worker: JsonValue) -> list[Task]:
        return [task for task in self._done() if self._name_of(task) == worker]

    def _done(self) -> list[Task]:
        """Return the tasks that this one has asked for and that are done, the one that ended last behind."""
        state = self._state
        task = state.tasks[self._work.effect.task_id]
        children = [state.tasks[child] for call in task.calls.values() for child in call.children]
        done = [child for child in children if child.status == "done"]
        return sorted(done, key=lambda one: one.ended_ms or 0)

    def _name_of(self, task: Task) -> str:
        """Return the name of the member that did a task."""
        state, who = self._state, task.worker_id or task.agent_id or ""
        member = state.agents.get(who) or state.supervisors.get(who)
        return "" if member is None else member.name
