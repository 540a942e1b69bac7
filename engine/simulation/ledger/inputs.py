"""What a task sees of the graphs around it, and what a join comes to: from the ledgers alone."""

from typing import Protocol

from engine.core.state import TaskStatus
from engine.joins import Result, join
from engine.simulation.ledger.counts import Joined
from engine.simulation.ledger.jobs import Job
from engine.simulation.ledger.team import TeamLedger
from engine.simulation.ledger.work import WorkLedger


class Books(Protocol):
    """Who is there, and what is to be done."""

    team: TeamLedger
    work: WorkLedger


def before_in_graph(books: Books, job: Job) -> list[Job]:
    """Return what a task sees of its graph: what it was told to see, else all work before it, as planned."""
    jobs = books.work.jobs
    if job.sees is not None:
        return [jobs[one] for one in job.sees if jobs[one].kind != "check"]
    reached = set(job.after)
    while True:
        further = reached | {before for one in reached for before in jobs[one].after}
        if further == reached:
            break
        reached = further
    siblings = jobs[job.parent_id].children if job.parent_id is not None else []
    return [jobs[one] for one in siblings if one in reached and jobs[one].kind in ("agent", "group")]


def inputs_of(books: Books, job: Job) -> list[Job]:
    """Return the tasks whose outputs a task is given: of the graphs around its own first, then of its own."""
    if job.takes == "own":
        return []
    found: list[Job] = []
    for one in books.work.up(job):
        if one.takes != "own" and (one.after or one.sees):
            found = [*before_in_graph(books, one), *found]
        if one.call_key is not None:
            break
    return [one for one in found if one.output is not None]


def joined(books: Books, job: Job) -> Joined:
    """Return what a join gets when it begins, and what that is together."""
    done = [one for one in before_in_graph(books, job) if one.outcome is TaskStatus.DONE]
    seen = [one for one in done if one.output is not None or job.join == "list"]
    results = [Result(_worker(books, one), one.title, one.output, one.ended_ms) for one in seen]
    return Joined([one.id for one in seen], join(job.join or "concat", results))


def _worker(books: Books, job: Job) -> str:
    worker = job.agent_id or job.worker_id or ""
    member = books.team.agents.get(worker) or books.team.supervisors.get(worker)
    return member.name if member is not None else job.title
