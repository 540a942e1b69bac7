"""Attempts at work: starts, stops and answers them, and reports every end exactly once.

Each attempt is an asyncio task with a cancel scope of its own. That costs half of a task in a task group, and code that
leaves a cancel scope open cannot harm other attempts. `end` waits for all of them.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from engine.core.effects import AnswerCall, EndPause, ResumeAttempt, StartAttempt, StopAttempt, TellAnswer, TellSteer
from engine.core.queries.team.recipes import path_of_agent
from engine.core.records.records import JsonValue, copy_with
from engine.core.records.values import NO_USAGE, Usage
from engine.core.signals import AttemptErred, AttemptStopped, AttemptSucceeded
from engine.core.specs.options import GRACE_S
from engine.errors import AttemptInterrupted, MissingCapability, Unusable
from engine.host.runtime_pool import RuntimePool, unusable_agent
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.attempts.services import Services, of_attempt
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.coroutine_guard import drive
from engine.runtimes.values import json_value, one_line, traits, type_name

MAX_CANCELS = 3
"""How often an attempt is cancelled when the engine ends before it is abandoned; leaves room for cleaning up."""

MAX_LEAVE_TURNS = 20
"""Iterations of the event loop within which cancellable code stops; after them the attempt is abandoned."""

AttemptEnd: TypeAlias = AttemptSucceeded | AttemptErred | AttemptStopped
"""How an attempt ended."""


class Attempts:
    """All attempts of this engine; `grace_s` is the default grace period of one that is asked to stop."""

    def __init__(self, services: Services, runtimes: RuntimePool, *, grace_s: float = GRACE_S) -> None:
        self._services = services
        self._runtimes = runtimes
        self._grace_ms = round(grace_s * 1000)
        self._works: dict[tuple[str, int], Work] = {}
        self._tasks: dict[Work, asyncio.Task[None]] = {}
        """Attempts whose code has not returned, including abandoned ones that are reported as ended."""
        self._all_returned = anyio.Event()
        self._ending = False
        self._handed_over: set[tuple[str, int]] = set()
        """Attempts that stop for a hand-over: unreported, so the next engine resumes them from their last step."""
        self._on_empty: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._works)

    async def end(self) -> None:
        """Cancel all attempts and wait for them; code that ignores cancellation is abandoned."""
        self._ending = True
        for work in self._tasks:
            if work.outside:
                work.stop()  # a thread waits for its call in a task of the loop, which the scope does not hold
            work.attempt.scope.cancel()
        with anyio.CancelScope(shield=True):
            while self._tasks:
                self._all_returned = anyio.Event()
                await self._all_returned.wait()

    def begin(self, effect: StartAttempt) -> None:
        """Start an attempt."""
        # The next engine finds the attempt in the journal and starts the task again.
        if self._ending or self._on_empty is not None:
            return
        try:
            if effect.lacks is not None:
                raise MissingCapability(path_of_agent(self._services.state, effect.agent_id), effect.lacks)
            spec = effect.blueprint or self._runtimes.spec(effect.spec)
        except (Unusable, MissingCapability) as error:
            self._services.signal(_failed_outcome(effect, error, 0, began=False))
            return
        work = Work(Attempt(effect, self._services, self._give_up_attempt), spec, self._runtimes.folder)
        self._works[effect.task_id, effect.attempt] = work
        # `asyncio.Task` directly, because `create_task` takes half as long again; a constant name, because asyncio
        # would format one for each task.
        self._tasks[work] = asyncio.Task(self._run(work), name="attempt")

    def stop(self, effect: StopAttempt) -> None:
        """Ask an attempt to stop at its next step, or stop it now; does nothing if it has ended."""
        work = self._works.get((effect.task_id, effect.attempt))
        if work is None:
            return
        work.stop(patient=effect.patient)
        if effect.patient and effect.grace_ms is None:
            return
        if effect.now:
            self._stop_now(work, leave=effect.leave)
        else:
            grace_ms = self._grace_ms if effect.grace_ms is None else effect.grace_ms
            work.attempt.call_later(grace_ms, partial(self._stop_now, work, leave=effect.leave))

    def _stop_now(self, work: Work, *, leave: bool) -> None:
        work.attempt.stop_now()
        if leave:
            self._services.spawn(self._leave_soon, work)

    async def _leave_soon(self, work: Work) -> None:
        """Abandon an attempt that still runs after `MAX_LEAVE_TURNS` loop iterations; the clock is held meanwhile."""
        with self._services.clock.held():
            for _ in range(MAX_LEAVE_TURNS):
                await checkpoint()
                if work.attempt.over:
                    return
            self._give_up(work)

    def wind_down(self, on_empty: Callable[[], None]) -> None:
        """Start nothing more, stop attempts at their next step for another engine to resume, then call `on_empty`."""
        self._on_empty = on_empty
        for key, work in list(self._works.items()):
            if not work.attempt.stopping:
                self._handed_over.add(key)
                work.stop()
        if not self._works:
            on_empty()

    def deliver(self, effect: AnswerCall | EndPause | ResumeAttempt | TellAnswer | TellSteer) -> None:
        """Give an attempt what it waits for, or notify it of a message for its next turn; ignored if it has ended."""
        work = self._works.get((effect.task_id, effect.attempt))
        if work is None:
            return
        match effect:
            case AnswerCall():
                work.delegations.accept_outcomes(effect)
            case EndPause():
                work.slot.end_pause()
            case ResumeAttempt():
                work.slot.resume_steps()
            case TellAnswer():
                work.questions.accept_answer(effect.key)
            case TellSteer():
                work.steering.notify_steer(now=effect.now)

    async def _run(self, work: Work) -> None:
        signal: AttemptEnd | None = None
        try:
            try:
                with work.attempt.scope:
                    signal = await self._outcome(work)
            except RuntimeError:
                pass  # the agent's code left a cancel scope open, for example in an unclosed async generator
            except anyio.get_cancelled_exc_class():
                pass  # raised by the agent's code itself, so that the scope did not catch it
            finally:
                ended_before, work.has_returned = work.attempt.over, True
                work.close()
            if not ended_before:
                self._report(work, signal or _interrupted_outcome(work))
                return
            if signal is not None:
                # Its time was counted when it was reported as ended.
                work.models.spend(copy_with(signal.usage, time_ms=0))
            work.note_return()
        except Exception as error:
            self._services.fail(error)
        finally:
            del self._tasks[work]
            if not self._tasks:
                self._all_returned.set()

    async def _outcome(self, work: Work) -> AttemptEnd:
        try:
            runtime = self._runtimes.ready(work.effect.spec) or await self._runtimes.prepare(
                work.effect.spec, work.spec
            )
        except Unusable as unusable:
            effect = work.effect
            self._services.signal(unusable_agent(effect, unusable))
            return _failed_outcome(effect, unusable, work.duration_ms, began=False)
        work.limits.begin()
        # Making the runtime took time, in which the engine may have been suspended and deposed.
        if not self._services.may_act():
            return _interrupted_outcome(work)
        try:
            output = json_value(await drive(runtime.execute(work), self._abandon_check(work)))
        except (anyio.get_cancelled_exc_class(), GeneratorExit) as cancelled:
            # A cancellation by the host sets this deadline; code that raises the exception by itself has failed.
            if anyio.current_effective_deadline() == float("-inf") or isinstance(cancelled, GeneratorExit):
                raise
            return _failed_outcome(work.effect, cancelled, work.duration_ms, usage=_take_usage(work))
        except AttemptInterrupted:
            return _interrupted_outcome(work)
        except BaseException as error:  # also SystemExit: whatever the agent's code raises must not end the engine
            if not work.fails_by_itself:
                return _interrupted_outcome(work)
            return _failed_outcome(work.effect, error, work.duration_ms, usage=_take_usage(work))
        return _returned_outcome(work, output)

    def _abandon_check(self, work: Work) -> Callable[[], bool]:
        """Return a predicate, checked at each cancellation, that says whether the attempt is abandoned."""
        cancel_count = 0

        def is_given_up() -> bool:
            nonlocal cancel_count
            cancel_count += self._ending
            return work.attempt.over or cancel_count > MAX_CANCELS

        return is_given_up

    def _give_up_attempt(self, attempt: Attempt) -> None:
        self._give_up(next(work for work in self._tasks if work.attempt is attempt))

    def _give_up(self, work: Work) -> None:
        """Report an attempt that ignores cancellation as ended; its code goes on and keeps a slot occupied."""
        work.outside += 1
        self._report(work, _interrupted_outcome(work))
        work.close()

    def _report(self, work: Work, signal: AttemptEnd) -> None:
        key = work.effect.task_id, work.effect.attempt
        self._works.pop(key, None)
        # An attempt that finished or failed despite the hand-over is reported, or its work would be done twice.
        if key not in self._handed_over or not isinstance(signal, AttemptStopped):
            self._services.signal(signal)
        if self._on_empty is not None and not self._works:
            self._on_empty()


def _returned_outcome(work: Work, output: JsonValue) -> AttemptEnd:
    """Return the outcome of an attempt that returned; its result is partial if the code saw that it should stop."""
    if work.limits.timed_out:
        return _interrupted_outcome(work)
    effect, duration_ms = work.effect, work.duration_ms
    usage = _take_usage(work)
    if work.attempt.saw_stopping:
        work.stuck = work.outside > 0
        return AttemptStopped(
            **of_attempt(effect), partial=output, duration_ms=duration_ms, usage=usage, stuck=work.stuck
        )
    return AttemptSucceeded(
        **of_attempt(effect),
        output=output,
        duration_ms=duration_ms,
        usage=usage,
        said=list(work.memory.utterances),
        **work.changes.take(),
    )


def _interrupted_outcome(work: Work) -> AttemptEnd:
    """Return the outcome of a cancelled attempt."""
    effect, duration_ms = work.effect, work.duration_ms
    work.stuck = work.outside > 0
    if work.limits.timed_out:
        return AttemptErred(
            **of_attempt(effect),
            error=work.limits.timed_out,
            error_type="TimeoutError",
            error_types=["TimeoutError", "OSError", "Exception"],
            duration_ms=duration_ms,
            usage=_take_usage(work),
            stuck=work.stuck,
        )
    return AttemptStopped(
        **of_attempt(effect),
        partial=work.live.partial,
        duration_ms=duration_ms,
        usage=_take_usage(work),
        stuck=work.stuck,
    )


def _take_usage(work: Work) -> Usage:
    """Return the unreported usage of an ending attempt, with the time for which it held a slot."""
    spent = work.models.take_spent()
    slot_usage = Usage(time_ms=work.slot.held_ms)
    return slot_usage if spent is NO_USAGE else spent.plus(slot_usage)


def _failed_outcome(
    effect: StartAttempt, error: BaseException, duration_ms: int, *, began: bool = True, usage: Usage | None = None
) -> AttemptEnd:
    error_traits = traits(error)
    return AttemptErred(
        **of_attempt(effect),
        error=one_line(error),
        error_type=type_name(error),
        error_types=error_traits.types,
        retryable=error_traits.retryable,
        retry_after_s=error_traits.retry_after_s,
        crashed=began and error_traits.crashed,
        duration_ms=duration_ms,
        usage=usage or Usage(time_ms=duration_ms),
    )
