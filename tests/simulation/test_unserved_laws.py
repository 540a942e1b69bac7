"""Work that nobody may take, over acts of an operator: a person is asked about exactly that."""

from hypothesis import given
from hypothesis import strategies as st

from engine.core.commands import AddAgent, Answer, Pause, RemoveMember, Resume
from engine.core.queries.work.unserved import unserved_queues
from tests.story import attempt, submitted, works
from tests.world import World, agent, team_world

ACTS = ["pause", "resume", "drain", "end", "wait", "retry", "fail", "add"]


@given(st.data())
def test_nothing_waits_for_nobody_without_a_question_or_the_word_of_a_person(data: st.DataObject) -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "ada", [1, 2, 3])
    for act in data.draw(st.lists(st.sampled_from(ACTS), max_size=12)):
        _act(world, act)
        asked = [question.subject for question in world.state.escalations.values() if question.kind == "nobody"]
        about = [world.state.tasks[task_id].queue for task_id in asked]
        unserved = [queue.key for queue in unserved_queues(world.state) if not queue.patient]
        assert sorted(map(str, about)) == sorted(unserved)
        ada = next((one for one in world.state.agents.values() if one.name == "ada"), None)
        if ada is not None and ada.removing and ada.paused and world.state.queues[f"agent:{ada.id}"].ready:
            assert asked or world.state.queues[f"agent:{ada.id}"].patient


def _act(world: World, act: str) -> None:
    match act:
        case "pause" | "resume":
            world.order(Pause(target="ada") if act == "pause" else Resume(target="ada"))
        case "drain":
            world.order(RemoveMember(target="ada", mode="drain"))
        case "end" if "ada" in works(world):
            world.succeed(attempt(world, "ada"))
        case "add":
            world.order(AddAgent(supervisor=None, spec=agent(f"bob{len(world.journal)}", "sum")))
        case "wait" | "retry" | "fail" if world.state.escalations:
            world.order(Answer(escalation=next(iter(world.state.escalations)), answer=act))
