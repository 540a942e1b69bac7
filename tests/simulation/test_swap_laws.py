"""Laws of agents that change while they work: swaps in every mode, ways back, other hands, at any moment of the work.

Histories are drawn from a seed: what matters is that much is at work when something changes, which is else rare.
"""

from collections import Counter
from random import Random
from typing import Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.archive.reading import complete_state, read_state
from engine.core.codec import decode_state, encode_state
from engine.core.commands import (
    Answer,
    Cancel,
    ChangeCapabilities,
    Command,
    Move,
    Pause,
    Reassign,
    RemoveMember,
    Resume,
    Rollback,
    SetPriority,
    Submit,
    SupervisorSpec,
    SwapAgent,
    SwapAgents,
)
from engine.core.exporting import document_of
from engine.core.fold import fold
from engine.core.legality import assert_legal
from engine.core.options import Preempt, SupervisorOptions
from engine.core.signals import AgentUnusable, AttemptSucceeded, StepFinished
from engine.core.spec import Retry
from engine.core.state import State
from engine.texts import walk
from tests.chance import mend
from tests.world import agent, team_world

SKILLS = ("parse", "write", "sum")
MODES = ("drain", "migrate", "abort")
LEAVES: tuple[Literal["drain", "requeue", "abort"], ...] = ("drain", "requeue", "abort")
STEPS = ("s1", "s2", "s3")
Key = tuple[str, int]

some = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Story:
    """A team of which much is at work, and whoever changes it, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.finished: dict[str, set[str]] = {}
        """Steps of each task that are finished and not thrown away."""
        self.world = team_world(
            agent("ada", "parse", "write", max_concurrency=2, on_failure=[Retry(2, 0.1, 1.0)]),
            agent("bob", "parse"),
            SupervisorSpec(name="below", members=[agent("cyd", "sum"), agent("dan", "sum", "write")], max_parallel=2),
            mode=self.random.choice(["sequential", "parallel"]),
            max_parallel=3,
            options=SupervisorOptions(preempt=Preempt(at=self.random.choice(["step", "now"]), urgent=2)),
        )
        for _ in range(self.random.randint(1, 3)):
            self.world.order(Submit(request="go"))

    def go_on(self, turns: int) -> None:
        """Let things happen, each of which leaves a legal state."""
        for _ in range(turns):
            self.world.now_ms += self.random.randint(0, 500)
            self._turn()
            assert_legal(self.world.state)

    def _turn(self) -> None:
        draw = self.random.random()
        if draw < 0.25:
            self.world.order(self._command())
        elif draw < 0.27:
            self.random.choice([self.world.crash, self.world.restart])()
        elif draw < 0.31 and self.world.timers:
            self.world.due(self.random.choice(sorted(self.world.timers)))
        elif draw < 0.34:
            self._unusable()
        elif draw < 0.36:
            mend(self.world)
        elif draw < 0.5 and self.world.joins:
            self.world.join(next(iter(self.world.joins)))
        elif draw < 0.7 and self.world.stopping:
            self._stop(self.random.choice(sorted(self.world.stopping)))
        elif self.world.started:
            self._work(self.random.choice(sorted(self.world.started)))

    def _command(self) -> Command:
        pick, state = self.random.choice, self.world.state
        agents = [one.id for one in state.agents.values()] or ["nobody"]
        work = [task.id for task in state.tasks.values() if not task.ended] or ["t999"]
        asked = list(state.escalations) or ["e999"]
        running = [task.id for task in state.tasks.values() if task.attempt is not None] or work
        commands: list[Command] = [
            self._swap(pick(agents)),
            self._swap(pick(agents)),
            SwapAgents(swaps=[self._swap(one) for one in self.random.sample(agents, min(2, len(agents)))]),
            Rollback(agent=pick(agents), mode=pick(MODES)),
            ChangeCapabilities(agent=pick(agents), add=[pick(SKILLS)], remove=pick([[], [pick(SKILLS)]])),
            Reassign(task=pick(running), agent=pick(agents), now=pick([True, False])),
            Reassign(task=pick(work), agent=pick(agents)),
            Answer(escalation=pick(asked), answer=pick(["wait", "abort", "retry"])),
            pick([Pause, Resume])(target=pick([*agents, *state.runs])),
            Submit(request="go"),
            Cancel(target=pick(work)),
            Move(target=pick(agents), parent=pick(list(state.supervisors))),
            SetPriority(target=pick(running), priority=pick([0, 9])),
            RemoveMember(target=pick(agents), mode=pick(LEAVES)),
        ]
        return pick(commands)

    def _swap(self, target: str) -> SwapAgent:
        pick = self.random.choice
        mode = pick(MODES)
        return SwapAgent(
            agent=target,
            spec=agent("ada", *self.random.sample(SKILLS, 2), timeout_s=pick([1, 2, 3]), max_concurrency=pick([1, 2])),
            mode=mode,
            deadline_s=pick([None, 1]) if mode == "drain" else None,
            rollback_failures=pick([None, 1]),
        )

    def _unusable(self) -> None:
        if self.world.state.agents:
            one = self.random.choice(list(self.world.state.agents.values()))
            self.world.say(AgentUnusable(agent_id=one.id, generation=one.generation, error="no code"))

    def _stop(self, key: Key) -> None:
        draw = self.random.random()
        generation = self.world.started[key].generation
        if draw < 0.8:
            self.world.stop(key, stuck=draw < 0.1)
        elif draw < 0.9:
            self.world.fail(key)
        elif not self.world.waits(key):
            self.world.succeed(key)
        if key in self.world.started and self.world.started[key].generation != generation:
            self._late(key, generation)

    def _late(self, key: Key, generation: int) -> None:
        """What the generation that was left still says changes nothing."""
        for late in (
            StepFinished(task_id=key[0], attempt=key[1], generation=generation, name="late", key="late", output=1),
            AttemptSucceeded(task_id=key[0], attempt=key[1], generation=generation, output="late"),
        ):
            assert self.world.say(late) == []

    def _work(self, key: Key) -> None:
        draw = self.random.random()
        start = self.world.started[key]
        if draw < 0.5:
            left = [name for name in STEPS if name not in start.steps]
            if left and not self.world.waits(key):
                self.world.record(key, self.random.choice(left))
        elif draw < 0.7:
            if not self.world.waits(key) and key not in self.world.stopping:
                self.world.ask(key, self.random.choice([*SKILLS, "bob"]), ["x"] * self.random.randint(1, 2))
        elif draw < 0.8:
            self.world.fail(key)
        elif not self.world.waits(key):
            self.world.succeed(key)

    def to_the_end(self) -> None:
        """Let go on what is paused, and everything come to its end."""
        for _ in range(20):
            mend(self.world)
            for target in [*self.world.state.agents, *self.world.state.runs]:
                self.world.order(Resume(target=target))
            for asked in list(self.world.state.escalations.values()):
                self.world.order(Answer(escalation=asked.id, answer=asked.options[-1]))
            self.world.settle()


@some
@given(st.integers(0, 2**32))
def test_every_task_has_one_outcome_whatever_changes_while_it_is_at_work(seed: int) -> None:
    story = Story(seed)
    story.go_on(80)
    story.to_the_end()

    ends = Counter(event.task_id for event in story.world.journal if event.type == "attempt_done")
    assert not [task_id for task_id, times in ends.items() if times > 1]
    for task in story.world.state.tasks.values():
        # Only what nobody can do any more may wait for ever, and who waits for it.
        queue = story.world.state.queues.get(task.queue or "")
        waits = task.attempt is not None and task.attempt.parked
        assert task.ended or task.kind != "agent" or task.blockers or waits or queue is None or not queue.free, task


@some
@given(st.integers(0, 2**32))
def test_a_finished_step_is_given_to_every_later_attempt_and_never_runs_again_but_after_an_abort(seed: int) -> None:
    story = Story(seed)
    story.go_on(80)

    finished: dict[str, set[str]] = {}
    for event in story.world.journal:
        if event.type == "step_recorded":
            steps = finished.setdefault(event.task_id, set())
            assert event.key not in steps
            steps.add(event.key)
        if event.type == "attempt_cancelled" and event.restarted:
            finished.pop(event.task_id, None)
    for task in story.world.state.tasks.values():
        assert set(task.steps) == finished.get(task.id, set())


@some
@given(st.integers(0, 2**32))
def test_usage_is_counted_once_however_often_an_attempt_changes_hands(seed: int) -> None:
    story = Story(seed)
    story.go_on(60)

    spent = sum(event.usage.time_ms for event in story.world.journal if hasattr(event, "usage"))
    assert story.world.state.usage.time_ms == spent


@some
@given(st.integers(0, 2**32))
def test_the_journal_alone_gives_the_state_and_archives_take_it_along(seed: int) -> None:
    story = Story(seed)
    story.go_on(60)
    state, again = story.world.state, State()

    fold(again, story.world.journal)

    assert encode_state(again) == encode_state(state) == encode_state(decode_state(encode_state(state)))
    document, texts = document_of(state, lambda ref: walk(story.world.journal[ref.seq - 1], ref.path))
    assert read_state(complete_state(document, texts)).document == document
