"""Performs effects, which are handed over once their events are on disk."""

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from engine.core import effects, signals
from engine.core.effects import Effect
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.signals import Signal
from engine.errors import Unusable
from engine.host.attempts import Attempts
from engine.host.built_in.guards import CheckedOutput, verdict_of
from engine.host.built_in.joins import Result, join
from engine.host.pending_commands import PendingCommands
from engine.host.runtime_pool import RuntimePool, unusable_agent
from engine.runtimes.attempts.services import Services
from engine.runtimes.values import json_value, one_line

MAX_CHECKS = 4
"""Agents whose code is imported at once: importing threads compete with the loop for the interpreter lock."""


class Performer:
    """Performs effects in their order; work that takes time runs in a task and reports a signal.

    Args:
        orders: Pending commands, whose outcomes are acknowledged.
        find_agents: Looks for agents outside the team.
        on_stop: Ends the loop with a reason.
    """

    def __init__(
        self,
        services: Services,
        *,
        runtimes: RuntimePool,
        attempts: Attempts,
        orders: PendingCommands,
        find_agents: Callable[[effects.FindAgents], Awaitable[signals.AgentsFound]],
        on_stop: Callable[[str], None],
    ) -> None:
        self._services = services
        self._runtimes = runtimes
        self._find = find_agents
        self._timers: dict[str, Callable[[], None]] = {}
        self._unchecked: deque[effects.CheckAgent] = deque()
        """Agents whose code has to be checked."""
        self._checking = 0
        self._handlers: dict[type, Callable[[Any], None]] = {
            effects.StartAttempt: attempts.begin,
            effects.StopAttempt: attempts.stop,
            effects.AnswerCall: attempts.deliver,
            effects.ResumeAttempt: attempts.deliver,
            effects.EndPause: attempts.deliver,
            effects.TellAnswer: attempts.deliver,
            effects.TellSteer: attempts.deliver,
            effects.TellInsight: self._tell_insight,
            effects.JoinResults: self._join_results,
            effects.CheckOutputs: self._check_outputs,
            effects.ReadText: self._read_text,
            effects.FindAgents: self._find_agents,
            effects.StartTimer: self._start_timer,
            effects.CheckAgent: self._check_agent,
            effects.RestartAgents: self._forget_runtimes,
            effects.DropRuntimes: self._forget_runtimes,
            effects.Acknowledge: orders.acknowledge,
            effects.StopLoop: lambda effect: on_stop(effect.reason),
        }

    def perform(self, effect: Effect) -> None:
        """Perform `effect`; the host itself handles `EndRun`."""
        if type(effect) is not effects.EndRun:
            self._handlers[type(effect)](effect)

    def _start_timer(self, effect: effects.StartTimer) -> None:
        # A timer that is set again replaces the old one, which must not fire as well.
        cancel = self._timers.pop(effect.timer_id, None)
        if cancel is not None:
            cancel()

        def on_due() -> None:
            self._timers.pop(effect.timer_id, None)
            self._services.signal(signals.TimerDue(timer_id=effect.timer_id))

        self._timers[effect.timer_id] = self._services.call_later(effect.due_ms, on_due)

    def _tell_insight(self, effect: effects.TellInsight) -> None:
        insight = self._services.state.insights.get(effect.insight_id)
        if insight is not None:
            self._services.insights.notice(insight)

    def _check_agent(self, effect: effects.CheckAgent) -> None:
        if self._runtimes.ready(effect.spec) is not None:
            self._report_usable(effect)
            return
        self._unchecked.append(effect)
        if self._checking < MAX_CHECKS:
            self._checking += 1
            self._begin(self._check_agents)

    async def _check_agents(self) -> None:
        try:
            while self._unchecked:
                await self._check_code(self._unchecked.popleft())
        finally:
            self._checking -= 1

    def _forget_runtimes(self, effect: effects.RestartAgents | effects.DropRuntimes) -> None:
        self._runtimes.forget(effect.specs)

    async def _check_code(self, effect: effects.CheckAgent) -> None:
        bindings = self._runtimes.bindings
        try:
            await self._runtimes.prepare(effect.spec)
        except Unusable as unusable:
            if self._runtimes.bindings != bindings:  # the program has bound more callables meanwhile: try once more
                await self._check_code(effect)
                return
            self._services.signal(unusable_agent(effect, unusable))
        else:
            self._report_usable(effect)

    def _report_usable(self, effect: effects.CheckAgent) -> None:
        agent = self._services.state.agents.get(effect.agent_id)
        if agent is not None and (agent.error is not None or agent.away):
            self._services.signal(signals.AgentUsable(agent_id=effect.agent_id, generation=effect.generation))

    def _join_results(self, effect: effects.JoinResults) -> None:
        tasks = self._services.state.tasks
        # Read before the task starts: the run may have ended and left the state by the time it runs.
        ended_ms_by_task = {
            join_input.task_id: tasks[join_input.task_id].ended_ms
            for join_input in effect.inputs
            if join_input.task_id in tasks
        }
        self._begin(self._run_built_in, effect, partial(self._join, effect, ended_ms_by_task))

    async def _join(self, effect: effects.JoinResults, ended_ms_by_task: dict[str, int | None]) -> JsonValue:
        text = self._services.text
        results = []
        for source in effect.inputs:
            output, ended_ms = await text(source.output), ended_ms_by_task.get(source.task_id)
            results.append(Result(source.agent, source.title, output, ended_ms))
        return join(effect.join, results)

    def _check_outputs(self, effect: effects.CheckOutputs) -> None:
        self._begin(self._run_built_in, effect, partial(self._compute_verdict, effect))

    async def _compute_verdict(self, effect: effects.CheckOutputs) -> JsonValue:
        text = self._services.text
        checked_outputs = [
            CheckedOutput(look.agent, look.status, await text(look.output), look.error) for look in effect.looks
        ]
        return await verdict_of(effect.check, checked_outputs)

    async def _run_built_in(
        self, effect: effects.JoinResults | effects.CheckOutputs, work: Callable[[], Awaitable[JsonValue]]
    ) -> None:
        """Report the outcome of built-in work."""
        try:
            output = json_value(await work())
        except Exception as error:  # outputs come from agents: joining or checking them may raise anything
            signal: Signal = signals.AttemptErred(
                task_id=effect.task_id, attempt=effect.attempt, error=one_line(error), error_type=type(error).__name__
            )
        else:
            signal = signals.AttemptSucceeded(task_id=effect.task_id, attempt=effect.attempt, output=output)
        self._services.signal(signal)

    def _read_text(self, effect: effects.ReadText) -> None:
        self._begin(self._read, effect)

    async def _read(self, effect: effects.ReadText) -> None:
        text = as_text(await self._services.text(effect.input))
        self._services.signal(signals.TextRead(task_id=effect.task_id, text=text))

    def _find_agents(self, effect: effects.FindAgents) -> None:
        # Without holding the clock: a scripted model that describes an agent waits on it.
        self._services.spawn(self._run, self._report_found, (effect,))

    async def _report_found(self, effect: effects.FindAgents) -> None:
        self._services.signal(await self._find(effect))

    def _begin(self, function: Callable[..., Any], *args: object) -> None:
        """Start a task; the virtual clock does not advance until it has reported."""
        self._services.clock.hold()
        self._services.spawn(self._run_held, function, args)

    async def _run_held(self, function: Callable[..., Any], args: tuple[object, ...]) -> None:
        try:
            await self._run(function, args)
        finally:
            self._services.clock.release()

    async def _run(self, function: Callable[..., Any], args: tuple[object, ...]) -> None:
        try:
            await function(*args)
        except Exception as error:  # an orderly end with the reason, instead of a task group that cancels everything
            self._services.fail(error)
