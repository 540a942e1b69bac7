"""What the dashboard says unasked."""

from dashboard.views.measures.digest import make_digest
from dashboard.views.words.news import News
from engine.core.commands import Submit
from tests.world import World, agent, team_world


def asked(work: World, request: str) -> None:
    work.order(Submit(request=request))


def test_a_run_that_ends_while_somebody_looks_is_said_once() -> None:
    work, news = team_world(agent("ada", "a")), News()
    assert news.of(work.state, make_digest(work.state), caught_up=True) is None
    asked(work, "audit")
    work.settle()

    told = news.of(work.state, make_digest(work.state), caught_up=True)

    assert told is not None
    assert told.text.startswith("✓ audit is done after")
    assert news.of(work.state, make_digest(work.state), caught_up=True) is None


def test_runs_that_had_ended_before_are_no_news_and_a_failed_one_is() -> None:
    work, news = team_world(agent("ada", "a")), News()
    asked(work, "audit")
    work.settle()
    assert news.of(work.state, make_digest(work.state), caught_up=False) is None
    assert news.of(work.state, make_digest(work.state), caught_up=True) is None

    asked(work, "again")
    work.fail(next(iter(work.started)))
    told = news.of(work.state, make_digest(work.state), caught_up=True)

    assert told is not None
    assert told.text == "✕ again has failed · 7 and enter show why"
