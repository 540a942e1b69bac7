"""Who is chosen by what agents did before at work of the same category."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.fold import fold
from engine.core.records.values import Usage
from engine.core.specs.options import SupervisorOptions
from engine.core.state import MAX_LAST_TASKS, EndedTask, State
from tests.chance import worlds
from tests.depth import examples
from tests.legal import assert_legal
from tests.story import attempt, submitted
from tests.world import World, agent, team_world

NAMES = ("ada", "bob", "cyd")
KINDS = ("research", "writing")
WORK = st.tuples(st.sampled_from(KINDS), st.sampled_from([10, 100, 1_000, 10_000]), st.booleans())
Figures = dict[tuple[str, str], list[tuple[int, bool]]]
"""How long each attempt took and whether it ended well, by agent and category."""


@given(st.data())
def test_work_of_a_category_goes_to_nobody_than_whom_another_is_better_at_it(data: st.DataObject) -> None:
    options = SupervisorOptions(balance="track_record", strategies=dict.fromkeys(KINDS, "sequential"))
    members = [agent("lead"), *(agent(name, "sum") for name in NAMES)]
    world = team_world(*members, participants=["lead"], options=options)
    past: Figures = {(name, kind): [] for name in NAMES for kind in KINDS}
    for kind, ms, is_done in data.draw(st.lists(WORK, min_size=4, max_size=30)):
        submitted(world, category=kind)
        world.ask(attempt(world, "lead"), "sum", ["1 + 1"])
        chosen = next(start.agent for start in world.started.values() if start.agent != "lead")

        tried = {name: mine for name in NAMES if (mine := past[name, kind])}
        if len(tried) < len(NAMES):
            assert chosen not in tried
        else:
            assert not any(_is_better(tried[other], tried[chosen]) for other in NAMES)

        past[chosen, kind].append((ms, is_done))
        end = world.succeed if is_done else world.fail
        end(attempt(world, chosen), usage=Usage(time_ms=ms))
        world.settle()
    assert_legal(world.state)


@settings(max_examples=examples(40))
@given(worlds())
def test_an_agent_remembers_the_last_tasks_that_ended_with_it(world: World) -> None:
    state, known = State(), dict[str, list[EndedTask]]()
    for event in world.journal:
        was_ended = {task.id for task in state.tasks.values() if task.ended}
        fold(state, [event])
        for task in state.tasks.values():
            last = known.setdefault(task.agent_id or "", [])
            if not task.ended and task.id in was_ended:
                last[:] = [ended for ended in last if ended.task_id != task.id]
            if task.ended and task.id not in was_ended and task.kind == "agent":
                last += [EndedTask(task_id=task.id, title=task.title, status=task.status, ended_ms=event.at_ms)]

    for one in state.agents.values():
        assert sorted(one.last_tasks, key=_when) == sorted(known.get(one.id, [])[-MAX_LAST_TASKS:], key=_when)


def _when(ended: EndedTask) -> tuple[int, str]:
    return ended.ended_ms, ended.task_id


def _is_better(one: list[tuple[int, bool]], than: list[tuple[int, bool]]) -> bool:
    """Return whether attempts took less time on average, and at least as large a share of them ended well, of no more.

    Of more attempts the same share counts for less: the rank adds a success to both, which weighs most where few are.
    """
    if not any(is_done for _, is_done in one):
        return False
    if not any(is_done for _, is_done in than):
        return True
    # One microsecond: means are compared in whole ones.
    quicker = _mean_ms(one) + 0.001 < _mean_ms(than)
    return quicker and _share(one) >= _share(than) and len(one) <= len(than)


def _mean_ms(attempts: list[tuple[int, bool]]) -> float:
    return sum(ms for ms, _ in attempts) / len(attempts)


def _share(attempts: list[tuple[int, bool]]) -> float:
    return sum(is_done for _, is_done in attempts) / len(attempts)
