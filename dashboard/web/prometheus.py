"""The team in Prometheus's text format, for `/metrics`.

Rule: what the state adds up (tokens, money, the queue) is of the whole team; tasks, runs, their usage by labels and
steps are counted since the server started, as counters may be that begin again at zero. See docs/reference/web.md.
"""

import hmac
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path

from dashboard.web.labelled_runs import LabelledRuns, Labels
from engine.core.activities import ACTIVITY_KINDS, Activities, parse_live
from engine.core.events import Event, RunFinished, RunSubmitted, StateImported, StepRecorded, TaskReopened
from engine.core.fold import fold
from engine.core.queries.people.questions import supervisor_of
from engine.core.queries.targets import shortest_targets
from engine.core.records.values import NO_USAGE, Usage
from engine.core.state import State
from engine.reading.folding import events_of, fold_from, pages
from store import Reader
from store.wall_clock import wall_ms

QUESTION_KINDS = ("approval", "ask", "budget", "doubt", "drain", "failure", "nobody", "permission")
"""Kinds of questions that have a sample although none is open, so that an alert can compare with 0."""
BUCKETS_S = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


class Counts:
    """What is counted from events; they and the state that they are folded into belong to one thread at a time."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.task_ends: Counter[tuple[str, str, Labels]] = Counter()
        """Tasks that ended, by supervisor, status and labels."""
        self.runs = LabelledRuns(state)
        self.steps: dict[str, list[int]] = {}
        """Steps by kind, one number for each bucket and one for what is longer."""
        self.seconds: Counter[str] = Counter()
        self._ended_ids = {task.id for task in state.tasks.values() if task.ended}

    def fold(self, events: Iterable[Event]) -> None:
        """Fold events, and count."""
        for event in events:
            if isinstance(event, RunFinished):  # its tasks leave the state now
                self._look(task.id for task in self.state.tasks.values() if task.run_id == event.run_id)
                self._ended_ids -= {task.id for task in self.state.tasks.values() if task.run_id == event.run_id}
                self.runs.end(event)
            before = set(self.state.tasks) if isinstance(event, StateImported) else ()
            fold(self.state, [event])
            if isinstance(event, RunSubmitted):
                self.runs.add(self.state, [self.state.runs[event.run_id]])
            if isinstance(event, StateImported):
                self.runs.add(self.state, self.state.runs.values())
            if isinstance(event, TaskReopened):
                self._ended_ids.difference_update(event.reopened)
            if isinstance(event, StateImported):  # what ended elsewhere did not end here
                self._ended_ids |= {
                    task.id for task in self.state.tasks.values() if task.ended and task.id not in before
                }
            task_id = getattr(event, "task_id", None)
            if task_id is not None:
                self._look((task_id,))
            if isinstance(event, StepRecorded):
                self._count(event)

    def _look(self, task_ids: Iterable[str]) -> None:
        for task_id in task_ids:
            task = self.state.tasks.get(task_id)
            if task is not None and task.ended and task_id not in self._ended_ids:
                self._ended_ids.add(task_id)
                self.task_ends[task.supervisor_id, task.status.value, self.runs.labels_of(task.run_id)] += 1

    def _count(self, step: StepRecorded) -> None:
        took_s = step.duration_ms / 1000
        buckets = self.steps.setdefault(step.what, [0] * (len(BUCKETS_S) + 1))
        buckets[bisect_left(BUCKETS_S, took_s)] += 1
        self.seconds[step.what] += step.duration_ms


class Metrics:
    """What `/metrics` answers; `text` may be called from any thread."""

    def __init__(self, db: Path, token: str) -> None:
        self._db, self._token = db, token.encode()
        self._counts: Counts | None = None
        self._lock = threading.Lock()

    def is_authorized(self, authorization: str | None) -> bool:
        """Return whether a header has the token."""
        scheme, _, token = (authorization or "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(errors="replace"), self._token)

    def text(self) -> str:
        """Read what is new, and return everything; what is counted, since the first call.

        Raises:
            StoreError: If the file cannot be read.
            CoreError: If its journal cannot be folded.
        """
        with self._lock, Reader(self._db) as reader:
            counts = self._counts
            if counts is None or reader.last_seq() < counts.state.seq:  # another file stands there now
                counts = self._counts = Counts(fold_from(reader))
            for records in pages(reader, counts.state.seq):
                counts.fold(events_of(records))
            engine = reader.engine()
            now_ms, engine_up = max(wall_ms(), reader.newest_ms()), engine is not None and engine.alive
            activities = Activities(counts.state, parse_live(reader.live()), now_ms, working=engine_up)
            return exposition(counts, activities, engine_up=engine_up)


def exposition(counts: Counts, activities: Activities, *, engine_up: bool) -> str:
    """Return counts and state as Prometheus reads them."""
    state, named = counts.state, shortest_targets(counts.state)
    used = Usage()
    for root in state.roots:
        used = used.plus(root.usage)
    waiting: Counter[str] = Counter()
    for queue in state.queues.values():
        waiting[queue.supervisor_id] += queue.ready
    lines = [
        *_family("quarterdeck_tasks_total", "counter", "Tasks that ended since this server started."),
        *_ends("quarterdeck_tasks_total", counts.task_ends, named),
        *_family("quarterdeck_runs_total", "counter", "Runs that ended since this server started."),
        *_ends("quarterdeck_runs_total", counts.runs.ends, named),
        *_family("quarterdeck_queue", "gauge", "Tasks that are ready and wait for an agent."),
        *(
            _sample("quarterdeck_queue", {"supervisor": named[supervisor_id]}, waiting[supervisor_id])
            for supervisor_id in state.supervisors
        ),
        *_family("quarterdeck_agents", "gauge", "Agents of each supervisor by what they do now."),
        *_agents(state, named, activities),
        *_family("quarterdeck_questions_open", "gauge", "Questions that wait for a person."),
        *_questions(state, named),
        *_family("quarterdeck_tokens_total", "counter", "Tokens of models, of the whole team; cached is a part of in."),
        *_tokens("quarterdeck_tokens_total", {}, used),
        *_family("quarterdeck_cost_usd_total", "counter", "Money that models cost, as far as prices are known."),
        *([] if used.cost_usd is None else [_sample("quarterdeck_cost_usd_total", {}, used.cost_usd)]),
        *_model_samples(state),
        *_label_samples(counts.runs.used(state)),
        *_family("quarterdeck_step_seconds", "histogram", "How long steps took, since this server started."),
        *(line for step_name in sorted(counts.steps) for line in _histogram(step_name, counts)),
        *_family("quarterdeck_engine_up", "gauge", "1 while an engine holds the team."),
        _sample("quarterdeck_engine_up", {}, int(engine_up)),
    ]
    return "\n".join(lines) + "\n"


def _agents(state: State, named: Mapping[str, str], activities: Activities) -> Iterator[str]:
    numbers = Counter((agent.supervisor_id, activities.of_agent(agent).kind) for agent in state.agents.values())
    for supervisor_id in dict.fromkeys(agent.supervisor_id for agent in state.agents.values()):
        for kind in ACTIVITY_KINDS:
            labels = {"supervisor": named[supervisor_id], "activity": kind}
            yield _sample("quarterdeck_agents", labels, numbers[supervisor_id, kind])


def _questions(state: State, named: Mapping[str, str]) -> Iterator[str]:
    questions = state.escalations.values()
    numbers = Counter((supervisor_of(state, question) or "", question.kind) for question in questions)
    keys = {*numbers, *((supervisor_id, kind) for supervisor_id in state.supervisors for kind in QUESTION_KINDS)}
    for supervisor_id, kind in sorted(keys):
        labels = {"supervisor": named.get(supervisor_id, supervisor_id), "kind": kind}
        yield _sample("quarterdeck_questions_open", labels, numbers[supervisor_id, kind])


def _model_samples(state: State) -> Iterator[str]:
    """Yield tokens and money by model, of all agents, also of those that have left."""
    usages: dict[str, Usage] = {}
    for spending in state.spending.values():
        for model, usage in spending.models.items():
            usages[model] = usages.get(model, NO_USAGE).plus(usage)
    yield from _family("quarterdeck_model_tokens_total", "counter", "Tokens by model; cached is a part of in.")
    for model, usage in sorted(usages.items()):
        yield from _tokens("quarterdeck_model_tokens_total", {"model": model}, usage)
    yield from _family("quarterdeck_model_cost_usd_total", "counter", "Money by model, as far as prices are known.")
    for model, usage in sorted(usages.items()):
        if usage.cost_usd is not None:
            yield _sample("quarterdeck_model_cost_usd_total", {"model": model}, usage.cost_usd)


def _label_samples(usages: Mapping[Labels, Usage]) -> Iterator[str]:
    """Yield tokens and money of the requests that have labels."""
    yield from _family("quarterdeck_label_tokens_total", "counter", "Tokens by label since this server started.")
    for labels, usage in sorted(usages.items()):
        yield from _tokens("quarterdeck_label_tokens_total", dict(labels), usage)
    yield from _family("quarterdeck_label_cost_usd_total", "counter", "Money by label since this server started.")
    for labels, usage in sorted(usages.items()):
        if usage.cost_usd is not None:
            yield _sample("quarterdeck_label_cost_usd_total", dict(labels), usage.cost_usd)


def _ends(name: str, numbers: Mapping[tuple[str, str, Labels], int], named: Mapping[str, str]) -> Iterator[str]:
    for (supervisor_id, status, labels), number in sorted(numbers.items()):
        supervisor = named.get(supervisor_id, supervisor_id)
        yield _sample(name, {"supervisor": supervisor, "status": status, **dict(labels)}, number)


def _tokens(name: str, labels: Mapping[str, str], usage: Usage) -> Iterator[str]:
    for kind, number in (("in", usage.tokens_in), ("out", usage.tokens_out), ("cached", usage.tokens_cached)):
        if number is not None:
            yield _sample(name, {**labels, "kind": kind}, number)


def _histogram(step_name: str, counts: Counts) -> list[str]:
    name, sums = "quarterdeck_step_seconds", list(accumulate(counts.steps[step_name]))
    edges = [*(f"{edge:g}" for edge in BUCKETS_S), "+Inf"]
    return [
        *(_sample(f"{name}_bucket", {"what": step_name, "le": edge}, sums[index]) for index, edge in enumerate(edges)),
        _sample(f"{name}_sum", {"what": step_name}, counts.seconds[step_name] / 1000),
        _sample(f"{name}_count", {"what": step_name}, sums[-1]),
    ]


def _family(name: str, kind: str, help_text: str) -> tuple[str, str]:
    return f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"


def _sample(name: str, labels: Mapping[str, str], value: object) -> str:
    label_text = ",".join(f'{label}="{_escape(text)}"' for label, text in labels.items())
    return f"{name}{{{label_text}}} {value}" if label_text else f"{name} {value}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
