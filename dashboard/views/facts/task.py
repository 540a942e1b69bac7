"""The facts of a task, with the same text in every place that shows them."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TypeAlias

from dashboard.views.drawing.facts import Fact
from dashboard.views.drawing.lines import cut
from dashboard.views.facts.ended import EndedTask
from dashboard.views.facts.live_values import read_live_value
from dashboard.views.facts.now import now_of_task
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.limits import limit_facts
from dashboard.views.words.amounts import count, describe_usage, duration, elapsed, moment, pluralize
from dashboard.views.words.glyphs import TASK, task_mark
from dashboard.views.words.names import Names, format_labels
from engine.core.queries.targets import name_of
from engine.core.queries.team.figures import median
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import State, Task

AnyTask: TypeAlias = Task | EndedTask
"""A task of an open run, or one of a finished run, from the journal."""
_MAX_TITLE_WIDTH = 44
"""Cells of the title of its run."""


def task_facts(
    state: State,
    task: AnyTask,
    counts: Digest,
    live: Mapping[str, str],
    names: Names | None = None,
    *,
    now_ms: int,
) -> list[Fact]:
    """Return all that is known of a task, in groups, each in the order of its importance.

    Args:
        names: Also knows what has left the state; without it such an object has its id.
    """
    facts = [*_head(task, counts, now_ms)]
    if isinstance(task, Task):
        facts += _alerts(state, task, counts, now_ms)
    facts += past_facts(state, task, names, now_ms=now_ms)
    if isinstance(task, Task) and not task.ended:
        facts += limit_facts(state, task.id, now_ms=now_ms)
        facts += [Fact("not heard", text, "accent", "steers") for text in task.steers.values()]
    return facts


def past_facts(state: State, task: AnyTask, names: Names | None = None, *, now_ms: int) -> list[Fact]:
    """Return what is known of a task but for what it does now; `names` as in `task_facts`."""
    facts = [*_about(state, task, names, now_ms)]
    if isinstance(task, Task):
        facts += [*_urgency(task), *_neighbours(state, task)]
    return [*facts, Fact("error", task.error, "error", "alerts")] if task.error is not None else facts


def _head(task: AnyTask, counts: Digest, now_ms: int) -> Iterator[Fact]:
    mark = task_mark(task, counts.activities) if isinstance(task, Task) else TASK[task.status]
    yield Fact("state", mark.text, mark.tone, "head")
    took = time_taken(task, now_ms) if isinstance(task, Task) else duration(task.took_ms)
    if took:
        yield Fact("took", took, "strong", "head")


def _about(state: State, task: AnyTask, names: Names | None, now_ms: int) -> Iterator[Fact]:
    name = names.of if names is not None else partial(name_of, state)
    worker_id = task.agent_id or task.worker_id if isinstance(task, Task) else task.agent_id
    yield Fact("agent", name(worker_id) if worker_id is not None else "–", group="agent")
    run = state.runs.get(task.run_id) or state.summary(task.run_id)
    title = run.title if run is not None else names.of(task.run_id) if names is not None else ""
    yield Fact("run", f"{task.run_id} {cut(title, _MAX_TITLE_WIDTH)}", group="about", rank=3)
    if run is not None and run.labels:
        yield Fact("labels", format_labels(run.labels), "muted", "about", rank=3)
    yield Fact("attempts", count(task.attempts), "draining" if task.attempts > 1 else "", "about", rank=1)
    if isinstance(task, EndedTask):
        yield Fact("ended", moment(task.ended_ms, now_ms), group="about", rank=4)
    else:
        yield Fact("planned", moment(task.created_ms, now_ms), group="about", rank=5)
        if task.started_ms is not None:
            yield Fact("started", moment(task.started_ms, now_ms), group="about", rank=4)
        if task.preemptions:
            yield Fact("made way", pluralize(task.preemptions, "time"), "draining", "about", rank=2)
        if task.failed_on:
            yield Fact("failed on", ", ".join(map(name, task.failed_on)), "warn", "about", rank=2)
    if usage := describe_usage(task.usage):
        yield Fact("spent", usage, group="about", rank=2)


def _urgency(task: Task) -> Iterator[Fact]:
    is_default = task.priority == DEFAULT_PRIORITY
    yield Fact("priority", str(task.priority), "muted" if is_default else "", "defaults" if is_default else "about")
    if task.steps and not task.ended:
        yield Fact("steps", f"{pluralize(len(task.steps), 'step')} finished, and kept", group="kept")


def _neighbours(state: State, task: Task) -> Iterator[Fact]:
    """Yield how a task divides its work, and the tasks before and after it."""
    if task.mode:
        yield Fact("mode", task.mode, "muted", "plan")
    if task.kind == "agent" and task.children:
        yield Fact("handed out", count(len(task.children)), "muted", "plan")
    for label, task_ids in (("after", task.after), ("before", task.before)):
        if titles := [state.tasks[task_id].title for task_id in task_ids if task_id in state.tasks]:
            yield Fact(label, ", ".join(titles), group="order")


def _alerts(state: State, task: Task, counts: Digest, now_ms: int) -> Iterator[Fact]:
    """Yield the question of a task, and what it does or waits for."""
    escalation = state.escalations.get(task.escalation_id or "")
    if escalation is not None:
        yield Fact("asks", f"{escalation.question}  (8: Inbox)", "attention", "alerts")
    if (now := now_of_task(task, counts, now_ms)).text:
        yield Fact("why", now.text, now.tone or "busy", "alerts")


def time_taken(task: Task, now_ms: int, *, max_width: int = 1_000) -> str:
    """Return the time that a task has taken so far; empty if it has not begun.

    Args:
        max_width: In cells, as in `duration`.
    """
    if task.started_ms is None:
        return ""
    if task.ended_ms is not None:
        return duration(task.ended_ms - task.started_ms, max_width=max_width)
    return elapsed(now_ms - task.started_ms, max_width=max_width) or "<1 s"


def describe_progress(live: Mapping[str, str], task_id: str) -> str:
    """Return the reported progress of a task, such as `61/120 headers`; empty for none."""
    report = read_live_value(live, f"progress:{task_id}")
    if not isinstance(report, dict):
        return ""
    done, total, note = report.get("done"), report.get("total"), report.get("note")
    number = f"{done}/{total}" if total is not None and done is not None else "" if done is None else f"{done}"
    return " ".join(part for part in (number, str(note) if note else "") if part)


def share_of_attempt(state: State, task: Task, live: Mapping[str, str], *, now_ms: int, working: bool) -> float | None:
    """Return how far an attempt is, from 0 to 1: as it reported, else its time at work against its agent's usual time.

    Args:
        working: Whether an engine is at work; without one, time says nothing.
    """
    report = read_live_value(live, f"progress:{task.id}")
    done, total = (report.get("done"), report.get("total")) if isinstance(report, dict) else (None, None)
    if isinstance(done, int | float) and isinstance(total, int | float) and total > 0:
        return min(max(done, 0), total) / total
    agent = state.agents.get(task.agent_id or "")
    usual_ms = median(agent.at_work_ms) if agent is not None and working else None
    return min(1.0, task.attempt.at_work_ms(now_ms) / usual_ms) if usual_ms and task.attempt is not None else None
