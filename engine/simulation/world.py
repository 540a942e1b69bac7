"""The shared context of one history: its agents act on it, faults change it, laws check it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from zlib import crc32

from engine.core.commands import Order
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.records.records import JsonValue
from engine.core.records.values import preview
from engine.core.signals import Signal, StepFinished
from engine.core.state import State
from engine.core.transfer.exporting import make_document
from engine.errors import BoundElsewhere, Unusable
from engine.host.host import Host
from engine.platform.clock import Clock, VirtualClock
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.task import Task
from engine.simulation.disk import Disk, DiskFaults
from engine.simulation.laws import LAWS, Law, When
from engine.simulation.model_watch import ModelWatch
from engine.simulation.operators import draw_command
from engine.simulation.plan import Plan, StoryLine, Violation
from engine.simulation.shadow_ledger import ShadowLedger
from store import CommandRow

START_MS = 1_750_000_000_000
_CHECKS = {
    "an_answer_is_what_was_said": "An attempt is told what a person said",
    "a_change_is_on_disk": "A step that ends without a conflict has brought the changes of its agent's state to disk",
    "a_version_is_as_expected": "An insight takes the place of the expected version alone",
    "disk_before_deed": "Nothing is done before it is on disk",
    "no_message_is_lost_or_heard_twice": "Who is at work hears every message once, in order, also after a crash",
    "no_step_runs_twice": "A step that is recorded is never run again",
    "no_step_runs_without_a_slot": "A step runs only while its attempt holds a slot",
}
"""What the checks of the world say, for people, by name."""
_UNCOUNTED_STEPS = ("create_agent", "memory.query", "memory.wait")
"""Steps of the engine's own, whose begin is not observed."""


def is_bound_to_program(agent: str) -> bool:
    """Return whether the code of an agent is bound to a program: when that ends, the agent is away, not broken."""
    return crc32(agent.encode()) % 2 == 0


class World:
    """A disk, the current engine if there is one, and the bookkeeping over the journal.

    Attributes:
        missing: Names of agents whose code is gone.
        back_ms: How far the clock of the next engine is behind, in milliseconds.
        acting: Attempts that really run in the current engine.
        inbox_ids: Commands that were put into the inbox while no engine ran.
        violation: The first law that did not hold.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.disk = Disk()
        self.ledger = ShadowLedger()
        self.clock: Clock = VirtualClock(START_MS)
        self.models = ModelWatch(self)
        self.disk_faults = DiskFaults(lambda: None)
        self.host: Host | None = None
        self.missing: set[str] = set()
        self.back_ms = 0
        self.acting: set[tuple[str, int]] = set()
        self.inbox_ids: list[str] = []
        self.violation: Violation | None = None
        self.lines: list[StoryLine] = []
        self.attempt_mishaps: dict[str, str] = {}
        self.batches = 0

    @property
    def state(self) -> State:
        """The state of the current engine; between two engines, that of the journal."""
        return self.host.state if self.host is not None else self.ledger.state

    @property
    def now_ms(self) -> int:
        """The simulated time, UTC milliseconds."""
        return self.clock.now_ms()

    def abandon_engine(self) -> None:
        """Abandon the engine without a clean end."""

    def stop_engine(self) -> None:
        """Ask the engine to end cleanly."""

    def signal(self, signal: Signal) -> None:
        """Send a signal to the engine."""
        if self.host is not None:
            self.host.signal(signal)

    def export(self) -> tuple[State, list[JsonValue]]:
        """Return an archive of the team as of the journal."""
        state = decode_state(encode_state(self.ledger.state))
        return state, make_document(state, self.ledger.text)

    def queue_command(self, row: CommandRow) -> None:
        """Put a command on disk, and wake the engine as the file's watcher would."""
        self.disk.put(row)
        self.inbox_ids.append(row.id)
        if self.host is not None:
            self.host.store.inbox._wake()  # in a file the write itself is the news

    def should_fail(self, key: str, share: float) -> bool:
        """Return whether an attempt with the draw `share` has a mishap."""
        return share < self.plan.trouble and key not in self.plan.avoided_mishaps

    def check_code(self, agent: str) -> None:
        """Check that the code of an agent is there; raises Unusable if it is not."""
        if agent in self.missing:
            raise BoundElsewhere(agent) if is_bound_to_program(agent) else Unusable(f"the code of {agent} is gone")

    async def open_attempt(self, work: Work, kind: str, mishaps: Sequence[str]) -> tuple[Task, str, Random, str | None]:
        """Check the inputs of an attempt; return its task, key, random source, and mishap if it has one.

        Args:
            kind: Part of the seed of the random source, so that kinds of agents draw differently; may be empty.
            mishaps: What may happen to the attempt.
        """
        task = await work.task()
        self.check(When.ON_READ, (work, task))
        key = f"{work.effect.agent} at {preview(task.request, 40)!r} ({task.title[:40]}), attempt {work.effect.attempt}"
        draw = Random(f"{self.plan.seed} {kind} {key}" if kind else f"{self.plan.seed} {key}")
        share = draw.random()
        mishap = draw.choice(mishaps)
        if not self.should_fail(key, share):
            return task, key, draw, None
        self.attempt_mishaps[key] = mishap
        self.add_line(f"{key}: {mishap}")
        return task, key, draw, mishap

    def next_order(self) -> Order | None:
        """Return a random next command of an operator."""
        draw = Random(f"{self.plan.seed} look {self.batches}")
        kind = draw.choice(["submit", "cancel", "swap_agent", "switch_strategy", "remove_member", "retry_work"])
        command = draw_command(kind, draw, self.ledger.state, 0)
        return Order(id="look", command=command) if command is not None else None

    def add_line(self, words: str) -> None:
        """Add a line to the story."""
        self.lines.append(StoryLine(self.now_ms - START_MS, self.ledger.state.seq, words))

    # Checks against the journal

    def check(self, when: When, *args: object) -> bool:
        """Return whether the laws of a moment hold; the first broken one ends the history."""
        subject = (self,) if when in (When.SAMPLED, When.AT_MOMENTS, When.AT_REST, When.AT_THE_END) else (self.ledger,)
        return self.check_laws(LAWS.get(when, ()), *subject, *args)

    def check_laws(self, laws: tuple[Law, ...], *args: object) -> bool:
        """Return whether some laws hold."""
        for law in laws:
            if self.violation is None and (details := law(*args)) is not None:
                self.report_violation(law.__name__, (law.__doc__ or "").split("\n")[0].rstrip("."), details)
        return self.violation is None

    def report_violation(self, law: str, statement: str, details: str) -> None:
        """Record a broken law, which ends the history; the first one counts."""
        if self.violation is None:
            self.violation = Violation(law, statement, details, self.ledger.state.seq, self.now_ms - START_MS)
            self.abandon_engine()

    def _report(self, check: str, details: str) -> None:
        self.report_violation(check, _CHECKS[check], details)

    def check_begin(self, work: Work) -> None:
        """Check that the attempt that begins is in the journal."""
        self.check(When.ON_BEGIN, work)
        key = (work.effect.task_id, work.effect.attempt)
        if key not in self.ledger.started_seq:
            self.report_early_effect(f"{key} begins, and is not on disk")
        self.acting.add(key)

    def note_end(self, work: Work) -> None:
        """Note that an agent has left an attempt."""
        self.acting.discard((work.effect.task_id, work.effect.attempt))

    def check_effects(self, seq: int) -> None:
        """Check that the events whose effects are performed are in the journal."""
        if seq > self.ledger.state.seq:
            self.report_early_effect(f"the engine acts on seq {seq}, and the journal ends at {self.ledger.state.seq}")

    def check_recorded_step(self, step: StepFinished) -> None:
        """Check that a step that is reported as recorded is in the journal, unless its attempt has ended."""
        is_counted = step.name not in _UNCOUNTED_STEPS and not step.steers
        if (step.task_id, step.attempt, step.generation) not in self.models.attempts and is_counted:
            self.ledger.open_steps[step.task_id, step.attempt, step.generation] -= 1
        task = self.ledger.state.tasks.get(step.task_id)
        is_live = task is not None and task.attempt is not None and task.attempt.number == step.attempt
        if is_live and (step.task_id, step.key) not in self.ledger.steps:
            self.report_early_effect(f"{step.key} of {step.task_id} is said to be recorded, and is not on disk")

    @contextmanager
    def open_question(self, work: Work) -> Iterator[None]:
        """Count a question while an attempt waits for its answer."""
        key = (work.effect.task_id, work.effect.attempt, work.effect.generation)
        self.ledger.open_questions[key] += 1
        try:
            yield
        finally:
            self.ledger.open_questions[key] -= 1

    def check_answer(self, work: Work, answer: str) -> None:
        """Check that the answer of a person that an attempt gets is the one in the journal."""
        job = self.ledger.work.jobs.get(work.effect.task_id)
        if job is not None and answer not in job.steps.values():
            self._report("an_answer_is_what_was_said", f"{job.id}: {answer!r}")

    def check_messages(self, work: Work, messages: list[str]) -> None:
        """Check that an attempt has heard every message in the journal once and in order; the state may be ahead."""
        job = self.ledger.work.jobs.get(work.effect.task_id)
        effect = work.effect
        if (
            job is None
            or job.attempt is None
            or (job.attempt.number, job.attempt.generation) != (effect.attempt, effect.generation)
        ):
            return
        # Where its last turn is one that was taken before, what was said since waits for a turn of its own.
        waiting = [] if "steered:3" in effect.steps else job.steers.values()
        expected_messages = [*job.read_messages, *waiting]
        if messages[: len(expected_messages)] != expected_messages:
            self._report("no_message_is_lost_or_heard_twice", f"{job.id} heard {messages}, of {expected_messages}")

    def check_decision(self, work: Work, tool: str, arguments: dict[str, JsonValue], *, allows: bool) -> None:
        """Check that a tool is allowed or rejected only if a person, or the question's deadline, has said so."""
        job = self.ledger.work.jobs.get(work.effect.task_id)
        effect = work.effect
        if job is None:
            return
        answer, decision = ("allow_", "allowed") if allows else ("reject_", "rejected")
        is_answered = any(str(step).startswith(answer) for step in job.steps.values())
        is_granted = any(
            (grant.agent_id, grant.generation, grant.tool, grant.allows)
            == (effect.agent_id, effect.generation, tool, allows)
            and (grant.limit in (None, job.id, job.run_id) or isinstance(grant.limit, int))
            and all(json.dumps(arguments.get(name)) == text for name, text in grant.where)
            for grant in self.ledger.team.grants.values()
        )
        if not is_answered and not is_granted:
            self._report("an_answer_is_what_was_said", f"{job.id}: {tool} is {decision}")

    def check_counted(self, work: Work) -> None:
        """Check that the journal has counted the task of an attempt whose counting step has ended."""
        effect = work.effect
        is_repeated = any(key.startswith("count") for key in effect.steps)
        if (
            not (is_repeated or work.attempt.over)
            and (effect.task_id, effect.agent_id) not in self.ledger.agent_state.counted
        ):
            self._report("a_change_is_on_disk", f"{effect.task_id} has counted for {effect.agent_id}")

    def check_version(self, work: Work, version: int, expected: int | None) -> None:
        """Check that an insight of an attempt follows the version that it expected."""
        if expected is not None and version != expected + 1:
            self._report("a_version_is_as_expected", f"{work.effect.task_id} expected {expected}, and wrote {version}")

    def report_early_effect(self, details: str) -> None:
        """Record that effects were performed before their events were written."""
        self._report("disk_before_deed", details)

    def check_step(self, work: Work, name: str, *, key: str | None = None) -> None:
        """Check that a step that runs was not recorded before; `key` identifies it among steps of the same name."""
        task_id = work.effect.task_id
        began_seq = self.ledger.started_seq.get((task_id, work.effect.attempt), 0)
        for (recorded_task_id, recorded), seq in self.ledger.steps.items():
            if recorded_task_id == task_id and _is_same_step(recorded, name, key) and seq < began_seq:
                self._report("no_step_runs_twice", f"{name} of {task_id} stands at seq {seq} and runs again")
        self._check_slot(work, name)

    def _check_slot(self, work: Work, name: str) -> None:
        """Check that the attempt of a step that begins holds a slot."""
        self.ledger.open_steps[work.effect.task_id, work.effect.attempt, work.effect.generation] += 1
        self.check(When.ON_STEP, work, name)
        job = self.ledger.work.jobs.get(work.effect.task_id)
        attempt = job.attempt if job is not None else None
        if attempt is None or (attempt.number, attempt.generation) != (work.effect.attempt, work.effect.generation):
            return
        if attempt.parked:
            self._report("no_step_runs_without_a_slot", f"{name} of {work.effect.task_id} runs, which is parked")

    def check_tool_call(self, work: Work) -> None:
        """Check that a tool that must not be called twice has not been called before."""
        self._check_slot(work, "a tool")
        self.check(When.ON_CALL, work)


def _is_same_step(recorded: str, name: str, key: str | None) -> bool:
    return recorded == key if key is not None else recorded.startswith(f"{name}:")
