"""Replays a finished run against its journal, without external calls, and finds where it would differ now.

Attempts of model agents run in their real runtime on a real `Work`; models, tools and delegations return the recorded
results. A step that is not recorded is a difference. Attempts of functions are replayed with their code only on
request, those of programs never: their recorded output is used. The core's planning is repeated as well
(`engine/history/redeciding.py`).
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

from typing_extensions import override

from engine.core.effects import StartAttempt
from engine.core.effects.table import answer_of, effects_of
from engine.core.events import AttemptDone, AttemptStarted, Event, RunFinished, StepRecorded
from engine.core.fold import fold
from engine.core.records.records import JsonValue
from engine.core.records.values import StoredValue
from engine.core.signals import DelegationAsked, PartTold, Signal, SlotAsked, StepsEnded
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.errors import AttemptInterrupted, OpenRun, UnknownRun
from engine.history.redeciding import Delegations, Planner
from engine.host.trusting import Trusting
from engine.models.records import Chunk, ModelRequest
from engine.platform.clock import VirtualClock
from engine.platform.strategies_plugins import installed_strategies
from engine.reading.folding import events_of, fold_from, pages
from engine.reading.texts import resolve_value
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.attempts.attempt_slot import AttemptSlot
from engine.runtimes.attempts.delegations import AttemptDelegations
from engine.runtimes.attempts.model_calls import ModelCalls
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Runtime
from engine.runtimes.catalogue import built_in
from engine.runtimes.code import Code
from engine.runtimes.functions.processes import Processes
from engine.runtimes.functions.threads import Threads
from engine.runtimes.programs.external_programs import Programs
from engine.runtimes.values import json_value, one_line
from engine.trusted_code.trust import TrustList
from store import Reader, Record

OUTPUT, PLAN = "output", "plan"
"""In place of a step's key: the output of an attempt, and the core's planning."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first point at which a run would differ."""

    task_id: str
    step: str
    """The key of the step, `output`, or `plan`."""
    was: JsonValue
    """Recorded: the key of the step, the output, or the differing fields of the plan; None if there is nothing more."""
    now: JsonValue
    """Now: the key of the step, the output, or the differing fields of the plan; None if there is nothing more."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of a replay."""

    run_id: str
    steps: int
    """Number of steps that were answered from the journal."""
    differs: Divergence | None
    """The first difference; None if there is none."""


async def replay(db: Path, run_id: str, *, code: bool = False, allowed: TrustList | None = None) -> Replay:
    """Replay a finished run.

    Args:
        db: The database; its engine may be at work.
        code: Also replay function agents, whose code then runs outside of their recorded steps.
        allowed: The trust list that says which code may be imported; None allows none.

    Raises:
        Unusable: If the code of an agent cannot be called.
        UnknownRun: If this journal has no run with that id; its subclass `OpenRun` if the run has not ended.
        StoreError, CoreError: If the database cannot be read.
    """
    with Reader(db) as reader:
        first = next(iter(reader.records(0, 1, run_id=run_id, kinds=("run_submitted",))), None)
        if first is None:
            raise UnknownRun(run_id)
        if not reader.records(first.seq, 1, run_id=run_id, kinds=("run_finished",)):
            raise OpenRun(run_id)
        state = fold_from(reader, first.seq - 1)
        steps = 0
        differences = list[tuple[int, Divergence]]()
        recorded: dict[str, dict[str, tuple[int, int]]] = {}
        delegations: dict[tuple[str, str], DelegationAsked] = {}
        trusting = Trusting(allowed, db=db, folder=None, state=lambda: state, is_program=False)
        for record, event in _events(reader, first.seq):
            if isinstance(event, StepRecorded) and event.run_id == run_id:
                recorded.setdefault(event.task_id, {})[event.key] = (record.seq, event.attempt)
            if isinstance(event, AttemptDone) and event.run_id == run_id and _is_played(state, event, code=code):
                attempt = _Attempt(reader, state, event, record.seq, recorded.get(event.task_id, {}))
                if (difference := await attempt.play(trusting)) is not None:
                    differences.append(difference)
                steps += len(attempt.answered_keys)
                delegations |= attempt.delegations
            fold(state, [event])
            if isinstance(event, RunFinished) and event.run_id == run_id:
                break
        differences += _plan_differences(reader, run_id, first.seq, delegations)
    return Replay(run_id, steps, min(differences, key=lambda pair: pair[0])[1] if differences else None)


def _plan_differences(
    reader: Reader, run_id: str, first_seq: int, delegations: Delegations
) -> Iterator[tuple[int, Divergence]]:
    """Yield the events that the core would decide differently now, each with its seq."""
    installed_strategies()
    state = fold_from(reader, first_seq - 1)
    planner = Planner(run_id, lambda value: resolve_value(value, lambda seq: reader.record(seq).body), delegations)
    for record, event in _events(reader, first_seq):
        if (change := planner.compare(state, event, record.seq)) is not None:
            yield record.seq, Divergence(str(record.task_id), getattr(event, "call_key", PLAN), *change)
        if isinstance(event, RunFinished) and event.run_id == run_id:
            return
        fold(state, [event])


def _events(reader: Reader, seq: int) -> Iterator[tuple[Record, Event]]:
    for records in pages(reader, seq - 1):
        yield from zip(records, events_of(records), strict=True)


def _is_played(state: State, event: AttemptDone, *, code: bool) -> bool:
    agent = state.agents.get(event.agent_id or "")
    if agent is None:
        return False
    spec = state.spec_of(agent)
    return spec.is_played_by_model or (code and spec.run is not None and spec.run_in != "process")


class _Attempt:
    """A replay of one successful attempt; stands in for the host (`Services`).

    Args:
        state: The state before the end of the attempt.
        event: The end of the attempt.
        seq: Seq of that event.
        steps: Recorded steps of its task by key, with seq and attempt.
    """

    def __init__(
        self, reader: Reader, state: State, event: AttemptDone, seq: int, steps: dict[str, tuple[int, int]]
    ) -> None:
        self._reader = reader
        self._event = event
        self._seq = seq
        self._steps = steps
        self.state = state
        self.answered_keys: dict[str, None] = {}
        """Keys of steps that were answered from the journal, in order."""
        self.delegations: dict[tuple[str, str], DelegationAsked] = {}
        """Its delegations, by task and key."""
        self.missing: str | None = None
        """Key of the first step that the journal does not have."""
        self.clock = VirtualClock(state.at_ms)
        self.threads = Threads()
        self.models: Any = None
        self.bus: Any = _SilentBus()
        (effect,) = effects_of(
            state,
            AttemptStarted(
                run_id=event.run_id,
                task_id=event.task_id,
                attempt=event.attempt,
                agent_id=event.agent_id,
                generation=state.agents[event.agent_id or ""].generation,
            ),
        )
        assert isinstance(effect, StartAttempt)
        self.spec: AgentSpec = state.specs[effect.spec]
        attempt = _ReplayedAttempt(effect, self)
        self._work = Work(attempt, self.spec, None)
        self._work.models = _NoModel(attempt, self._work.slot, self)
        self._work.delegations = _RepeatedDelegations(attempt, self._work.slot)

    async def play(self, trusting: Trusting) -> tuple[int, Divergence] | None:
        """Run the attempt; return its first difference with the seq of the recorded event, or None."""
        runtime = await self._runtime(trusting)
        now = None
        try:
            now = json_value(await runtime.execute(self._work))
        except AttemptInterrupted:
            pass
        except Exception as error:  # the attempt would fail where it did not
            if self.missing is None:
                return self._seq, Divergence(self._event.task_id, OUTPUT, self._event.output, one_line(error))
        finally:
            self._work.close()
        unanswered = [key for key, (_, attempt) in self._steps.items() if attempt == self._event.attempt]
        unanswered = [key for key in unanswered if key not in self.answered_keys]
        if self.missing is not None or unanswered:
            next_key = unanswered[0] if unanswered else None
            seq = self._steps[next_key][0] if next_key is not None else self._seq
            return seq, Divergence(self._event.task_id, next_key or self.missing or "", next_key, self.missing)
        if now != self._event.output:
            return self._seq, Divergence(self._event.task_id, OUTPUT, self._event.output, now)
        return None

    async def _runtime(self, trusting: Trusting) -> Runtime:
        """Return the runtime of the agent; for a model agent without the code of its tools."""
        code = Code(
            bound={},
            sources=trusting.sources,
            folder=trusting.folder,
            threads=self.threads,
            processes=Processes(),
            programs=Programs(),
        )
        if self.spec.is_played_by_model:
            return built_in()["llm"](self.spec, code)
        runtime = built_in()["function"](self.spec, code)
        await runtime.check()
        return runtime

    def note_missing(self, key: str) -> None:
        """Note a step that the journal does not have, and stop the attempt."""
        if self.missing is None:
            self.missing = key
        asyncio.get_running_loop().call_soon(self._work.stop)

    # What the host does for attempts

    def spawn(self, function: Callable[..., Any], /, *args: object) -> None:
        """Do nothing: a replay starts no tasks."""

    def fail(self, error: Exception) -> NoReturn:
        """Raise a defect of the engine."""
        raise error

    def signal(self, signal: Signal, on_written: Callable[[Exception | None], None] | None = None) -> None:
        """Answer from the journal."""
        loop = asyncio.get_running_loop()
        if isinstance(signal, DelegationAsked):
            self.delegations[signal.task_id, signal.call_key] = signal
            call = self.state.tasks[signal.task_id].calls.get(signal.call_key)
            if call is None or call.open:
                self.note_missing(signal.call_key)
                return
            answer = answer_of(self.state, signal.task_id, signal.attempt, signal.call_key)
            loop.call_soon(self._work.delegations.accept_outcomes, answer)
        elif isinstance(signal, SlotAsked):
            loop.call_soon(self._work.slot.resume_steps)
        elif not isinstance(signal, PartTold | StepsEnded):
            self.note_missing(str(getattr(signal, "key", signal.__class__.__name__)))

    async def order(self, *_: object, **__: object) -> object:
        """Stop the attempt: a replay gives no commands."""
        self.note_missing("command")
        raise AttemptInterrupted

    def may_act(self) -> bool:
        """Return True: a replay has no lease to lose."""
        return True

    async def state_written(self) -> bool:
        """Return True: the journal has everything."""
        return True

    async def text(self, value: StoredValue) -> JsonValue:
        """Return a value that the state holds by reference."""
        return resolve_value(value, lambda seq: self._reader.record(seq).body)

    def live(self, key: str, text: str) -> None:
        """Do nothing: there is no display."""

    def call_later(self, due_ms: int, call: Callable[[], None]) -> Callable[[], None]:
        """Call at once, because no time passes in a replay."""
        call()
        return lambda: None


class _ReplayedAttempt(Attempt):
    """An attempt that notes which recorded steps are used."""

    last_missing_key = ""
    """Key of the last step that was looked up and is not recorded."""

    def __init__(self, effect: StartAttempt, replayed: _Attempt) -> None:
        super().__init__(effect, cast(Any, replayed), lambda _: None)
        self._replayed = replayed

    @property
    @override
    def is_paused(self) -> bool:
        """Return False: what is recorded is no new work."""
        return False

    @override
    def is_recorded(self, key: str) -> bool:
        """Return whether a step is recorded, and note the key of a missing one."""
        has_step = super().is_recorded(key)
        if not has_step:
            self.last_missing_key = key
        return has_step

    @override
    async def recorded_output(self, key: str) -> JsonValue:
        """Return the output of a recorded step, and note its use."""
        self._replayed.answered_keys[key] = None
        return await super().recorded_output(key)


class _NoModel(ModelCalls):
    """Stops the attempt at a request: one that is not recorded is a difference."""

    def __init__(self, attempt: _ReplayedAttempt, slot: AttemptSlot, replayed: _Attempt) -> None:
        super().__init__(attempt, slot)
        self._keys = attempt
        self._replayed = replayed

    @override
    async def ask(self, request: ModelRequest, on_chunk: Callable[[Chunk], None]) -> NoReturn:
        """Note the step that the journal does not have."""
        self._replayed.note_missing(self._keys.last_missing_key)
        raise AttemptInterrupted

    @override
    def context_tokens(self, model: ModelSpec) -> None:
        """Return None, so that no conversation is compacted unless that is recorded."""


class _RepeatedDelegations(AttemptDelegations):
    """Sends recorded delegations again: their answers come from the journal."""

    @override
    async def earlier_results(self, key: str) -> None:
        """Return None, as if there were no earlier results."""


class _SilentBus:
    """A stream without readers."""

    has_readers = False

    def publish(self, *_: object) -> None:
        """Drop the output."""

    progress = expect = follow = drop = publish

    @property
    def board(self) -> "_SilentBus":
        """Itself, which drops what boards show as well."""
        return self

    pulses = board
