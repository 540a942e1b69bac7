"""Performing effects: what an event that is on disk asks of the world."""

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from engine.core.effects import (
    Acknowledge,
    AnswerCall,
    CheckAgent,
    CheckOutputs,
    DropRuntimes,
    Effect,
    EndRun,
    JoinResults,
    ReadText,
    RestartAgents,
    ResumeAttempt,
    StartAttempt,
    StartTimer,
    StopAttempt,
    StopLoop,
    TellAnswer,
    TellSteer,
)
from engine.core.records import JsonValue
from engine.core.signals import (
    AgentUsable,
    AttemptErred,
    AttemptSucceeded,
    Signal,
    TextRead,
    TimerDue,
)
from engine.errors import Unusable
from engine.guards import CheckedOutput, verdict_of
from engine.host.attempts import Attempts
from engine.host.pending_commands import PendingCommands
from engine.host.runtime_pool import RuntimePool, unusable_agent
from engine.joins import Result, join
from engine.runtimes.task import as_text
from engine.runtimes.values import json_value, one_line
from engine.runtimes.work import Services

MOST_LOOKING = 4
"""How many agents are looked at together: threads that import take turns with the loop, and more would stall it."""


class Performer:
    """Does what effects say, in their order; what takes time is begun and reports a signal.

    Args:
        services: The host.
        crew: The code of the agents.
        attempts: Those at work.
        orders: Who waits for commands.
        on_stop: Ends the loop, for a reason.
    """

    def __init__(
        self,
        services: Services,
        *,
        crew: RuntimePool,
        attempts: Attempts,
        orders: PendingCommands,
        on_stop: Callable[[str], None],
    ) -> None:
        self._services = services
        self._crew = crew
        self._on_stop = on_stop
        self._timers: dict[str, Callable[[], None]] = {}
        self._unseen: deque[CheckAgent] = deque()
        """Agents whose code is to be looked for."""
        self._looking = 0
        self._how: dict[type, Callable[[Any], None]] = {
            StartAttempt: attempts.begin,
            StopAttempt: attempts.stop,
            AnswerCall: attempts.answer,
            ResumeAttempt: attempts.resume,
            TellAnswer: attempts.tell_answer,
            TellSteer: attempts.tell_steer,
            JoinResults: self._join_results,
            CheckOutputs: self._check_outputs,
            ReadText: self._read_text,
            StartTimer: self._start_timer,
            CheckAgent: self._check_agent,
            RestartAgents: self._forget_runtimes,
            DropRuntimes: self._forget_runtimes,
            Acknowledge: orders.acknowledge,
            StopLoop: self._stop_loop,
        }

    def perform(self, effect: Effect) -> None:
        """Do what `effect` says; the end of a run is told by the host itself."""
        if type(effect) is not EndRun:
            self._how[type(effect)](effect)

    def _stop_loop(self, effect: StopLoop) -> None:
        self._on_stop(effect.reason)

    def _start_timer(self, effect: StartTimer) -> None:
        take_back = self._timers.pop(effect.timer_id, None)
        if take_back is not None:
            take_back()

        def due() -> None:
            self._timers.pop(effect.timer_id, None)
            self._services.signal(TimerDue(timer_id=effect.timer_id))

        self._timers[effect.timer_id] = self._services.later(effect.due_ms, due)

    def _check_agent(self, effect: CheckAgent) -> None:
        if self._crew.ready(effect.spec) is not None:
            self._usable(effect)
            return
        self._unseen.append(effect)
        if self._looking < MOST_LOOKING:
            self._looking += 1
            self._begin(self._look_at_each)

    async def _look_at_each(self) -> None:
        try:
            while self._unseen:
                await self._look_at(self._unseen.popleft())
        finally:
            self._looking -= 1

    def _forget_runtimes(self, effect: RestartAgents | DropRuntimes) -> None:
        self._crew.forget(effect.specs)

    async def _look_at(self, effect: CheckAgent) -> None:
        known = self._crew.bindings
        try:
            await self._crew.prepare(effect.spec)
        except Unusable as unusable:
            if self._crew.bindings != known:  # code came while it was looked for
                await self._look_at(effect)
                return
            self._services.signal(unusable_agent(effect, unusable))
        else:
            self._usable(effect)

    def _usable(self, effect: CheckAgent) -> None:
        agent = self._services.state.agents.get(effect.agent_id)
        if agent is not None and agent.error is not None:
            self._services.signal(AgentUsable(agent_id=effect.agent_id, generation=effect.generation))

    def _join_results(self, effect: JoinResults) -> None:
        tasks = self._services.state.tasks
        ended = {one.task_id: tasks[one.task_id].ended_ms for one in effect.inputs if one.task_id in tasks}
        self._begin(self._built_in, effect, partial(self._join, effect, ended))

    async def _join(self, effect: JoinResults, ended: dict[str, int | None]) -> JsonValue:
        text = self._services.text
        results = [
            Result(one.agent, one.title, await text(one.output), ended.get(one.task_id)) for one in effect.inputs
        ]
        return join(effect.join, results)

    def _check_outputs(self, effect: CheckOutputs) -> None:
        self._begin(self._built_in, effect, partial(self._verdict, effect))

    async def _verdict(self, effect: CheckOutputs) -> JsonValue:
        text = self._services.text
        looked = [CheckedOutput(one.agent, one.status, await text(one.output), one.error) for one in effect.looks]
        return await verdict_of(effect.check, looked)

    async def _built_in(self, effect: JoinResults | CheckOutputs, work: Callable[[], Awaitable[JsonValue]]) -> None:
        """Report the outcome of built-in work."""
        try:
            output = json_value(await work())
        except Exception as error:  # outputs are the agents': looking at them may run into anything
            signal: Signal = AttemptErred(
                task_id=effect.task_id, attempt=effect.attempt, error=one_line(error), error_type=type(error).__name__
            )
        else:
            signal = AttemptSucceeded(task_id=effect.task_id, attempt=effect.attempt, output=output)
        self._services.signal(signal)

    def _read_text(self, effect: ReadText) -> None:
        self._begin(self._read, effect)

    async def _read(self, effect: ReadText) -> None:
        text = as_text(await self._services.text(effect.input))
        self._services.signal(TextRead(task_id=effect.task_id, text=text))

    def _begin(self, function: Callable[..., Any], *args: object) -> None:
        """Start a task; the virtual clock does not advance until it has reported."""
        self._services.clock.hold()
        self._services.spawn(self._held, function, args)

    async def _held(self, function: Callable[..., Any], args: tuple[object, ...]) -> None:
        try:
            await function(*args)
        except Exception as error:  # ended in order, with the reason, instead of torn down by the task group
            self._services.fail(error)
        finally:
            self._services.clock.release()
