"""The team as Prometheus reads it: what ended is counted once, what is known is added up."""

from collections import Counter
from pathlib import Path

from dashboard.web.prometheus import BUCKETS_S, Counts, Metrics, exposition
from engine.core.activities import Activities
from engine.core.commands import Cancel
from engine.core.records.values import Usage
from engine.core.signals import EngineBegan, PersonAsked, StepFinished
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
