"""One attempt as its runtime sees it: its input, and the parts by which it reports and requests.

All reports go through them, so that stopping, time limits and partial results work alike for all runtimes.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import anyio

from engine.core import signals
from engine.core.activities import SILENT_KINDS, activity_of_task, parse_live
from engine.core.commands import Command
from engine.core.events.attempt import StepKind
from engine.core.records.records import JsonValue
from engine.core.records.values import NO_USAGE, StoredValue, as_text
from engine.core.specs.spec import AgentSpec
from engine.core.state import Outcome
from engine.errors import AttemptInterrupted
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.attempts.attempt_limits import AttemptLimits
from engine.runtimes.attempts.attempt_slot import AttemptSlot
from engine.runtimes.attempts.delegations import AttemptDelegations
from engine.runtimes.attempts.insights import AttemptInsights
from engine.runtimes.attempts.model_calls import ModelCalls
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.questions import AttemptQuestions
from engine.runtimes.attempts.remembering import AttemptMemory
from engine.runtimes.attempts.services import of_attempt
from engine.runtimes.attempts.state_changes import StateChanges
from engine.runtimes.attempts.steering import AttemptSteering
from engine.runtimes.functions.task import Task, TaskInput, with_earlier_results
from engine.runtimes.values import copy_json, json_value, one_line, shown_input
from engine.stream.pulses import PULSE_PREFIX, text_of

T = TypeVar("T")


class Work:
    """One try of a task by one agent: the attempt, and the parts that build on it."""

    patient = False
    """A stop that a program is not told of before its next step (a swap that migrates, a preemption)."""
    outside = 0
    """Threads, or code that ignores cancellation, still running."""
    stuck = False
    """Reported as ended while a thread or code of it still runs."""
    has_returned = False
    """Its code has returned, but for the `outside` part: another call on its `ctx` comes from code that kept it."""
    on_patient_stop: Callable[[], None] | None = None
    """Called when it is to stop at its next step, however long this one takes."""
    _stop_event: anyio.Event | None = None

    def __init__(self, attempt: Attempt, spec: AgentSpec, folder: Path | None) -> None:
        self.attempt = attempt
        self.effect = attempt.effect
        self.spec = spec
        self.folder = folder
        self.live = attempt.live
        self.slot = AttemptSlot(attempt)
        self.models = ModelCalls(attempt, self.slot)
        self.questions = AttemptQuestions(attempt, self.slot)
        self.steering = AttemptSteering(attempt)
        self.memory = AttemptMemory(attempt)
        self.changes = StateChanges(attempt)
        self.insights = AttemptInsights(attempt, self.slot)
        self.delegations = AttemptDelegations(attempt, self.slot)
        self.limits = AttemptLimits(attempt, self.slot, spec)
        self._services = attempt.services
        self._began_ms = attempt.now_ms()

    async def value(self) -> JsonValue:
        """Return the argument of `f(text)`: the task's own input unchanged, or a text that includes earlier results."""
        return copy_json(await self._value())

    async def _value(self) -> JsonValue:
        effect = self.effect
        if effect.takes == "request" or not effect.inputs:
            return await self._services.text(effect.input)
        if effect.takes == "previous":
            return as_text(await self._services.text(effect.inputs[-1].output))
        return with_earlier_results(await self._services.text(effect.input), await self._inputs())

    async def task(self) -> Task:
        """Return everything about the task."""
        effect = self.effect
        return Task(
            id=effect.task_id,
            title=effect.title,
            text=as_text(await self._value()),
            value=copy_json(await self._services.text(effect.input)),
            _request=await self._services.text(effect.request),
            inputs=await self._inputs(),
            folder=self.folder,
            attempt=effect.attempt,
            options={key: json_value(option) for key, option in self.spec.options.items()},
            conversation=await self.memory.conversation(),
            labels=dict(effect.labels),
        )

    async def _inputs(self) -> list[TaskInput]:
        text = self._services.text
        return [
            TaskInput(agent=task_input.agent, title=task_input.title, _output=await text(task_input.output))
            for task_input in self.effect.inputs
        ]

    def finished_step(
        self,
        kind: StepKind,
        name: str,
        key: str,
        output: JsonValue,
        *,
        step_input: JsonValue = None,
        began_ms: int | None = None,
        is_charged: bool = True,
        reads: Sequence[str] = (),
    ) -> signals.StepFinished:
        """Return the record of a step that ends now; it is charged for what was spent since the last report.

        Args:
            step_input: Its input, of which an excerpt is kept.
            began_ms: When it began; None counts no time.
            is_charged: False for a step of the engine's own, beside the work that spends.
            reads: Ids of the insights that it returned.
        """
        usage = self.models.take_spent() if is_charged else NO_USAGE
        return signals.StepFinished(
            **of_attempt(self.effect),
            what=kind,
            name=name,
            key=key,
            input=shown_input(step_input),
            output=output,
            duration_ms=0 if began_ms is None else self.attempt.now_ms() - began_ms,
            usage=usage,
            reads=[*reads],
        )

    def record_soon(self, step: signals.StepFinished) -> None:
        """Journal a finished step without waiting for the disk; it is on disk no later than the next report."""
        self.attempt.raise_if_over()
        self.live.announce(step.key)
        self._services.signal(step)

    async def order(self, command: Command, key: str) -> None:
        """Execute a command in the name of the agent, once for each key, also if an attempt repeats it.

        Raises:
            CommandRefusedError: If it is refused.
        """
        self.attempt.raise_if_over()
        effect = self.effect
        sender = f"agent {effect.agent} (@{effect.agent_id})"
        pending: Pending[None] = self.attempt.open_wait()  # the disk, on which the outcome waits, may need time to pass
        try:
            await self._services.order(
                command, sender=sender, role="agent", id=self._order_id(key), run_id=effect.run_id
            )
        finally:
            pending.close()

    def outcome_of(self, key: str) -> Outcome | None:
        """Return the outcome of the command that an attempt gave under this key; None if there is none."""
        return self.attempt.state.commands.get(self._order_id(key))

    def _order_id(self, key: str) -> str:
        return f"{self.effect.task_id}:{key}"

    async def text(self, value: StoredValue) -> JsonValue:
        """Return a value that the state holds by reference."""
        return await self._services.text(value)

    async def tool_began(self, name: str, key: str) -> None:
        """Journal the start of a tool call that must not happen twice; returns once it is on disk.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop meanwhile; the tool must not be called then.
        """
        try:
            await self.attempt.report(signals.ToolBegan(**of_attempt(self.effect), name=name, key=key))
            self.attempt.raise_if_stopping()
        except AttemptInterrupted:
            # Closes the call: without an end in the journal the task would be in doubt although nothing was called.
            self._report_tool_error(key, "not called: the attempt was asked to stop")
            raise

    async def tool_raised(self, key: str, error: BaseException) -> None:
        """Journal that a tool call ended with an error."""
        self._report_tool_error(key, one_line(error))

    def _report_tool_error(self, key: str, error: str) -> None:
        if not self.attempt.over:
            self._services.signal(signals.ToolRaised(**of_attempt(self.effect), key=key, error=error))

    @property
    def duration_ms(self) -> int:
        """Time since it began, waiting included."""
        return self.attempt.now_ms() - self._began_ms

    async def in_thread(self, call: Callable[[], T]) -> T:
        """Run a blocking `call` in a thread; when stopped, the thread is left running and counted."""
        self.outside += 1
        return await self._services.threads.run(call, on_return=self.note_return)

    def note_return(self) -> None:
        """Note that a leftover thread has returned; the last one frees the slot."""
        self.outside -= 1
        if self.stuck and self.outside == 0:
            effect, spent = self.effect, self.models.take_spent()
            self._services.signal(signals.ThreadCameBack(agent_id=effect.agent_id, task_id=effect.task_id, usage=spent))

    @property
    def is_silent(self) -> bool:
        """True if the step under way has said nothing for longer than is usual for its agent."""
        task_id, state = self.effect.task_id, self.attempt.state
        task = state.tasks.get(task_id)
        live = parse_live({f"{PULSE_PREFIX}{task_id}": text_of(self.live.pulse)})
        return task is not None and activity_of_task(state, task, live, self.attempt.now_ms()).kind in SILENT_KINDS

    @property
    def fails_by_itself(self) -> bool:
        """True if an error of its code is not the result of a stop."""
        return not self.attempt.stopping or (self.patient and not self.attempt.saw_stopping)

    def stop(self, *, patient: bool = False) -> None:
        """Ask it to stop at its next step; its waits are interrupted.

        Args:
            patient: It is not told before its next step, if it is a program.
        """
        self.attempt.stopping = True
        self.patient = patient
        if patient and self.on_patient_stop is not None:
            self.on_patient_stop()
        if self._stop_event is not None and not patient:
            self._stop_event.set()
        for pending in [*self.attempt.stoppable_waits.values(), *self.slot.calls.values()]:
            if not pending.done:
                self.attempt.saw_stopping = True
                pending.fail(AttemptInterrupted())

    async def wait_for_stop(self) -> None:
        """Wait until it is asked to stop, unless the stop is patient."""
        if not self.attempt.stopping or self.patient:
            self._stop_event = anyio.Event()
            await self._stop_event.wait()

    def close(self) -> None:
        """Close the attempt, and end its time limit."""
        self.attempt.close()
        self.changes.close()
        self.limits.end()
