"""The shared context of one history: its agents act on it, faults change it, laws check it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any
from zlib import crc32

from engine.core.commands import ImportState, Order
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.records.records import JsonValue
from engine.core.records.values import preview
from engine.core.signals import Signal, StateUnusable, StepFinished
from engine.core.state import State
from engine.core.transfer.exporting import make_document
from engine.errors import BoundElsewhere, Unusable
from engine.host.batch import Batch, Then
from engine.host.host import Host
from engine.platform.clock import Clock, VirtualClock
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.task import Task
from engine.simulation.disk import Disk, Mishaps
from engine.simulation.laws import LAWS, Law, When
from engine.simulation.model_watch import ModelWatch
from engine.simulation.models import SimulatedModels
from engine.simulation.operators import drawn_command
from engine.simulation.plan import Broken, Line, Plan
from engine.simulation.shadow_ledger import ShadowLedger
from store import CommandRow
from store.layout.opening import Store

START_MS = 1_750_000_000_000


def is_of_a_program(agent: str) -> bool:
    """Return whether the code of an agent is bound to a program: when that ends, the agent is away, not broken."""
    return crc32(agent.encode()) % 2 == 0


class World:
    """A disk, the current engine if there is one, and the bookkeeping over the journal.

    Attributes:
        missing: Names of agents whose code is gone.
        back_ms: How far the clock of the next engine is behind, in milliseconds.
        acting: Attempts that really run in the current engine.
        inbox_ids: Commands that were put into the inbox while no engine ran.
        broken: The first invariant that did not hold.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.disk = Disk()
        self.books = ShadowLedger()
        self.clock: Clock = VirtualClock(START_MS)
        self.models = ModelWatch(self)
        self.mishaps = Mishaps(lambda: None)
        self.host: Host | None = None
        self.missing: set[str] = set()
        self.back_ms = 0
        self.acting: set[tuple[str, int]] = set()
        self.inbox_ids: list[str] = []
        self.broken: Broken | None = None
        self.lines: list[Line] = []
        self.wrong: dict[str, str] = {}
        self.batches = 0

    @property
    def state(self) -> State:
        """The state of the current engine; between two engines, that of the journal."""
        return self.host.state if self.host is not None else self.books.state

    @property
    def now_ms(self) -> int:
        """The simulated time, UTC milliseconds."""
        return self.clock.now_ms()

    def drop(self) -> None:
        """Abandon the engine without a clean end."""

    def end(self) -> None:
        """Ask the engine to end cleanly."""

    def signal(self, signal: Signal) -> None:
        """Send a signal to the engine."""
        if self.host is not None:
            self.host.signal(signal)

    def exported(self) -> tuple[State, list[JsonValue]]:
        """Return an archive of the team as of the journal."""
        state = decode_state(encode_state(self.books.state))
        return state, make_document(state, self.books.text)

    def queue(self, row: CommandRow) -> None:
        """Put a command on disk, and wake the engine as the file's watcher would."""
        self.disk.put(row)
        self.inbox_ids.append(row.id)
        if self.host is not None:
            self.host.store.inbox._wake()  # in a file the write itself is the news

    def goes_wrong(self, key: str, share: float) -> bool:
        """Return whether an attempt with the draw `share` fails."""
        return share < self.plan.trouble and key not in self.plan.calm

    def check_code(self, agent: str) -> None:
        """Check that the code of an agent is there.

        Raises:
            Unusable: If it is not.
        """
        if agent in self.missing:
            raise BoundElsewhere(agent) if is_of_a_program(agent) else Unusable(f"the code of {agent} is gone")

    async def opened(self, work: Work, kind: str, mishaps: Sequence[str]) -> tuple[Task, str, Random, str | None]:
        """Check what an attempt reads; return its task, what identifies it, its chance, and how it fails, if so."""
        task = await work.task()
        self.reads(work, task)
        key = f"{work.effect.agent} at {preview(task.request, 40)!r} ({task.title[:40]}), attempt {work.effect.attempt}"
        draw = Random(f"{self.plan.seed}{kind} {key}")
        share, mishap = draw.random(), draw.choice(mishaps)
        if not self.goes_wrong(key, share):
            return task, key, draw, None
        self.wrong[key] = mishap
        self.tell(f"{key}: {mishap}")
        return task, key, draw, mishap

    def next_order(self) -> Order | None:
        """Return a random next command of an operator."""
        draw = Random(f"{self.plan.seed} look {self.batches}")
        kind = draw.choice(["submit", "cancel", "swap_agent", "switch_strategy", "remove_member", "retry_work"])
        command = drawn_command(kind, draw, self.books.state, 0)
        return Order(id="look", command=command) if command is not None else None

    def tell(self, words: str) -> None:
        """Add a line to the story."""
        self.lines.append(Line(self.now_ms - START_MS, self.books.state.seq, words))

    # Checks against the journal

    def check(self, when: When, *about: object) -> bool:
        """Return whether the laws of a moment hold; the first broken one ends the history."""
        subject = (self,) if when in (When.SAMPLED, When.AT_MOMENTS, When.AT_REST, When.AT_THE_END) else (self.books,)
        return self.hold(LAWS.get(when, ()), *subject, *about)

    def hold(self, laws: tuple[Law, ...], *about: object) -> bool:
        """Return whether some laws hold."""
        for law in laws:
            if self.broken is None and (what := law(*about)) is not None:
                self.breaks(law.__name__, (law.__doc__ or "").split("\n")[0].rstrip("."), what)
        return self.broken is None

    def breaks(self, law: str, says: str, what: str) -> None:
        """Record a broken invariant, which ends the history; the first one counts."""
        if self.broken is None:
            self.broken = Broken(law, says, what, self.books.state.seq, self.now_ms - START_MS)
            self.drop()

    def begins(self, work: Work) -> None:
        """Check that the attempt that begins is in the journal."""
        self.check(When.ON_BEGIN, work)
        key = (work.effect.task_id, work.effect.attempt)
        if key not in self.books.started_seq:
            self.is_ahead(f"{key} begins, and is not on disk")
        self.acting.add(key)

    def reads(self, work: Work, task: Task) -> None:
        """Check the inputs of an attempt against the journal."""
        self.check(When.ON_READ, (work, task))

    def ends(self, work: Work) -> None:
        """Note that an agent has left an attempt."""
        self.acting.discard((work.effect.task_id, work.effect.attempt))

    def acts(self, seq: int) -> None:
        """Check that the events whose effects are performed are in the journal."""
        if seq > self.books.state.seq:
            self.is_ahead(f"the engine acts on seq {seq}, and the journal ends at {self.books.state.seq}")

    def step_recorded(self, step: StepFinished) -> None:
        """Check that a step that is reported as recorded is in the journal, unless its attempt has ended."""
        if (step.task_id, step.attempt, step.generation) not in self.models.attempts:
            self.books.stepping[step.task_id, step.attempt, step.generation] -= not step.steers
        task = self.books.state.tasks.get(step.task_id)
        is_live = task is not None and task.attempt is not None and task.attempt.number == step.attempt
        if is_live and (step.task_id, step.key) not in self.books.steps:
            self.is_ahead(f"{step.key} of {step.task_id} is said to be recorded, and is not on disk")

    @contextmanager
    def asks(self, work: Work) -> Iterator[None]:
        """Count a question while an attempt waits for its answer."""
        key = (work.effect.task_id, work.effect.attempt, work.effect.generation)
        self.books.asking[key] += 1
        try:
            yield
        finally:
            self.books.asking[key] -= 1

    def is_told(self, work: Work, said: str) -> None:
        """Check that the answer of a person that an attempt gets is the one in the journal."""
        job = self.books.work.jobs.get(work.effect.task_id)
        if job is not None and said not in job.steps.values():
            self.breaks("an_answer_is_what_was_said", "An attempt is told what a person said", f"{job.id}: {said!r}")

    def hears(self, work: Work, heard: list[str]) -> None:
        """Check that an attempt has heard every message in the journal once and in order; the state may be ahead."""
        job, effect = self.books.work.jobs.get(work.effect.task_id), work.effect
        if (
            job is None
            or job.attempt is None
            or (job.attempt.number, job.attempt.generation)
            != (
                effect.attempt,
                effect.generation,
            )
        ):
            return
        # Where its last turn is one that was taken before, what was said since waits for a turn of its own.
        waiting = [] if "steered:3" in effect.steps else job.steers.values()
        wanted = [*job.heard, *waiting]
        if heard[: len(wanted)] != wanted:
            says = "Who is at work hears every message once, in order, also after a crash"
            self.breaks("no_message_is_lost_or_heard_twice", says, f"{job.id} heard {heard}, of {wanted}")

    def is_decided(self, work: Work, tool: str, *, allows: bool) -> None:
        """Check that a tool is allowed or rejected only if a person, or the question's deadline, has said so."""
        job, effect = self.books.work.jobs.get(work.effect.task_id), work.effect
        if job is None:
            return
        answer, decision = ("allow_", "allowed") if allows else ("reject_", "rejected")
        is_answered = any(str(step).startswith(answer) for step in job.steps.values())
        grants = self.books.team.grants.values()
        if not is_answered and (effect.agent_id, effect.generation, tool, allows) not in grants:
            says = "An attempt is told what a person said"
            self.breaks("an_answer_is_what_was_said", says, f"{job.id}: {tool} is {decision}")

    def is_ahead(self, what: str) -> None:
        """Record that effects were performed before their events were written."""
        self.breaks("disk_before_deed", "Nothing is done before it is on disk", what)

    def step_runs(self, work: Work, name: str, *, key: str | None = None) -> None:
        """Check that a step that runs was not recorded before; `key` identifies it among steps of the same name."""
        task_id = work.effect.task_id
        began_seq = self.books.started_seq.get((task_id, work.effect.attempt), 0)
        for (of, recorded), seq in self.books.steps.items():
            if of == task_id and _is_of(recorded, name, key) and seq < began_seq:
                says = "A step that is recorded is never run again"
                self.breaks("no_step_runs_twice", says, f"{name} of {task_id} stands at seq {seq} and runs again")

        self._takes_a_slot(work, name)

    def _takes_a_slot(self, work: Work, name: str) -> None:
        """Check that the attempt of a step that begins holds a slot."""
        self.books.stepping[work.effect.task_id, work.effect.attempt, work.effect.generation] += 1
        job = self.books.work.jobs.get(work.effect.task_id)
        attempt = job.attempt if job is not None else None
        if attempt is None or (attempt.number, attempt.generation) != (work.effect.attempt, work.effect.generation):
            return
        if attempt.parked:
            says = "A step runs only while its attempt holds a slot"
            self.breaks("no_step_runs_without_a_slot", says, f"{name} of {work.effect.task_id} runs, which is parked")

    def tool_runs(self, work: Work) -> None:
        """Check that a tool that must not be called twice has not been called before."""
        self._takes_a_slot(work, "a tool")
        self.check(When.ON_CALL, work)


def _is_of(recorded: str, name: str, key: str | None) -> bool:
    return recorded == key if key is not None else recorded.startswith(f"{name}:")


class ObservedHost(Host):
    """A host whose effects are checked against what is on disk before they are performed.

    Args:
        world: Hears the last event of each batch whose effects are performed, and of each step whose attempt is told
            that it is on disk.
    """

    def __init__(self, store: Store, world: World, **settings: Any) -> None:
        super().__init__(store, **settings)
        self._world = world
        self.models = SimulatedModels(world.models, world.plan.seed)

    def signal(self, signal: Signal, then: Then | None = None) -> None:
        """Report to the core, and check each step that it reports as recorded."""
        if then is None or not isinstance(signal, StepFinished):
            super().signal(signal, then)
            return

        def told(error: Exception | None) -> None:
            if error is None:
                self._world.step_recorded(signal)
            then(error)

        super().signal(signal, told)

    def _perform(self, batch: Batch) -> None:
        self._world.acts(batch.first_seq + len(batch.events) - 1)
        super()._perform(batch)

    async def _import(self, order: Order, command: ImportState) -> None:
        # No file is read in a simulation: that takes a thread, whose timing does not depend on the seed.
        gone = StateUnusable(order_id=order.id, sender=order.sender, role=order.role, reason=f"no {command.path} here")
        await self._told(gone)
        self._importing.discard(order.id)
