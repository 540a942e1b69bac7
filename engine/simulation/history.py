"""Runs one plan: engine after engine on the same disk, until the team is at rest.

Everything depends on the plan alone. Real time is used only to give up a history in which nothing happens any more.
"""

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import anyio
from anyio.abc import TaskGroup

from engine.core.commands import Answer, Command, Resume
from engine.core.encoding.codec import encode_command
from engine.core.events import EngineStopped
from engine.core.queries.targets import at
from engine.core.state import State
from engine.errors import CommandRefusedError, DiskStayedFull, HostStopped
from engine.host.host import Host
from engine.platform.clock import VirtualClock
from engine.simulation.agents import simulated_runtimes
from engine.simulation.disk import EngineKilled, Mishaps
from engine.simulation.faults import FAULTS, mend
from engine.simulation.laws import LAWS, SAMPLE, When
from engine.simulation.model_agents import modelled
from engine.simulation.operators import considered
from engine.simulation.plan import HOUR_MS, Decision, Past, Plan, in_words
from engine.simulation.teams import each_spec, load_command
from engine.simulation.world import START_MS, ObservedHost, World
from store import CommandRow, Deposed

MOST_EVENTS = 40_000
"""Events after which a history is taken not to come to rest."""
PATIENCE_S = 20.0
"""Real seconds without an event or a tick of the clock after which a history is given up."""
LOOK_S = 0.1
"""Interval of these checks in seconds. Checks are counted, because a busy machine delays them with everything else."""
DAY_MS = 24 * HOUR_MS
FAR_MS = 3_000 * DAY_MS
SNAPSHOT_EVENTS = 60
PROCESSES = 2
"""Limit on processes in every history, independent of this computer."""
TURNS = (0, 0, 1, 3, 8)
"""Turns of the event loop that a write may take, during which further messages are decided."""
EXPECTED_ENDS = (EngineKilled, Deposed, DiskStayedFull)
"""Errors with which an engine may end."""


def live_through(plan: Plan, *, patience_s: float = PATIENCE_S) -> Past:
    """Run a plan and return its result; the first broken invariant ends it.

    Args:
        patience_s: Real seconds without progress after which it is given up.
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
    """Silence the engine's log: engines die on purpose here."""
    log = logging.getLogger("engine")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)


class History(World):
    """The run of one plan."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._left: list[str] = []
        self._group: TaskGroup | None = None
        self._next = 0
        self._lives = 0
        self._unanswered: dict[str, Command] = {}
        """Commands whose sender saw the engine end before their outcome."""
        self._over = False
        self._last_ms = START_MS

    async def happen(self, patience_s: float) -> None:
        """Run one engine after the other until the plan is over and the team is at rest."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, patience_s, group.cancel_scope)
            while not self._over and self.broken is None:
                await self._one_life()
            if self.broken is None:
                self.check(When.AT_THE_END)
            group.cancel_scope.cancel()

    async def _watch(self, patience_s: float, scope: anyio.CancelScope) -> None:
        """Give up when nothing happens for too long."""
        looks, seen = 0, (-1, -1, -1)
        while looks * LOOK_S < patience_s:
            await anyio.sleep(LOOK_S)
            now = (self._lives, self.books.state.seq, self.clock.now_ms())
            looks, seen = (looks + 1, seen) if now == seen else (0, now)
        self.breaks("time_goes_on", "Time goes on", f"nothing has happened for {patience_s:g} real seconds")
        scope.cancel()

    def told(self) -> Past:
        """Return the result."""
        return Past(
            plan=self.plan,
            broken=self.broken,
            lines=self.lines,
            wrong=self.wrong,
            books=self.books,
            digest=self.disk.end[1].hex(),
            hours=max(0, self._last_ms - START_MS) / HOUR_MS,
            events=self.books.events,
            engines=self._lives,
            left=self._left,
        )

    def end(self) -> None:
        """Ask the engine to end cleanly."""
        if self.host is not None and self._group is not None:
            self._group.start_soon(self.host.stop)

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
            self,
            clock=self.clock,
            runtimes=simulated_runtimes(self),
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
                self.host = host
                group.start_soon(self._be_operators, host)
            await ended.wait()
            group.cancel_scope.cancel()
        self.host = None
        for order_id, command in [*self._unanswered.items()]:
            if order_id in self.books.commands or draw.random() < 0.5:
                self._unanswered.pop(order_id, None)
            else:
                self._put(order_id, command)

    async def _be_engine(self, host: Host, begun: anyio.Event, ended: anyio.Event) -> None:
        try:
            await host.run(task_status=_Begun(begun))
        except EXPECTED_ENDS as error:
            self.tell(f"the engine has ended: {error}")
        except Exception as error:  # whatever it is, no engine may end like this
            self.breaks("engine_ends_in_order", "An engine ends for no reason of its own", f"{error!r}")
        finally:
            begun.set()
            ended.set()

    def _killed(self) -> None:
        self.tell("the engine dies")
        self.host = None
        self.drop()

    def drop(self) -> None:
        """Abandon the engine without a clean end."""
        self.mishaps.let_go()
        if self._group is not None:
            self._group.cancel_scope.cancel()

    def _while_dead(self, draw: Random) -> None:
        """Let time pass without an engine; commands wait in the inbox meanwhile."""
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
                self.tell(FAULTS[decision.kind][1](self, decision.random()))
            else:
                self._act(decision)
        await self._come_to_rest(host)
        self._over = True
        await host.stop("the history is over")

    async def _until(self, moment_ms: int) -> None:
        has_moved = moment_ms > self.clock.now_ms()
        await self.clock.sleep_until(moment_ms)
        if has_moved and not self._is_busy():
            self.check(When.AT_MOMENTS)

    def _is_busy(self) -> bool:
        """Return True while the engine waits for its disk, and so is behind the clock."""
        return self.mishaps.is_waiting or self.clock.now_ms() < self.mishaps.full_until_ms + 2_000

    def _act(self, decision: Decision, *, queued: bool = False) -> None:
        draw = decision.random()
        command = considered(decision.kind, draw, self.state, decision.number)
        if command is None:
            return
        if self.plan.models:
            command = each_spec(command, modelled)
        order_id = f"o{decision.number}"
        way = draw.choice(["order", "order", "inbox", "both"])
        self.tell(f"an operator: {in_words(command)}{' (into the inbox)' if queued or way == 'inbox' else ''}")
        if queued or way != "order":
            self._put(order_id, command)
        if self.host is not None and not queued and way != "inbox":
            self._order(self.host, order_id, command)

    def _put(self, order_id: str, command: Command) -> None:
        self.books.sent[order_id] = command
        try:
            body = encode_command(command)
        except ValueError:
            return
        self.queue(CommandRow(order_id, str(command.type), body, "simulated", "operator", self.clock.now_ms()))

    def _order(self, host: Host, order_id: str, command: Command) -> None:
        assert self._group is not None
        self._group.start_soon(self._ask, host, order_id, command)

    async def _ask(self, host: Host, order_id: str, command: Command) -> None:
        self._unanswered[order_id] = self.books.sent[order_id] = command
        try:
            applied = await host.order(command, sender="simulated", id=order_id)
        except CommandRefusedError:
            self._unanswered.pop(order_id, None)
        except (HostStopped, EngineKilled):  # the second while it reads what the command is to wait for
            return
        else:
            self._unanswered.pop(order_id, None)
            if self.books.commands.get(order_id) != applied.seq:
                says = "No command is acknowledged before it is on disk"
                self.breaks("acknowledged_is_on_disk", says, f"{order_id} is said to stand at seq {applied.seq}")

    async def _come_to_rest(self, host: Host) -> None:
        """Undo pauses and faults, answer all questions, and wait until nothing happens any more."""
        self.mishaps.kill_in = None
        self.mishaps.full_until_ms = 0
        self.tell("everybody is let go on, until nothing happens any more")
        for round_number in range(40):
            mend(self)
            wanted = [*resumes(host.state), *answers(host.state, Random(f"{self.plan.seed} {round_number}"))]
            for place, command in enumerate(wanted):
                self._order(host, f"rest{self._lives}-{round_number}-{place}", command)
            await self._until(self.clock.now_ms() + DAY_MS)
            if not wanted and not resumes(host.state) and not host.state.escalations:
                break
        await self.clock.sleep_until(self.clock.now_ms() + FAR_MS)
        self.check(When.AT_MOMENTS)
        self.check(When.AT_REST)
        self._left = list(left(host.state))

    def _written(self) -> None:
        """Check and take what one write brought into the journal."""
        books = self.books
        books.batch = self.disk.events(books.state.seq)
        if not books.batch or self.broken is not None:
            return
        self.batches += 1
        for event in books.batch:
            if not isinstance(event, EngineStopped):
                self._last_ms = event.at_ms
            if not (self.check(When.ON_EVERY_EVENT, event) and self.hold(LAWS.get(type(event), ()), books, event)):
                books.events.append(event)
                return
            books.take(event)
        self.check(When.AFTER_BATCH)
        if self.batches % SAMPLE == 0:
            self.check(When.SAMPLED)
        if books.state.seq > MOST_EVENTS:
            self.breaks("rest_comes", "A team comes to rest", f"it still goes on after {MOST_EVENTS} events")


# Bringing a team to rest


def left(state: State) -> Iterator[str]:
    """Yield permanently blocked tasks."""
    for task in state.tasks.values():
        if not (task.ended or task.blockers or task.open) and task.kind == "agent":
            yield f"{task.title} ({task.queue or 'no queue'})"


def resumes(state: State) -> list[Command]:
    """Return commands that resume whatever is paused or away."""
    paused = [
        *(run.id for run in state.runs.values() if run.paused),
        *(one.id for one in state.supervisors.values() if one.paused),
        *(one.id for one in state.agents.values() if one.paused or one.away),
    ]
    return [Resume(target=at(target)) for target in paused]


def answers(state: State, draw: Random) -> list[Command]:
    """Return a random answer to every question that has options."""
    asked = [one for one in state.escalations.values() if one.options]
    return [Answer(escalation=one.id, answer=draw.choice(one.options), output="as you like") for one in asked]


class _EnginesClock(VirtualClock):
    """A clock that stops with its engine; a delayed write ends then."""

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
    """A `task_status` that sets an event once the host takes orders."""

    def __init__(self, begun: anyio.Event) -> None:
        self._begun = begun

    def started(self, value: object = None) -> None:
        """Pass it on."""
        self._begun.set()
