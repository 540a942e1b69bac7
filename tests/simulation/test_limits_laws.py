"""Laws of deadlines and budgets, for every history."""

from collections.abc import Iterator
from typing import Any, Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.core.commands import Submit
from engine.core.events import AttemptStarted, BudgetExhausted, BudgetExtended, RunFinished, TaskReopened
from engine.core.fold import fold
from engine.core.queries.money.budget import Subject, budgets_of
from engine.core.queries.team.tree import lineage_of
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.options import GRACE_S, SupervisorOptions
from engine.core.state import Run, State, Task
from tests.chance import worlds
from tests.depth import examples
from tests.world import World, agent, team_world

some = settings(max_examples=examples(10), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@some
@given(worlds())
def test_nothing_has_longer_than_what_it_is_part_of(world: World) -> None:
    state = world.state
    for task in state.tasks.values():
        above = state.tasks[task.parent_id] if task.parent_id is not None else state.runs[task.run_id]
        if above.deadline_ms is not None:
            assert task.deadline_ms is not None
            assert task.deadline_ms <= above.deadline_ms


@some
@given(worlds())
def test_what_has_a_deadline_of_its_own_and_no_other_has_a_timer_for_it(world: World) -> None:
    state = world.state
    subjects: list[Run | Task] = [*state.runs.values(), *state.tasks.values()]
    for subject in subjects:
        is_set = f"deadline:{subject.id}" in state.timers
        ended = subject.id in state.tasks and state.tasks[subject.id].ended
        if is_set or not (ended or subject.exceeded):
            assert is_set == (subject.deadline_after_ms is not None)


@some
@given(worlds())
def test_a_run_never_outlives_its_deadline_and_grace_when_agents_obey(world: World) -> None:
    due = {run.id: run.deadline_ms for run in world.state.runs.values() if run.deadline_ms is not None}
    began_ms = world.now_ms

    obey(world)

    ended = {event.run_id: event.at_ms for event in world.journal if isinstance(event, RunFinished)}
    for run_id, due_ms in due.items():
        assert ended[run_id] <= max(began_ms, due_ms) + round(GRACE_S * 1000)


def obey(world: World) -> None:
    """Let agents stop when they are asked to and do nothing else, and every timer come when it is due."""
    while True:
        if world.stopping:
            world.stop(min(world.stopping))
        elif world.joins:
            world.join(next(iter(world.joins)))
        elif world.checks:
            world.find(next(iter(world.checks)))
        elif world.reads:
            world.read(world.reads[0])
        elif world.timers:
            world.due(min(world.timers, key=lambda one: world.timers[one]))
        else:
            return


@some
@given(worlds())
def test_what_agents_report_adds_up_at_every_level(world: World) -> None:
    """Each report is added for everybody who pays for it at that moment, and compared with what the state has."""
    spent: dict[str, Usage] = {}
    begun: dict[str, int] = {}
    before = State()
    for event in world.journal:
        for payer in payers(before, event):
            if getattr(event, "usage", None) is not None:
                spent[payer] = spent.get(payer, Usage()).plus(event.usage)  # type: ignore[attr-defined]
            if isinstance(event, AttemptStarted):
                begun[payer] = begun.get(payer, 0) + 1
        fold(before, (event,))

    state = world.state
    assert state.usage == spent.get("all", Usage())
    for summary in state.finished:
        assert summary.usage == spent.get(summary.id, Usage())
    everybody: list[Subject] = [
        *state.runs.values(),
        *state.tasks.values(),
        *state.agents.values(),
        *state.supervisors.values(),
    ]
    for each in everybody:
        assert (each.usage or Usage()) == spent.get(each.id, Usage())
        assert each.begun == begun.get(each.id, 0)


def payers(state: State, event: Any) -> Iterator[str]:
    """Yield everybody who pays for what an event reports."""
    task = state.tasks.get(getattr(event, "task_id", None) or "")
    if task is None or not event.type.startswith(("attempt_", "step_")):
        return
    agent = state.agents.get(event.agent_id or "")
    if isinstance(event, AttemptStarted) and agent is None:
        return
    yield "all"
    yield task.run_id
    above: Any = task
    while above is not None:
        yield above.id
        above = state.tasks.get(above.parent_id or "")
    if agent is not None:
        yield agent.id
    supervisor = state.supervisors.get(task.supervisor_id if agent is None else agent.supervisor_id)
    if supervisor is not None:
        yield from (one.id for one in lineage_of(state, supervisor))


@some
@given(worlds())
def test_nothing_starts_after_its_budget_is_spent_until_there_is_more(world: World) -> None:
    out: set[str] = set()
    before = State()
    for event in world.journal:
        if isinstance(event, BudgetExhausted):
            out.add(event.subject)
        elif isinstance(event, BudgetExtended | TaskReopened):
            out -= {event.subject} if isinstance(event, BudgetExtended) else set(event.reopened)
        elif isinstance(event, AttemptStarted) and event.agent_id is not None:
            assert out.isdisjoint(payers(before, event)), (event, out)
        fold(before, (event,))


@some
@given(worlds())
def test_what_can_be_shown_of_budgets_is_there_for_everybody(world: World) -> None:
    state = world.state
    for each in (*state.runs, *state.tasks, *state.agents, *state.supervisors):
        for budget in budgets_of(state, each, world.now_ms):
            assert budget.limit > 0
            assert budget.share >= 0


@some
@given(st.data())
def test_no_attempt_goes_on_when_an_amount_that_it_pays_is_spent_whatever_was_spent_before(data: st.DataObject) -> None:
    thens: list[Literal["stop", "ask", "fail"]] = ["stop", "ask", "fail"]
    limits = Limits(attempts=data.draw(st.integers(1, 3)), tokens=1_000, then=data.draw(st.sampled_from(thens)))
    pays = data.draw(st.sampled_from(["run", "agent", "supervisor"]))
    world = team_world(
        agent("ada", max_concurrency=3, limits=limits if pays == "agent" else None),
        agent("bob", max_concurrency=3),
        mode="parallel",
        options=SupervisorOptions(limits=limits if pays == "supervisor" else None),
    )
    for number in range(2):
        world.order(Submit(request=f"request {number}", limits=limits if pays == "run" else None))
    for number in range(data.draw(st.integers(1, 12))):
        at_work = sorted(world.started)
        if not at_work:
            break
        key = data.draw(st.sampled_from(at_work))
        if data.draw(st.integers(0, 3)):
            world.record(key, f"step {number}", usage=Usage(tokens_in=data.draw(st.sampled_from([0, 300, 900]))))
        else:
            world.succeed(key)
        assert list(going_on_spent(world.state)) == []


def going_on_spent(state: State) -> Iterator[tuple[str, str]]:
    """Yield each task at work, not asked to stop, with what has spent its tokens and pays for it."""
    for task in state.tasks.values():
        attempt = task.attempt
        if attempt is None or attempt.agent_id is None or attempt.stopping is not None:
            continue
        began = AttemptStarted(
            task_id=task.id, attempt=attempt.number, agent_id=attempt.agent_id, generation=attempt.generation
        )
        for payer in payers(state, began):
            if any(one.name == "tokens" and one.spent >= one.limit for one in budgets_of(state, payer)):
                yield task.id, payer
