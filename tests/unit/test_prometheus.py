"""The team as Prometheus reads it: what ended is counted once, what is known is added up."""

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.web.prometheus import BUCKETS_S, Counts, Metrics, exposition
from engine.core.activities import Activities
from engine.core.commands import Cancel, SupervisorSpec
from engine.core.errors import BadValue
from engine.core.records.values import Usage
from engine.core.signals import EngineBegan, PersonAsked, StepFinished
from engine.core.specs.options import SupervisorOptions
from engine.core.state import State
from tests.databases import write_database
from tests.exports import exported, ready
from tests.story import attempt, submitted
from tests.world import World, agent, team_world


def samples(text: str) -> dict[str, float]:
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[:1] != "#"}


def counted(work: World, *, since: int = 0) -> dict[str, float]:
    """Return what a server says that started after so many events."""
    before = Counts(State())
    before.fold(work.journal[:since])
    counts = Counts(before.state)
    counts.fold(work.journal[since:])
    return samples(exposition(counts, Activities(counts.state, {}, counts.state.at_ms), engine_up=True))


def ended(said: dict[str, float], supervisor: str, status: str) -> float:
    return said.get(f'quarterdeck_tasks_total{{supervisor="{supervisor}",status="{status}"}}', 0.0)


def one_run_of_two() -> World:
    """A run in which one has done its task and one has failed."""
    work = team_world(agent("ada", "parse"), agent("bob", "write"), mode="parallel")
    submitted(work)
    work.succeed(attempt(work, "ada"), usage=Usage(tokens_in=40, tokens_out=2))
    work.fail(attempt(work, "bob"))
    work.settle()
    return work


def test_tasks_are_counted_by_supervisor_and_outcome_also_after_their_run_left_the_state() -> None:
    work = one_run_of_two()
    assert work.state.tasks == {}
    said = counted(work)

    assert ended(said, "chief", "failed") >= 1
    assert ended(said, "chief", "done") >= 1
    assert said['quarterdeck_tokens_total{kind="in"}'] == 40
    assert said['quarterdeck_tokens_total{kind="out"}'] == 2
    assert "quarterdeck_cost_usd_total" not in said


def test_each_task_is_counted_once_however_the_journal_is_cut() -> None:
    work = one_run_of_two()
    whole = Counter({key: value for key, value in counted(work).items() if key.startswith("quarterdeck_tasks_total")})

    for cut in range(len(work.journal) + 1):
        before, after = World(), counted(work, since=cut)
        before.journal = work.journal[:cut]
        parts = Counter(counted(before)) + Counter(after)
        assert {key: parts[key] for key in whole} == whole, cut


def test_tasks_that_an_import_brings_already_ended_are_not_counted() -> None:
    there = team_world(agent("ada", "parse"), agent("bob", "write"), mode="parallel")
    submitted(there)
    there.succeed(attempt(there, "ada"))
    here = World()
    here.say(EngineBegan(pid=1, token=1, version="test", processes=1))
    here.say(ready(*exported(there)))
    assert ended(counted(here), "chief", "done") == 0

    here.succeed(attempt(here, "bob"))
    here.settle()

    assert here.state.tasks == {}
    assert ended(counted(there), "chief", "done") == 1
    assert ended(counted(here), "chief", "done") == 3  # the other one, the join, and the group of both


def test_what_waits_and_what_is_cancelled_is_told() -> None:
    work = team_world(agent("ada", "parse"))
    first, second = submitted(work), submitted(work)
    assert counted(work)['quarterdeck_queue{supervisor="chief"}'] == 1

    work.order(Cancel(target=second))
    work.succeed(attempt(work, "ada"))
    work.settle()
    said = counted(work)

    assert first != second
    assert said['quarterdeck_queue{supervisor="chief"}'] == 0
    assert ended(said, "chief", "cancelled") >= 1


def test_agents_are_counted_by_what_they_do_and_open_questions_by_their_kind() -> None:
    work = team_world(agent("ada", "parse"), agent("bob", "write"), mode="parallel")
    submitted(work)
    task_id, number = attempt(work, "bob")
    work.say(
        PersonAsked(task_id=task_id, attempt=number, generation=1, key="ask:1", kind="ask", question="go?", options=[])
    )

    said = counted(work)

    agents = {key: value for key, value in said.items() if key.startswith("quarterdeck_agents{") and value}
    assert agents == {
        'quarterdeck_agents{supervisor="chief",activity="working"}': 1,
        'quarterdeck_agents{supervisor="chief",activity="person"}': 1,
    }
    assert said['quarterdeck_questions_open{supervisor="chief",kind="ask"}'] == 1
    assert said['quarterdeck_questions_open{supervisor="chief",kind="budget"}'] == 0


def test_steps_are_a_histogram_that_adds_up() -> None:
    work = team_world(agent("ada", "parse"))
    submitted(work)
    key = attempt(work, "ada")
    for place, took_ms in enumerate((3, 70, 700_000)):
        said = StepFinished(
            task_id=key[0], attempt=key[1], name="s", key=f"s{place}", output=place, duration_ms=took_ms
        )
        work.say(said)
    text = counted(work)
    buckets = [text[f'quarterdeck_step_seconds_bucket{{what="code",le="{edge:g}"}}'] for edge in BUCKETS_S]

    assert buckets == sorted(buckets)
    assert (buckets[0], buckets[2], buckets[-1]) == (1, 2, 2)
    assert text['quarterdeck_step_seconds_bucket{what="code",le="+Inf"}'] == 3
    assert text['quarterdeck_step_seconds_count{what="code"}'] == 3
    assert text['quarterdeck_step_seconds_sum{what="code"}'] == 700.073


def test_only_the_token_is_let_in(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "team.db", "a-long-random-word")

    assert metrics.is_authorized("Bearer a-long-random-word")
    assert not any(map(metrics.is_authorized, (None, "", "Bearer", "Bearer x", "Basic a-long-random-word", "Bearer ü")))


def test_what_is_appended_between_two_looks_is_counted(tmp_path: Path) -> None:
    db, work = tmp_path / "team.db", one_run_of_two()
    write_database(db, work.journal[:4])
    metrics = Metrics(db, "a-long-random-word")
    metrics.text()
    write_database(db, work.journal[4:])

    assert ended(samples(metrics.text()), "chief", "done") >= 1


def labelled_world(*keys: str) -> World:
    return team_world(agent("ada"), options=SupervisorOptions(metric_labels=keys))


def test_runs_and_tasks_have_the_labels_that_the_supervisor_at_the_top_lists_and_no_others() -> None:
    below = SupervisorSpec(name="below", members=[agent("bob")], options=SupervisorOptions(metric_labels=["env"]))
    work = team_world(agent("ada"), below, options=SupervisorOptions(metric_labels=["team"]))
    submitted(work, labels={"team": 'a "b\\', "env": "prod"})
    submitted(work, labels={"env": "prod"}, supervisor="below")
    work.settle()
    said = counted(work)

    assert said['quarterdeck_runs_total{supervisor="chief",status="done",team="a \\"b\\\\"}'] == 1
    assert ended(said, "below", "done") == 2  # the task of bob, and the group
    assert said['quarterdeck_tasks_total{supervisor="below",status="done",team="a \\"b\\\\"}'] == 2
    assert not any("env=" in key for key in said)
    assert ended(counted(team_world(agent("ada"))), "chief", "done") == 0


def test_tokens_and_money_are_told_by_label_since_the_server_started_also_of_open_runs() -> None:
    work = labelled_world("team")
    submitted(work, labels={"team": "web"})
    key = attempt(work, "ada")
    work.record(key, "one", usage=Usage(tokens_in=40, cost_usd=Decimal("0.5")))
    since = len(work.journal)
    work.record(key, "two", usage=Usage(tokens_in=2))
    tokens = 'quarterdeck_label_tokens_total{team="web",kind="in"}'
    assert (counted(work)[tokens], counted(work, since=since)[tokens]) == (42, 2)

    work.succeed(key, usage=Usage(tokens_in=8, tokens_out=1, cost_usd=Decimal("0.25")))
    work.settle()

    assert (counted(work)[tokens], counted(work, since=since)[tokens]) == (50, 10)
    assert counted(work)['quarterdeck_label_cost_usd_total{team="web"}'] == 0.75


values = st.tuples(st.sampled_from(["web", "search", "ads"]), st.integers(0, 70))


@given(st.lists(st.tuples(values, values), min_size=1, max_size=60))
def test_values_are_bounded_a_sample_never_falls_and_other_stays_other(runs: list[tuple[Any, Any]]) -> None:
    work, counts = labelled_world("team", "env"), Counts(State())
    for number in range(49):  # one value short of the limit
        submitted(work, labels={"team": f"early-{number}"})
    seen, before = 0, dict[str, float]()
    for (name, number), (other_name, other) in runs:
        submitted(work, labels={"team": f"{name}-{number}", "env": f"{other_name}-{other}"})
        work.settle()
        counts.fold(work.journal[seen:])
        seen = len(work.journal)
        text = exposition(counts, Activities(counts.state, {}, counts.state.at_ms), engine_up=True)
        said = {key: value for key, value in samples(text).items() if "_total" in key}
        assert all(said.get(key, 0.0) >= value for key, value in before.items())
        before = said
    teams = {part for key in before for part in re.findall(r'team="([^"]*)"', key)}

    assert len(teams - {"other"}) <= 50
    assert ("other" in teams) == (len({team for team, _ in runs}) > 1)
    runs_by_label = sum(value for key, value in before.items() if key.startswith("quarterdeck_runs_total"))
    assert runs_by_label == len(runs) + 49


@pytest.mark.parametrize("key", ["status", "a-b", "Team", ""])
def test_a_key_that_no_sample_can_have_is_refused(key: str) -> None:
    with pytest.raises(BadValue, match="metric_labels"):
        SupervisorOptions(metric_labels=[key])
