"""Where time went, against timelines painted millisecond by millisecond."""

from collections import Counter
from itertools import accumulate, chain

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.commands import Answer, Pause, Resume, Submit
from engine.core.queries.work.critical_path import critical_path
from engine.core.queries.work.times import times_of, times_of_attempt
from engine.core.records.spans import BLOCKED, KIND_OF, MODEL, REST, TOOL
from engine.core.signals import ModelErred
from engine.core.specs.failure_policies import Escalate, Retry
from engine.core.state import Run, State, Task, TaskStatus
from tests.depth import examples
from tests.world import World, agent, team_world

MOVES = st.lists(st.tuples(st.sampled_from(["wait", "succeed", "fail", "step", "pause", "resume", "crash", "restart",
    "stop agent", "start agent", "due", "answer", "delegate"]), st.integers(0, 40)), max_size=30)  # fmt: skip

STEPS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 30), st.sampled_from(["model", "tool", "failed call"])), max_size=8
)


def move(world: World, what: str, number: int) -> None:
    """Do what can be done of a move."""
    able = [key for key in world.started if not world.waits(key)]
    key = able[number % len(able)] if able else None
    if what == "wait":
        world.now_ms += number
    elif what == "succeed" and key:
        world.succeed(key)
    elif what == "fail" and key:
        world.fail(key)
    elif what == "step" and key:
        world.record(key, f"step {number} {world.now_ms}", what="model", duration_ms=number)
    elif what == "delegate" and key:
        world.ask(key, "dig", ["here", "there"], call=f"k{world.now_ms} {number}")
    elif what in ("pause", "resume") and "r1" in world.state.runs:
        world.order(Pause(target="r1") if what == "pause" else Resume(target="r1"))
    elif what in ("stop agent", "start agent"):
        world.order(Pause(target="bob") if what == "stop agent" else Resume(target="bob"))
    elif what == "due" and world.timers:
        world.due(min(world.timers, key=lambda one: world.timers[one]))
    elif what == "answer" and world.state.escalations:
        question = next(iter(world.state.escalations.values()))
        world.order(Answer(escalation=question.id, answer=question.options[number % len(question.options)]))
    elif what == "crash":
        world.crash()
    elif what == "restart":
        world.restart()


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_the_time_of_each_task_and_run_adds_up_to_its_wall_time(data: st.DataObject) -> None:
    policies = (Retry(retries=1), Escalate())
    crew = [agent(name, specialty, on_failure=policies) for name, specialty in (("lead", "lead"), ("bob", "dig"))]
    world = team_world(*crew, agent("eve", "sum"), participants=("lead", "eve"))
    world.order(Submit(request="go"))
    for what, number in data.draw(MOVES):
        move(world, what, number)
        now_ms, state = max(world.now_ms, world.state.at_ms), world.state
        for task in state.tasks.values():
            wall_ms = (now_ms if task.ended_ms is None else task.ended_ms) - task.created_ms
            assert sum(times_of(state, task, now_ms).values()) == wall_ms, task.id
            if task.attempt is not None:
                attempt_ms = sum(times_of_attempt(state, task, task.attempt, now_ms).values())
                assert attempt_ms == now_ms - task.attempt.started_ms
        for run in state.runs.values():
            path = critical_path(state, run, now_ms)
            assert sum(path.times.values()) == now_ms - run.started_ms
    for summary in world.state.finished:
        assert sum(summary.times.values()) == summary.ended_ms - summary.started_ms


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_a_step_takes_the_time_since_it_began_less_what_is_counted(data: st.DataObject) -> None:
    world = team_world(agent("bob", "dig"))
    world.order(Submit(request="go"))
    (key,) = world.started
    began_ms = world.now_ms
    painted: dict[int, str] = {}
    for number, (pause_ms, duration_ms, what) in enumerate(data.draw(STEPS)):
        world.now_ms += pause_ms
        if what == "failed call":
            world.say(
                ModelErred(
                    task_id=key[0],
                    attempt=key[1],
                    model="fast",
                    error="no",
                    error_type="server",
                    duration_ms=duration_ms,
                )
            )
        else:
            world.record(key, f"step {number}", what=what, duration_ms=duration_ms)
        for moment in range(max(began_ms, world.now_ms - duration_ms), world.now_ms):
            painted.setdefault(moment, "model" if what == "failed call" else what)
    world.now_ms += 5

    task = world.state.tasks[key[0]]
    assert task.attempt is not None
    expected = Counter(painted.get(moment, "code") for moment in range(began_ms, world.now_ms))
    assert times_of_attempt(world.state, task, task.attempt, world.now_ms) == dict(expected)


CHILD = st.tuples(st.integers(0, 3), st.lists(st.integers(0, 12), min_size=2, max_size=4))


@settings(max_examples=examples(80), deadline=None)
@given(children=st.lists(CHILD, max_size=7))
def test_the_critical_path_is_the_deepest_task_that_ended_last(children: list[tuple[int, list[int]]]) -> None:
    end_ms = 40
    state = State(at_ms=end_ms)
    state.runs["r1"] = run = Run(id="r1", supervisor_id="s1", request="", title="", root_id="t0")
    add_task(state, 0, None, [(end_ms, REST)])
    for number, (parent, lengths) in enumerate(children, 1):
        # It waits for others, is at work, and so on.
        spans = [(length, (BLOCKED, MODEL, BLOCKED, TOOL)[place]) for place, length in enumerate(lengths)]
        add_task(state, number, f"t{min(parent, number - 1)}", spans)

    expected = Counter(kind_at(state, state.tasks["t0"], moment) for moment in range(end_ms))

    assert critical_path(state, run, end_ms).times == dict(expected)


def add_task(state: State, number: int, parent_id: str | None, spans: list[tuple[int, int]]) -> None:
    """Add a task that has ended, and below which others may be put."""
    children: list[str] = []
    task = Task(
        id=f"t{number}", run_id="r1", parent_id=parent_id, supervisor_id="s1", kind="agent", title="",
        children=children, spans=tuple(chain(*spans)), status=TaskStatus.DONE,
        ended_ms=sum(duration_ms for duration_ms, _ in spans),
    )  # fmt: skip
    state.tasks[task.id] = task
    if parent_id is not None:
        siblings = state.tasks[parent_id].children
        assert isinstance(siblings, list)
        siblings.append(task.id)


def kind_at(state: State, task: Task, moment: int) -> str:
    """Return the kind of the time of the deepest open task below one at a moment, by looking at every one."""
    open_children = [
        (-end_ms, int(child_id[1:]), state.tasks[child_id])
        for child_id in task.children
        for since_ms, end_ms in stretches(state.tasks[child_id])
        if since_ms <= moment < end_ms
    ]
    if open_children:
        return kind_at(state, min(open_children)[2], moment)
    ends = accumulate(task.spans[::2])
    return next(KIND_OF[code] for code, end_ms in zip(task.spans[1::2], ends, strict=True) if moment < end_ms)


def stretches(task: Task) -> list[tuple[int, int]]:
    """Return the times in which a task was open."""
    found: list[tuple[int, int]] = []
    at_ms = 0
    for duration_ms, code in zip(task.spans[::2], task.spans[1::2], strict=True):
        end_ms = at_ms + duration_ms
        if code != BLOCKED and end_ms > at_ms:
            found.append((at_ms, end_ms))
        at_ms = end_ms
    return found
