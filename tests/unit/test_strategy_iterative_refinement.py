"""An author and critics, again and again until the score is high enough."""

from engine.core.state import RunStatus
from tests.story import asked, done, ended, found, only, seen_by, start_of, submitted, works
from tests.world import World, agent, team_world


def refining(**settings: object) -> World:
    world = team_world(agent("ada"), agent("bob"), mode="iterative_refinement", options=options(**settings))
    submitted(world)
    return world


def options(**settings: object) -> object:
    from engine.core.specs.options import SupervisorOptions

    return SupervisorOptions(settings=settings)  # type: ignore[arg-type]


def round_of(world: World, number: int, score: float) -> None:
    done(world, "ada", f"draft {number}")
    done(world, "bob", f"review {number}")
    found(world, score=score, enough=score >= 0.9)


def test_the_first_member_drafts_and_the_others_look_at_the_draft() -> None:
    world = refining()
    assert works(world) == ["ada"]
    done(world, "ada", "draft 1")

    assert (works(world), seen_by(world, "bob")) == (["bob"], ["draft 1"])
    done(world, "bob", "review 1")

    assert asked(world) == ["score ≥ 0.9?"]


def test_a_score_that_is_too_low_brings_another_round_with_the_draft_and_what_was_said() -> None:
    world = refining()
    round_of(world, 1, 0.4)

    assert start_of(world, "ada").takes == "context"
    assert seen_by(world, "ada") == ["draft 1", "review 1"]


def test_the_draft_that_is_good_enough_is_the_output() -> None:
    world = refining()
    round_of(world, 1, 0.4)
    round_of(world, 2, 0.95)

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "draft 2")


def test_after_the_last_round_the_draft_with_the_best_score_is_taken() -> None:
    world = refining(rounds=3)
    for number, score in enumerate((0.4, 0.8, 0.6), 1):
        round_of(world, number, score)

    assert ended(world).output == "draft 2"


def test_a_critic_that_gives_no_score_is_not_content() -> None:
    world = refining(rounds=2)
    done(world, "ada", "draft 1")
    done(world, "bob", "hm")
    events = found(world, score=None, enough=False)

    assert only(events, "group_grown").why == "no score in round 1: once more"
    round_of(world, 2, 0.1)
    assert ended(world).output == "draft 2"


def test_growth_is_one_event_with_the_new_nodes_and_why() -> None:
    world = refining()
    done(world, "ada", "draft 1")
    done(world, "bob", "review 1")

    grown = only(found(world, score=0.5, enough=False), "group_grown")

    assert [node.title for node in grown.added] == ["ada", "bob", "score ≥ 0.9?"]
    assert grown.why == "0.5 in round 1: once more"


def test_who_is_alone_drafts_once() -> None:
    world = team_world(agent("ada"), mode="iterative_refinement")
    submitted(world)
    done(world, "ada")

    assert ended(world).output == "from ada"


def test_a_crash_while_a_draft_is_scored_scores_it_again_and_nothing_twice() -> None:
    world = refining()
    done(world, "ada", "draft 1")
    done(world, "bob", "review 1")

    world.crash()

    assert asked(world) == ["score ≥ 0.9?"]
    found(world, score=1.0, enough=True)
    assert ended(world).output == "draft 1"
    assert [start.agent for start in world.starts] == ["ada", "bob"]
