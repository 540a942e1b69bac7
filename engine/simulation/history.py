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
from typing_extensions import override

from engine.core.commands import Answer, Command, Resume
from engine.core.encoding.codec import encode_command
from engine.core.events import EngineStopped
from engine.core.queries.targets import id_target
from engine.core.state import State
from engine.errors import CommandRefusedError, DiskStayedFull, HostStopped
from engine.host.host import Host
from engine.platform.clock import VirtualClock
from engine.simulation.agents import simulated_runtimes
from engine.simulation.disk import DiskFaults, EngineKilled
from engine.simulation.faults import FAULTS, restore_code
from engine.simulation.laws import LAWS, SAMPLE, When
from engine.simulation.model_agents import to_model_agent
from engine.simulation.observed_host import ObservedHost
from engine.simulation.operators import choose_command
from engine.simulation.plan import HOUR_MS, Decision, HistoryResult, Plan, describe_command
from engine.simulation.searching import SimulatedTrust
from engine.simulation.teams import load_command, map_specs
from engine.simulation.world import START_MS, World
from store import CommandRow, Deposed

MAX_EVENTS = 40_000
"""Number of events after which a history counts as endless."""
PATIENCE_S = 20.0
"""Real seconds without an event or a tick of the clock after which a history is given up."""
CHECK_INTERVAL_S = 0.1
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


def run_history(plan: Plan, *, patience_s: float = PATIENCE_S) -> HistoryResult:
    """Run a plan until it ends, breaks a law, or makes no progress for `patience_s` real seconds."""
    with _silence_log():
        history = SimulatedHistory(plan)
        try:
            anyio.run(history.run, patience_s)
        finally:
            result = history.result()
            history.disk.close()
        return result


@contextmanager
def _silence_log() -> Iterator[None]:
    """Silence the engine's log: engines die on purpose here."""
    log = logging.getLogger("engine")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)


class SimulatedHistory(World):
    """The run of one plan."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._blocked_tasks: list[str] = []
        self._group: TaskGroup | None = None
        self._next_decision = 0
        self._engine_count = 0
        self._unanswered: dict[str, Command] = {}
        """Commands whose sender saw the engine end before their outcome."""
        self._is_over = False
        self._last_ms = START_MS

    async def run(self, patience_s: float) -> None:
        """Run one engine after the other until the plan is over and the team is at rest."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, patience_s, group.cancel_scope)
            while not self._is_over and self.violation is None:
                await self._run_one_engine()
            if self.violation is None:
                self.check(When.AT_THE_END)
            group.cancel_scope.cancel()

    async def _watch(self, patience_s: float, scope: anyio.CancelScope) -> None:
        """Give up when nothing happens for too long."""
        checks, last_progress = 0, (-1, -1, -1)
        while checks * CHECK_INTERVAL_S < patience_s:
            await anyio.sleep(CHECK_INTERVAL_S)
            progress = (self._engine_count, self.ledger.state.seq, self.clock.now_ms())
            checks, last_progress = (checks + 1, last_progress) if progress == last_progress else (0, progress)
        self.report_violation("time_goes_on", "Time goes on", f"nothing has happened for {patience_s:g} real seconds")
        scope.cancel()

    def result(self) -> HistoryResult:
        """Return the result."""
        return HistoryResult(
            plan=self.plan,
            violation=self.violation,
            lines=self.lines,
            mishaps=self.attempt_mishaps,
            ledger=self.ledger,
            digest=self.disk.end[1].hex(),
            hours=max(0, self._last_ms - START_MS) / HOUR_MS,
            events=self.ledger.events,
            engines=self._engine_count,
            blocked_tasks=self._blocked_tasks,
        )

    @override
    def stop_engine(self) -> None:
        """Ask the engine to end cleanly."""
        if self.host is not None and self._group is not None:
            self._group.start_soon(self.host.stop)

    # One engine

    async def _run_one_engine(self) -> None:
        self._engine_count += 1
        draw = Random(f"{self.plan.seed} life {self._engine_count}")
        if self._engine_count > 1:
            self._pass_dead_time(draw)
        start_ms = self.clock.now_ms() - self.back_ms
        self.back_ms = 0
        turns = Random(f"{self.plan.seed} turns {self._engine_count}")
        self.disk_faults = DiskFaults(self._on_killed, lambda: turns.choice(TURNS))
        self.clock = _EngineClock(start_ms, self.disk_faults)
        self.acting = set()
        store = self.disk.open(self.clock, self.disk_faults, self._check_write)
        host = ObservedHost(
            store,
            self,
            clock=self.clock,
            runtimes=simulated_runtimes(self),
            seed=draw.randrange(2**32),
            pid=self._engine_count,
            batch_ms=math.inf,
            snapshot_events=SNAPSHOT_EVENTS,
            processes=PROCESSES,
            allowed=SimulatedTrust(self),
        )
        has_begun, has_ended = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as group:
            self._group = group
            group.start_soon(self._run_engine, host, has_begun, has_ended)
            await has_begun.wait()
            if not has_ended.is_set():
                self.host = host
                group.start_soon(self._run_operators, host)
            await has_ended.wait()
            group.cancel_scope.cancel()
        self.host = None
        for order_id, command in [*self._unanswered.items()]:
            if order_id in self.ledger.outcome_seqs or draw.random() < 0.5:
                self._unanswered.pop(order_id, None)
            else:
                self._queue_order(order_id, command)

    async def _run_engine(self, host: Host, has_begun: anyio.Event, has_ended: anyio.Event) -> None:
        try:
            await host.run(task_status=_BeginStatus(has_begun))
        except EXPECTED_ENDS as error:
            self.add_line(f"the engine has ended: {error}")
        except Exception as error:  # no engine may end with any other error
            self.report_violation("engine_ends_in_order", "An engine ends for no reason of its own", f"{error!r}")
        finally:
            has_begun.set()
            has_ended.set()

    def _on_killed(self) -> None:
        self.add_line("the engine dies")
        self.host = None
        self.abandon_engine()

    @override
    def abandon_engine(self) -> None:
        """Abandon the engine without a clean end."""
        self.disk_faults.refuse_writes()
        if self._group is not None:
            self._group.cancel_scope.cancel()

    def _pass_dead_time(self, draw: Random) -> None:
        """Let time pass without an engine; commands wait in the inbox meanwhile."""
        self.disk.heard_ms = self.clock.now_ms()
        dead_ms = draw.choice([0, 0, 1, 1_000, 60_000, 1_200_000])
        clock = VirtualClock(self.clock.now_ms() + dead_ms)
        self.clock = clock
        while self._next_decision < len(self.plan.decisions):
            decision = self.plan.decisions[self._next_decision]
            if START_MS + decision.at_ms > clock.now_ms():
                break
            self._next_decision += 1
            if decision.kind not in FAULTS:
                self._carry_out(decision, queued=True)

    # Operators

    async def _run_operators(self, host: Host) -> None:
        if not self.ledger.state.supervisors:
            self._order(host, "team", load_command(self.plan.team))
        while self._next_decision < len(self.plan.decisions):
            decision = self.plan.decisions[self._next_decision]
            await self._sleep_until(START_MS + decision.at_ms)
            self._next_decision += 1
            if decision.kind in FAULTS:
                self.add_line(FAULTS[decision.kind][1](self, decision.random()))
            else:
                self._carry_out(decision)
        await self._come_to_rest(host)
        self._is_over = True
        await host.stop("the history is over")

    async def _sleep_until(self, moment_ms: int) -> None:
        has_moved = moment_ms > self.clock.now_ms()
        await self.clock.sleep_until(moment_ms)
        if has_moved and not self._is_busy():
            self.check(When.AT_MOMENTS)

    def _is_busy(self) -> bool:
        """Return True while the engine waits for its disk, and so is behind the clock."""
        return self.disk_faults.is_waiting or self.clock.now_ms() < self.disk_faults.full_until_ms + 2_000

    def _carry_out(self, decision: Decision, *, queued: bool = False) -> None:
        draw = decision.random()
        command = choose_command(decision.kind, draw, self.state, decision.number)
        if command is None:
            return
        if self.plan.models:
            command = map_specs(command, to_model_agent)
        order_id = f"o{decision.number}"
        way = draw.choice(["order", "order", "inbox", "both"])
        self.add_line(
            f"an operator: {describe_command(command)}{' (into the inbox)' if queued or way == 'inbox' else ''}"
        )
        if queued or way != "order":
            self._queue_order(order_id, command)
        if self.host is not None and not queued and way != "inbox":
            self._order(self.host, order_id, command)

    def _queue_order(self, order_id: str, command: Command) -> None:
        self.ledger.sent[order_id] = command
        try:
            body = encode_command(command)
        except ValueError:
            return
        self.queue_command(CommandRow(order_id, str(command.type), body, "simulated", "operator", self.clock.now_ms()))

    def _order(self, host: Host, order_id: str, command: Command) -> None:
        assert self._group is not None
        self._group.start_soon(self._give_order, host, order_id, command)

    async def _give_order(self, host: Host, order_id: str, command: Command) -> None:
        self._unanswered[order_id] = self.ledger.sent[order_id] = command
        try:
            applied = await host.order(command, sender="simulated", id=order_id)
        except CommandRefusedError:
            self._unanswered.pop(order_id, None)
        except (HostStopped, EngineKilled):  # the second while it reads what the command is to wait for
            return
        else:
            self._unanswered.pop(order_id, None)
            if self.ledger.outcome_seqs.get(order_id) != applied.seq:
                statement = "No command is acknowledged before it is on disk"
                self.report_violation(
                    "acknowledged_is_on_disk", statement, f"{order_id} is said to stand at seq {applied.seq}"
                )

    async def _come_to_rest(self, host: Host) -> None:
        """Undo pauses and faults, answer all questions, and wait until nothing happens any more."""
        self.disk_faults.kill_in = None
        self.disk_faults.full_until_ms = 0
        self.add_line("everybody is let go on, until nothing happens any more")
        for round_number in range(40):
            restore_code(self)
            commands = [
                *resume_commands(host.state),
                *answer_commands(host.state, Random(f"{self.plan.seed} {round_number}")),
            ]
            for index, command in enumerate(commands):
                self._order(host, f"rest{self._engine_count}-{round_number}-{index}", command)
            await self._sleep_until(self.clock.now_ms() + DAY_MS)
            if not commands and not resume_commands(host.state) and not host.state.escalations:
                break
        await self.clock.sleep_until(self.clock.now_ms() + FAR_MS)
        self.check(When.AT_MOMENTS)
        self.check(When.AT_REST)
        self._blocked_tasks = list(blocked_tasks(host.state))

    def _check_write(self) -> None:
        """Check and apply the events of one write."""
        ledger = self.ledger
        ledger.batch = self.disk.events(ledger.state.seq)
        if not ledger.batch or self.violation is not None:
            return
        self.batches += 1
        for event in ledger.batch:
            if not isinstance(event, EngineStopped):
                self._last_ms = event.at_ms
            if not (
                self.check(When.ON_EVERY_EVENT, event) and self.check_laws(LAWS.get(type(event), ()), ledger, event)
            ):
                ledger.events.append(event)
                return
            ledger.take(event)
        self.check(When.AFTER_BATCH)
        if self.batches % SAMPLE == 0:
            self.check(When.SAMPLED)
        if ledger.state.seq > MAX_EVENTS:
            self.report_violation("rest_comes", "A team comes to rest", f"it still goes on after {MAX_EVENTS} events")


# Bringing a team to rest


def blocked_tasks(state: State) -> Iterator[str]:
    """Yield permanently blocked tasks."""
    for task in state.tasks.values():
        if not (task.ended or task.blockers or task.open) and task.kind == "agent":
            yield f"{task.title} ({task.queue or 'no queue'})"


def resume_commands(state: State) -> list[Command]:
    """Return commands that resume whatever is paused or away."""
    paused_ids = [
        *(run.id for run in state.runs.values() if run.paused),
        *(supervisor.id for supervisor in state.supervisors.values() if supervisor.paused),
        *(agent.id for agent in state.agents.values() if agent.paused or agent.away),
    ]
    return [Resume(target=id_target(target_id)) for target_id in paused_ids]


def answer_commands(state: State, draw: Random) -> list[Command]:
    """Return a random answer to every question that has options."""
    escalations = [escalation for escalation in state.escalations.values() if escalation.options]
    return [
        Answer(escalation=escalation.id, answer=draw.choice(escalation.options), output="as you like")
        for escalation in escalations
    ]


class _EngineClock(VirtualClock):
    """A clock that stops with its engine; a delayed write ends then."""

    def __init__(self, start_ms: int, faults: DiskFaults) -> None:
        super().__init__(start_ms)
        self._faults = faults

    @override
    async def drive(self) -> None:
        """Move time until the engine ends."""
        try:
            await super().drive()
        finally:
            self._faults.end_delays()


class _BeginStatus:
    """A `task_status` that sets an event once the host takes orders."""

    def __init__(self, has_begun: anyio.Event) -> None:
        self._has_begun = has_begun

    def started(self, value: object = None) -> None:
        """Set the event."""
        self._has_begun.set()
