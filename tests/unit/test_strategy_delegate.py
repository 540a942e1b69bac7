"""One leads and asks the others; without a lead the best match does it alone."""

from engine.core.commands import Submit, SwitchStrategy
from engine.core.options import SupervisorOptions
from engine.core.state import RunStatus, TaskStatus
from tests.story import applied, attempt, done, ended, only, refused, seen_by, submitted, works
from tests.world import World, agent, team_world


def led(lead: str | None = "ada") -> World:
    members = [agent("ada"), agent("bob", "cooking"), agent("cyd", "sewing")]
    return team_world(*members, mode="delegate", options=SupervisorOptions(lead=lead))


def test_the_lead_gets_the_request_and_what_it_says_is_the_output() -> None:
    world = led()
    submitted(world)
    assert works(world) == ["ada"]
    world.ask(attempt(world, "ada"), "cooking", ["soup"])
    assert works(world) == ["ada", "bob"]
    done(world, "bob", "soup is ready")
    done(world, "ada", "dinner")

    assert ended(world).output == "dinner"


def test_without_a_lead_the_one_that_matches_best_gets_it() -> None:
    world = led(None)
    submitted(world, "some sewing has to be done")

    assert works(world) == ["cyd"]


def test_without_a_lead_and_a_match_a_request_is_refused() -> None:
    assert "no agent can" in refused(led(None), Submit(request="prove the theorem"))


def test_switching_to_it_without_a_lead_is_refused() -> None:
    world = team_world(agent("ada"), agent("bob"))

    assert "no lead" in refused(world, SwitchStrategy(mode="delegate"))
    assert "did you mean ada" in refused(world, SwitchStrategy(mode="delegate", lead="adda"))


def test_switched_to_what_has_not_started_is_dropped_and_the_lead_gets_all_outputs() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), agent("dan"))
    submitted(world)
    done(world, "ada")

    event = only(world.order(SwitchStrategy(mode="delegate", lead="dan")), "strategy_switched")

    assert [world.state.tasks[one].title for one in event.groups[0].removed] == ["cyd"]
    done(world, "bob")
    assert seen_by(world, "dan") == ["from ada", "from bob"]
    done(world, "dan", "all of it")
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "all of it")


def test_a_lead_that_is_done_leads_in_a_node_of_its_own() -> None:
    world = team_world(agent("ada"), agent("bob"))
    submitted(world)
    done(world, "ada")
    applied(world, SwitchStrategy(mode="delegate", lead="ada"))
    done(world, "bob")

    assert seen_by(world, "ada") == ["from ada", "from bob"]


def test_switched_from_the_lead_stops_its_text_is_context_and_its_delegations_become_nodes() -> None:
    world = led()
    submitted(world)
    lead = attempt(world, "ada")
    world.ask(lead, "cooking", ["soup", "bread"])
    soup = attempt(world, "bob")

    event = only(world.order(SwitchStrategy(mode="sequential")), "strategy_switched")

    (change,) = event.groups
    assert (change.cancelled, change.adopted) == ([lead[0]], [soup[0]])
    assert [world.state.tasks[one].error for one in change.removed] == ["strategy switched"]
    assert world.state.tasks[change.removed[0]].status is TaskStatus.SKIPPED
    world.stop(lead, "half a plan")
    world.succeed(soup, "soup is ready")
    assert works(world) == ["cyd"]
    assert seen_by(world, "cyd") == ["half a plan", "soup is ready"]
    done(world, "cyd", "sewn")
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "sewn")
