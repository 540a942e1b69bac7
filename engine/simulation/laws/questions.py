"""Questions to a person: each has what asks it, and what waits for a person has its question."""

from typing import Any

from engine.simulation.chronicle import Chronicle
from engine.simulation.laws.registry import When, law
from engine.simulation.ledger.work import Question


@law(When.AFTER_BATCH)
def questions_are_those_that_were_asked(books: Chronicle) -> str | None:
    """The questions that wait are those that were asked and not answered or withdrawn."""
    found, wanted = list(books.state.escalations), list(books.work.questions)
    return None if found == wanted else f"the state has {found}; events left {wanted}"


@law(When.AFTER_BATCH)
def every_question_has_what_asks_it(books: Chronicle) -> str | None:
    """Each question is about something that is there and waits for its answer."""
    for question in books.work.questions.values():
        why = _why_not(books, question)
        if why is not None:
            return f"{question.id} ({question.kind}) is asked about {question.subject}, {why}"
    return None


def _why_not(books: Chronicle, question: Question) -> str | None:
    """Return why nothing waits for an answer; None where something does."""
    job = books.work.jobs.get(question.subject)
    if question.kind == "drain":
        agent = books.team.agents.get(question.subject)
        jobs = books.work.at_work(question.subject)
        old = [job for job in jobs if job.attempt is not None and agent and job.attempt.generation != agent.generation]
        return None if old else "whose swap is drained"
    if question.kind == "budget":
        held = job or books.work.runs.get(question.subject)
        member = books.team.agents.get(question.subject) or books.team.supervisors.get(question.subject)
        is_held = (held is not None and held.held) or (member is not None and member.held)
        return None if is_held else "which is not held"
    if job is None or job.outcome is not None:
        return "which is not open"
    if job.attempt is not None or job.question is None:
        return "which is at work, or waits for nobody"
    return None if question.kind != "doubt" or job.calling else "which is not in doubt"


@law(When.AFTER_BATCH)
def whoever_waits_for_a_person_has_a_question(books: Chronicle) -> str | None:
    """Whatever is held or in doubt has a question that waits."""
    asked = {(one.kind, one.subject) for one in books.work.questions.values()}
    held: list[Any] = [*books.work.runs.values(), *books.team.agents.values(), *books.team.supervisors.values()]
    for one in (*held, *(job for job in books.work.jobs.values() if job.outcome is None)):
        if one.held and ("budget", one.id) not in asked:
            return f"{one.id} is held, and nobody is asked about it"
    for job in books.work.jobs.values():
        if job.in_doubt and job.outcome is None and ("doubt", job.id) not in asked:
            return f"{job.id} is in doubt, and nobody is asked about it"
    for task in books.state.tasks.values():
        if task.escalation_id is not None and task.escalation_id not in books.work.questions:
            return f"{task.id} waits for {task.escalation_id}, which nobody is asked"
    return None
