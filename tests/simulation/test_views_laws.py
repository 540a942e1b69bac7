"""Laws of the views: whatever has happened, they draw it, and they change nothing."""

from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.actions.command_line import completions
from dashboard.views.agents import ORDERS as AGENT_ORDERS
from dashboard.views.agents import agents
from dashboard.views.changes.outcomes import rehearse
from dashboard.views.changes.swaps import candidate_line
from dashboard.views.changes.targets import agent_behind, describe_work, supervisor_behind, target_of
from dashboard.views.drawing.rows import Listing
from dashboard.views.facts.pages import agent_page, run_page, task_page
from dashboard.views.facts.spec_fields import spec_changes
from dashboard.views.header import banner, left_cells, restart_lines, right_cells
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.strip import strip
from dashboard.views.network import Folding, network
from dashboard.views.runs import runs
from dashboard.views.situation import Situation
from dashboard.views.tasks import ORDERS as TASK_ORDERS
from dashboard.views.tasks import tasks
from dashboard.views.words.names import JournalTexts, Names
from dashboard.views.words.sentences import sentence
from engine.core.commands import Answer, Command, Resume, RetryWork
from engine.core.encoding.codec import encode_state
from engine.core.queries.people.needs import needs_person
from engine.core.queries.targets import id_target
from engine.core.queries.team.replacements import replacements
from engine.core.state import State, TaskStatus
from tests.chance import worlds
from tests.depth import examples
from tests.world import World

some = settings(max_examples=examples(6), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
needles = st.sampled_from(["", "ada", "below busy", "nothing like it", "parse"])


def listings(state: State, needle: str, now_ms: int) -> list[Listing]:
    counts = make_digest(state)
    return [
        network(state, counts, {}, now_ms=now_ms, folding=Folding(2), needle=needle),
        network(state, counts, {}, now_ms=now_ms, folding=Folding(1_000), needle=needle),
        *(agents(state, counts, {}, now_ms=now_ms, order=order, needle=needle) for order in AGENT_ORDERS),
        *(tasks(state, counts, {}, now_ms=now_ms, order=order, needle=needle) for order in TASK_ORDERS),
        runs(state, counts, now_ms=now_ms, needle=needle),
    ]


def pages(state: State, now_ms: int) -> None:
    counts = make_digest(state)
    for agent in state.agents.values():
        agent_page(state, agent.id, counts, {}, (), now_ms=now_ms)
        describe_work(agent, state)
        for name in replacements(state, [agent]):
            candidate_line(state, [agent], name)
            spec_changes(state.spec_of(agent), state.specs[state.registry[name]])
    for task_id in [*state.tasks, "t999"]:
        task_page(state, task_id, counts, {}, JournalTexts(), (), now_ms=now_ms)
    for run_id in [*state.runs, *(run.id for run in state.finished), "r999"]:
        run_page(state, run_id, counts, JournalTexts(), now_ms=now_ms)


@some
@given(worlds(), needles)
def test_every_view_draws_every_state_and_leaves_it_as_it_was(world: World, needle: str) -> None:
    state, before = world.state, encode_state(world.state)
    situation = Situation(db="team.db", engine=None, now_ms=world.now_ms, events_per_s=0.0)

    for listing in listings(state, needle, world.now_ms):
        rows = [listing.cells(index) for index in range(len(listing.keys))]
        assert all(len(cells) <= len(listing.columns) for cells in rows)
        assert len(set(listing.keys)) == len(listing.keys)
        for key in listing.keys:
            target = target_of(state, key)
            agent_behind(state, target)
            supervisor_behind(state, target)
    pages(state, world.now_ms)
    left_cells(state, situation)
    right_cells(state, situation, make_digest(state), brief=False)
    strip(state, make_digest(state), Activity.of(state, world.journal), now_ms=world.now_ms, width=120)
    banner(state, situation, None)
    restart_lines(state, situation)
    needs_person(state)
    completions("swap a", state)

    assert encode_state(state) == before


@some
@given(worlds())
def test_everything_that_needs_a_person_has_an_action_that_is_accepted(world: World) -> None:
    state = world.state
    needs = needs_person(state)

    for need in needs:
        assert rehearse(state, _action_on(state, need), world.now_ms).refusal == "", need
    for task in state.tasks.values():
        if task.status is TaskStatus.FAILED and task.id not in needs and not (task.optional or task.tolerated):
            assert rehearse(state, RetryWork(target=task.id), world.now_ms).refusal


def _action_on(state: State, need: str) -> Command:
    question = state.escalations.get(need)
    if question is not None:
        return Answer(escalation=need, answer=question.options[-1], output="as you like")
    return RetryWork(target=need) if need in state.tasks else Resume(target=id_target(need))


@some
@given(worlds())
def test_every_event_that_happens_has_a_sentence(world: World) -> None:
    names = Names()
    names.learn(world.journal)

    for event in world.journal:
        assert sentence(event, names).text


@some
@given(worlds())
def test_without_a_filter_every_agent_is_in_the_lists(world: World) -> None:
    state = world.state
    counts = make_digest(state)

    tree = network(state, counts, {}, now_ms=world.now_ms, folding=Folding(1_000))
    flat = agents(state, counts, {}, now_ms=world.now_ms)

    assert set(tree.keys) == {*state.agents, *state.supervisors}
    assert set(flat.keys) == set(state.agents)


@some
@given(worlds())
def test_a_row_of_what_is_gone_can_still_be_drawn(world: World) -> None:
    empty = State()
    makers: list[Callable[[State], Listing]] = [
        lambda state: agents(state, make_digest(state), {}, now_ms=0),
        lambda state: tasks(state, make_digest(state), {}, now_ms=0),
        lambda state: runs(state, make_digest(state), now_ms=0),
    ]

    for maker in makers:
        stale = maker(world.state)
        assert all(maker(empty).make(key) for key in stale.keys)
