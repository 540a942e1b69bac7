"""Tasks of runs that are over, out of the journal, say what they said while their run was open."""

from collections.abc import Sequence
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.event_log import Entry
from dashboard.views.facts.ended import SPENDS, STARTS_AND_ENDS, EndedTaskIndex, ended_tasks_in
from dashboard.views.measures.digest import make_digest
from dashboard.views.tasks import tasks
from dashboard.views.words.names import Names
from engine.core.commands import Answer, Cancel, Pause, Resume, SetDeadline
from engine.core.events import Event
from engine.core.records.values import Usage
from engine.core.specs.spec import Escalate, Retry
from tests.story import attempt, done, submitted
from tests.world import World, agent, team_world

PAID = Usage(tokens_in=100, tokens_out=20, cost_usd=Decimal("0.01"), time_ms=5)
HEADS = ("STATE", "WHY, OR HOW FAR", "TRY", "SINCE", "TOOK", "TOKENS", "COST")
"""What a task is told by, once it has ended."""


def entries(events: Sequence[Event]) -> list[Entry]:
    return [Entry(seq, one.at_ms, one.type, one) for seq, one in enumerate(events, 1)][::-1]


def read(work: World) -> list[Entry]:
    return [one for one in entries(work.journal) if one.kind in SPENDS]


def names(work: World) -> Names:
    known = Names()
    known.learn(work.journal)
    known.learn_state(work.state)
    return known


def rows(work: World) -> dict[str, dict[str, str]]:
    """Return what the table says of each task of an agent, by its title."""
    state = work.state
    ended = ended_tasks_in(read(work), names(work))
    listing = tasks(state, make_digest(state), {}, now_ms=work.now_ms, ended_tasks=ended)
    found: dict[str, dict[str, str]] = {}
    for key in listing.keys:
        cells = dict(zip((column.title for column in listing.columns), listing.make(key), strict=True))
        if cells["AGENT"].text != "engine":
            found[cells["TASK"].text] = {head: cells[head].text for head in HEADS if head in cells}
    return found


def asked(work: World, name: str) -> str:
    return next(one.id for one in work.state.escalations.values() if work.state.tasks[one.subject].title == name)


def eventful() -> World:
    """Return a team whose tasks ended in every way, but for the one of `last`."""
    ask, again = [Escalate(60)], [Retry(1, 1.0, 1.0)]
    members = [
        agent("steps"), agent("again", on_failure=again), agent("skipped", on_failure=ask),
        agent("used", on_failure=ask), agent("rejected", on_failure=ask), agent("stopped"),
        agent("dropped", on_failure=again), agent("late"), agent("last"),
    ]  # fmt: skip
    work = team_world(*members, mode="parallel", max_parallel=20)
    submitted(work)
    work.record(attempt(work, "steps"), "look", usage=PAID)
    work.record(attempt(work, "steps"), "think", usage=PAID)
    done(work, "steps")
    work.record(attempt(work, "again"), "look", usage=PAID)
    for name in ("again", "skipped", "used", "rejected", "dropped"):
        work.now_ms += 10
        work.fail(attempt(work, name), usage=PAID, duration_ms=10)
    work.due(next(one for one in work.state.timers if one.startswith("retry:")))
    done(work, "again")
    work.now_ms += 5_000
    work.order(Answer(escalation=asked(work, "skipped"), answer="skip"))
    work.order(Answer(escalation=asked(work, "used"), answer="use", output="by hand"))
    work.order(Answer(escalation=asked(work, "rejected"), answer="reject"))
    work.order(Cancel(target=attempt(work, "stopped")[0], reason="the wrong folder"))
    work.stop(attempt(work, "stopped"), usage=PAID)
    work.order(Cancel(target=next(one.id for one in work.state.tasks.values() if one.title == "dropped")))
    late = attempt(work, "late")[0]
    work.order(SetDeadline(target=late, deadline_s=60))
    work.due(f"deadline:{late}")
    work.stop(attempt(work, "late"), usage=PAID)
    return work


def test_a_task_says_the_same_once_its_run_is_over() -> None:
    work = eventful()
    while_open = rows(work)
    work.settle()

    assert not work.state.tasks
    told = rows(work)
    assert {name: told[name] for name in while_open if name != "last"} == {
        name: row for name, row in while_open.items() if name != "last"
    }
    assert {name: row["STATE"].split()[-1] for name, row in told.items()} == {
        "steps": "done", "again": "done", "skipped": "skipped", "used": "done", "rejected": "failed",
        "stopped": "cancelled", "dropped": "cancelled", "late": "failed", "last": "done",
    }  # fmt: skip
    assert (told["steps"]["TOKENS"], told["steps"]["COST"]) == ("240", "0.0200")
    assert told["stopped"]["WHY, OR HOW FAR"] == "the wrong folder"


def test_what_tasks_have_spent_adds_up_to_what_their_run_has_spent() -> None:
    work = team_world(agent("chief"), agent("ada"), agent("bob"), mode="parallel", participants=["chief"])
    submitted(work)
    chief = attempt(work, "chief")
    work.record(chief, "plan", usage=PAID)
    work.ask(chief, "ada", ["one"])
    work.succeed(attempt(work, "ada"), usage=PAID)
    while_open = rows(work)["chief"]
    work.settle()

    assert (while_open["TOKENS"], while_open["COST"]) == ("120", "0.0100")
    ended = ended_tasks_in(read(work), names(work))
    spent = [one.usage for one in ended if one.usage is not None]
    assert len(spent) == len(ended) == 2
    assert sum((one.cost_usd or 0) for one in spent) == work.state.finished[-1].usage.cost_usd == Decimal("0.02")


def test_what_a_task_has_spent_is_unknown_where_its_beginning_was_not_read() -> None:
    work = eventful()
    work.settle()
    (whole,) = [one for one in ended_tasks_in(read(work), names(work)) if one.title == "steps"]
    later = [one for one in read(work) if one.seq >= whole.seq]
    (ended,) = [one for one in ended_tasks_in(later, names(work)) if one.title == "steps"]

    assert whole.usage is not None
    assert (ended.usage, ended.status) == (None, whole.status)


WORK = eventful()
WORK.settle()
EVENTS = read(WORK)


@given(st.lists(st.tuples(st.integers(0, len(EVENTS)), st.integers(1, len(EVENTS))), max_size=8))
def test_what_was_spent_is_followed_as_it_is_read_anew(looks: list[tuple[int, int]]) -> None:
    followed, known = EndedTaskIndex(), names(WORK)
    for newer, many in looks:
        window = EVENTS[newer : newer + many]
        for one, other in zip(followed.update(window, known), ended_tasks_in(window, known), strict=True):
            assert (one.id, one.status, one.ended_ms) == (other.id, other.status, other.ended_ms)
            assert one.usage == other.usage or other.usage is None  # more may be known of what has left the window


def test_a_task_that_was_set_aside_took_all_the_time_since_it_began() -> None:
    work = team_world(agent("ada"))
    submitted(work)
    key = attempt(work, "ada")
    work.now_ms += 60_000
    work.order(Pause(target="ada", now=True))
    work.stop(key)
    work.now_ms += 60_000
    work.order(Resume(target="ada"))
    done(work, "ada")
    kept = [entry for entry in read(work) if entry.kind in STARTS_AND_ENDS]

    (task,) = ended_tasks_in(kept, names(work))

    assert task.attempts == 2
    assert task.took_ms == task.ended_ms - task.started_ms >= 120_000
