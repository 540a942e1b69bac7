"""One history: a plan that happens, engine after engine on the same disk, until the team has come to rest.

One rule holds inside: nothing depends on anything but the plan. Real time is looked at for one thing only: to give up a
history in which nothing happens any more.
"""

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import anyio
from anyio.abc import TaskGroup

from engine.clock import Clock, VirtualClock
from engine.core.codec import encode_command
from engine.core.commands import Command, Order
from engine.core.events import EngineStopped, Event
from engine.core.fact import JsonValue
from engine.core.signals import Signal, StepFinished
from engine.core.state import State
from engine.core.transfer.document import Document
from engine.core.transfer.exporting import document_of
from engine.errors import CommandRefusedError, DiskStayedFull, EngineError, HostStopped
from engine.host import Host
from engine.runtimes.task import Task
from engine.runtimes.work import Work
from engine.simulation import invariants
from engine.simulation.agents import simulated_runtime
from engine.simulation.chronicle import Chronicle
from engine.simulation.crew import SIMULATED, load_command
from engine.simulation.disk import Disk, EngineKilled, Mishaps
from engine.simulation.faults import FAULTS, mend
from engine.simulation.laws.seen import Law
from engine.simulation.observed import ObservedHost
from engine.simulation.operators import considered, drawn_command
from engine.simulation.past import Broken, Line, Past, in_words
from engine.simulation.plan import HOUR_MS, Decision, Plan
from engine.simulation.resting import answers, left, resumes
from store import CommandRow, Deposed, StoreError

START_MS = 1_750_000_000_000
MOST_EVENTS = 40_000
"""A history that is longer never comes to rest."""
PATIENCE_S = 20.0
"""Real seconds without an event or a tick of the clock after which a history is given up."""
LOOK_S = 0.1
"""How often that is looked at. Looks are counted and not seconds: a busy machine delays them with everything else."""
DAY_MS = 24 * HOUR_MS
FAR_MS = 3_000 * DAY_MS
SNAPSHOT_EVENTS = 60
PROCESSES = 2
"""What the computer of every history bears, whichever this one is."""
TURNS = (0, 0, 1, 3, 8)
"""Turns of the loop that a write may take: what comes meanwhile is decided while it is under way."""
EXPECTED_ENDS = (EngineKilled, Deposed, DiskStayedFull)
"""How an engine may end besides cleanly."""


def live_through(plan: Plan, *, patience_s: float = PATIENCE_S) -> Past:
    """Let a plan happen, and return what came of it; the first invariant that breaks ends it.

    Args:
        plan: Every decision.
        patience_s: Real seconds without any progress after which it is given up.
    """
    with _quiet():
        history = History(plan)
        try:
            anyio.run(history.happen, patience_s)
        finally:
            past = history.told()
            history.disk.close()
        return past


@contextmanager
def _quiet() -> Iterator[None]:
    """Let the engine's log say nothing: dying engines are what is wanted here."""
    log = logging.getLogger("engine")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)


class History:
    """A plan on its way; also the stage of its agents, the victim of its faults and the past that laws look at."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.disk = Disk()
        self.books = Chronicle()
        self.clock: Clock = VirtualClock(START_MS)
        self.mishaps = Mishaps(lambda: None)
        self.missing: set[str] = set()
        self.back_ms = 0
        self.acting: set[tuple[str, int]] = set()
        self.batch: list[Event] = []
        self.inbox_ids: list[str] = []
        self.commands: dict[str, Command] = {}
        self.broken: Broken | None = None
        self._lines: list[Line] = []
        self._wrong: dict[str, str] = {}
        self._left: list[str] = []
        self._host: Host | None = None
        self._group: TaskGroup | None = None
        self._next = 0
        self._lives = 0
        self._batches = 0
        self._unanswered: dict[str, Command] = {}
        """Commands whose sender saw the engine end before it heard what became of them."""
        self._over = False
        self._last_ms = START_MS

    async def happen(self, patience_s: float) -> None:
        """Let engine follow engine until the plan is over and the team is at rest."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, patience_s, group.cancel_scope)
            while not self._over and self.broken is None:
                await self._one_life()
            if self.broken is None:
                self._check(invariants.AT_THE_END)
            group.cancel_scope.cancel()

    async def _watch(self, patience_s: float, scope: anyio.CancelScope) -> None:
        """Give up when nothing has happened for too long."""
        looks, seen = 0, (-1, -1, -1)
        while looks * LOOK_S < patience_s:
            await anyio.sleep(LOOK_S)
            now = (self._lives, self.books.state.seq, self.clock.now_ms())
            looks, seen = (looks + 1, seen) if now == seen else (0, now)
        self.breaks("time_goes_on", "Time goes on", f"nothing has happened for {patience_s:g} real seconds")
        scope.cancel()

    def told(self) -> Past:
        """Return what has happened."""
        return Past(
            plan=self.plan,
            broken=self.broken,
            lines=self._lines,
            wrong=self._wrong,
            books=self.books,
            digest=self.disk.end[1].hex(),
            hours=max(0, self._last_ms - START_MS) / HOUR_MS,
            events=self.books.events,
            engines=self._lives,
            left=self._left,
        )

    # What others ask of it

    @property
    def state(self) -> State:
        """The state of the engine of the moment; between two engines, what the journal says."""
        return self._host.state if self._host is not None else self.books.state

    @property
    def now_ms(self) -> int:
        """The time of the moment."""
        return self.clock.now_ms()

    def signal(self, signal: Signal) -> None:
        """Report something to the engine."""
        if self._host is not None:
            self._host.signal(signal)

    def exported(self) -> tuple[Document, list[JsonValue]]:
        """Return the team as the journal has it, as an archive holds it."""
        return document_of(self.books.state, self.books.text)

    def queue(self, row: CommandRow) -> None:
        """Put a command on disk, and wake the engine as the file's watcher would."""
        self.disk.put(row)
        self.inbox_ids.append(row.id)
        if self._host is not None:
            self._host.store.inbox._wake()  # in a file the write itself is the news

    def end(self) -> None:
        """Ask the engine to end cleanly."""
        if self._host is not None and self._group is not None:
            self._group.start_soon(self._host.stop)

    def code_is_gone(self, agent: str) -> bool:
        """Tell whether the code of an agent cannot be found now."""
        return agent in self.missing

    def begins(self, work: Work) -> None:
        """Hold the begin of an attempt against the journal."""
        self._check(invariants.ON_BEGIN, work)
        key = (work.effect.task_id, work.effect.attempt)
        if key not in self.books.started_seq:
            self.is_ahead(f"{key} begins, and is not on disk")
        self.acting.add(key)

    def acts(self, seq: int) -> None:
        """Hold what the engine does because of the events up to one against the journal."""
        if seq > self.books.state.seq:
            self.is_ahead(f"the engine acts on seq {seq}, and the journal ends at {self.books.state.seq}")

    def step_recorded(self, step: StepFinished) -> None:
        """Hold the news that a step is on disk against the journal; one of an attempt that has ended is dropped."""
        task = self.books.state.tasks.get(step.task_id)
        is_live = task is not None and task.attempt is not None and task.attempt.number == step.attempt
        if is_live and (step.task_id, step.key) not in self.books.steps:
            self.is_ahead(f"{step.key} of {step.task_id} is said to be recorded, and is not on disk")

    def is_ahead(self, what: str) -> None:
        """Say that something is done too early."""
        self.breaks("disk_before_deed", "Nothing is done before it is on disk", what)

    def reads(self, work: Work, task: Task) -> None:
        """Hold what an attempt is given against the journal."""
        self._check(invariants.ON_READ, (work, task))

    def ends(self, work: Work) -> None:
        """Take note that an agent is done with an attempt."""
        self.acting.discard((work.effect.task_id, work.effect.attempt))

    def step_runs(self, work: Work, name: str) -> None:
        """Hold a step that is done against those that are recorded."""
        task_id = work.effect.task_id
        began_seq = self.books.started_seq.get((task_id, work.effect.attempt), 0)
        for (of, key), seq in self.books.steps.items():
            if of == task_id and key.startswith(f"{name}:") and seq < began_seq:
                says = "A step that is recorded is never run again"
                self.breaks("no_step_runs_twice", says, f"{name} of {task_id} stands at seq {seq} and runs again")

    def tool_runs(self, work: Work) -> None:
        """Hold a call of a tool that must not be called twice against those that may have happened."""
        self._check(invariants.ON_CALL, work)

    def goes_wrong(self, key: str, share: float) -> bool:
        """Tell whether something goes wrong in an attempt."""
        return share < self.plan.trouble and key not in self.plan.calm

    def went_wrong(self, key: str, mishap: str) -> None:
        """Take note of what goes wrong in an attempt."""
        self._wrong[key] = mishap
        self._tell(f"{key}: {mishap}")

    def next_order(self) -> Order | None:
        """Return something that an operator might ask next."""
        draw = Random(f"{self.plan.seed} look {self._batches}")
        kind = draw.choice(["submit", "cancel", "swap_agent", "switch_strategy", "remove_member", "retry_work"])
        command = drawn_command(kind, draw, self.books.state, 0)
        return Order(id="look", command=command) if command is not None else None

    # One engine

    async def _one_life(self) -> None:
        self._lives += 1
        draw = Random(f"{self.plan.seed} life {self._lives}")
        if self._lives > 1:
            self._while_dead(draw)
        start_ms = self.clock.now_ms() - self.back_ms
        self.back_ms = 0
        turns = Random(f"{self.plan.seed} turns {self._lives}")
        self.mishaps = Mishaps(self._killed, lambda: turns.choice(TURNS))
        self.clock = _EnginesClock(start_ms, self.mishaps)
        self.acting = set()
        store = self.disk.open(self.clock, self.mishaps, self._written)
        host = ObservedHost(
            store,
            acts=self.acts,
            step_recorded=self.step_recorded,
            clock=self.clock,
            runtimes={SIMULATED: simulated_runtime(self, self.plan.seed, given=self.plan.given)},
            seed=draw.randrange(2**32),
            pid=self._lives,
            batch_ms=math.inf,
            snapshot_events=SNAPSHOT_EVENTS,
            processes=PROCESSES,
        )
        begun, ended = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as group:
            self._group = group
            group.start_soon(self._be_engine, host, begun, ended)
            await begun.wait()
            if not ended.is_set():
                self._host = host
                group.start_soon(self._be_operators, host)
            await ended.wait()
            group.cancel_scope.cancel()
        self._host = None
        for order_id, command in [*self._unanswered.items()]:
            if order_id in self.books.commands or draw.random() < 0.5:
                self._unanswered.pop(order_id, None)
            else:
                self._put(order_id, command)

    async def _be_engine(self, host: Host, begun: anyio.Event, ended: anyio.Event) -> None:
        try:
            await host.run(task_status=_Begun(begun))
        except EXPECTED_ENDS as error:
            self._tell(f"the engine has ended: {error}")
        except (StoreError, EngineError) as error:
            self.breaks("engine_ends_in_order", "An engine ends for no reason of its own", f"{error!r}")
        except Exception as error:  # whatever it is, no engine may end like this
            self.breaks("engine_ends_in_order", "An engine ends for no reason of its own", f"{error!r}")
        finally:
            begun.set()
            ended.set()

    def _killed(self) -> None:
        self._tell("the engine dies")
        self._host = None
        self._drop()

    def _drop(self) -> None:
        """Let go of the engine as it is."""
        self.mishaps.let_go()
        if self._group is not None:
            self._group.cancel_scope.cancel()

    def _while_dead(self, draw: Random) -> None:
        """Let time pass without an engine; what operators want meanwhile waits in the inbox."""
        dead_ms = draw.choice([0, 0, 1, 1_000, 60_000, 1_200_000])
        clock = VirtualClock(self.clock.now_ms() + dead_ms)
        self.clock = clock
        while self._next < len(self.plan.decisions):
            decision = self.plan.decisions[self._next]
            if START_MS + decision.at_ms > clock.now_ms():
                break
            self._next += 1
            if decision.kind not in FAULTS:
                self._act(decision, queued=True)

    # Operators

    async def _be_operators(self, host: Host) -> None:
        if not self.books.state.supervisors:
            self._order(host, "team", load_command(self.plan.team))
        while self._next < len(self.plan.decisions):
            decision = self.plan.decisions[self._next]
            await self._until(START_MS + decision.at_ms)
            self._next += 1
            if decision.kind in FAULTS:
                self._tell(FAULTS[decision.kind][1](self, decision.random()))
            else:
                self._act(decision)
        await self._come_to_rest(host)
        self._over = True
        await host.stop("the history is over")

    async def _until(self, moment_ms: int) -> None:
        has_moved = moment_ms > self.clock.now_ms()
        await self.clock.sleep_until(moment_ms)
        if has_moved and not self._is_busy():
            self._check(invariants.AT_MOMENTS)

    def _is_busy(self) -> bool:
        """Return True while the engine waits for its disk, and so is behind the clock."""
        return self.mishaps.is_waiting or self.clock.now_ms() < self.mishaps.full_until_ms + 2_000

    def _act(self, decision: Decision, *, queued: bool = False) -> None:
        draw = decision.random()
        command = considered(decision.kind, draw, self.state, decision.number)
        if command is None:
            return
        order_id = f"o{decision.number}"
        way = draw.choice(["order", "order", "inbox", "both"])
        self._tell(f"an operator: {in_words(command)}{' (into the inbox)' if queued or way == 'inbox' else ''}")
        if queued or way != "order":
            self._put(order_id, command)
        if self._host is not None and not queued and way != "inbox":
            self._order(self._host, order_id, command)

    def _put(self, order_id: str, command: Command) -> None:
        self.commands[order_id] = command
        try:
            body = encode_command(command)
        except ValueError:
            return
        self.queue(CommandRow(order_id, str(command.type), body, "simulated", "operator", self.clock.now_ms()))

    def _order(self, host: Host, order_id: str, command: Command) -> None:
        assert self._group is not None
        self._group.start_soon(self._ask, host, order_id, command)

    async def _ask(self, host: Host, order_id: str, command: Command) -> None:
        self._unanswered[order_id] = self.commands[order_id] = command
        try:
            applied = await host.order(command, sender="simulated", id=order_id)
        except CommandRefusedError:
            self._unanswered.pop(order_id, None)
        except HostStopped:
            return
        else:
            self._unanswered.pop(order_id, None)
            if self.books.commands.get(order_id) != applied.seq:
                says = "No command is acknowledged before it is on disk"
                self.breaks("acknowledged_is_on_disk", says, f"{order_id} is said to stand at seq {applied.seq}")

    async def _come_to_rest(self, host: Host) -> None:
        """Take back everything that keeps work from going on, and wait until nothing happens any more."""
        self.mishaps.kill_in = None
        self.mishaps.full_until_ms = 0
        self._tell("everybody is let go on, until nothing happens any more")
        for round_number in range(40):
            mend(self)
            wanted = [*resumes(host.state), *answers(host.state, Random(f"{self.plan.seed} {round_number}"))]
            for place, command in enumerate(wanted):
                self._order(host, f"rest{self._lives}-{round_number}-{place}", command)
            await self._until(self.clock.now_ms() + DAY_MS)
            if not wanted and not resumes(host.state) and not host.state.escalations:
                break
        await self.clock.sleep_until(self.clock.now_ms() + FAR_MS)
        self._check(invariants.AT_MOMENTS)
        self._check(invariants.AT_REST)
        self._left = list(left(host.state))

    # Laws

    def _written(self) -> None:
        """Look at what one write brought into the journal."""
        books = self.books
        self.batch = self.disk.events(books.state.seq)
        if not self.batch or self.broken is not None:
            return
        self._batches += 1
        for event in self.batch:
            if not isinstance(event, EngineStopped):
                self._last_ms = event.at_ms
            if not self._check((*invariants.ON_EVERY_EVENT, *invariants.ON_EVENT.get(type(event), ())), event):
                books.events.append(event)
                return
            books.take(event)
        self._check(invariants.AFTER_BATCH)
        if self._batches % invariants.SAMPLE == 0:
            self._check(invariants.SAMPLED)
        if books.state.seq > MOST_EVENTS:
            self.breaks("rest_comes", "A team comes to rest", f"it still goes on after {MOST_EVENTS} events")

    def _check(self, laws: tuple[Law, ...], about: object = None) -> bool:
        """Return whether laws hold; the first one that does not ends the history."""
        for law in laws:
            if self.broken is None and (what := law(self, about)) is not None:
                self._break(law, what)
        return self.broken is None

    def _break(self, law: Law, what: str) -> None:
        self.breaks(law.__name__, (law.__doc__ or "").split("\n")[0].rstrip("."), what)

    def breaks(self, law: str, says: str, what: str) -> None:
        """Say that an invariant does not hold, which ends the history; the first one counts."""
        if self.broken is None:
            self.broken = Broken(law, says, what, self.books.state.seq, self.clock.now_ms() - START_MS)
            self._drop()

    def _tell(self, words: str) -> None:
        self._lines.append(Line(self.clock.now_ms() - START_MS, self.books.state.seq, words))


class _EnginesClock(VirtualClock):
    """A clock that goes on for as long as its engine does; what waits for it longer is let go."""

    def __init__(self, start_ms: int, mishaps: Mishaps) -> None:
        super().__init__(start_ms)
        self._mishaps = mishaps

    async def drive(self) -> None:
        """Move time until the engine ends."""
        try:
            await super().drive()
        finally:
            self._mishaps.hurry()


class _Begun:
    """Takes the news that a host takes orders."""

    def __init__(self, begun: anyio.Event) -> None:
        self._begun = begun

    def started(self, value: object = None) -> None:
        """Pass it on."""
        self._begun.set()
