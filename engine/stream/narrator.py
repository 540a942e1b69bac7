"""Makes the `StreamEvent`s of one run from journaled events and live output.

It learns the tasks from events alone, and the names of members from its initial state. Events without a kind of stream
event (pauses, priorities, due retries) are left out.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from engine.core import events as e
from engine.core.state import State
from engine.stream.records import Kind, Piece, StreamEvent, StreamItem


class _Place(Struct):
    """A task in the tree of its run."""

    task_id: str
    parent_id: str | None
    depth: int
    title: str
    agent_id: str | None
    agent: str
    supervisor_id: str
    attempt: int = 0
    """Number of its last attempt."""


class Narrator:
    """Narrates one run from the state before it on; set `run_id` before the first call."""

    def __init__(self, state: State) -> None:
        self.run_id = ""
        self._seq = 0
        self._names: dict[str, str] = {agent.id: agent.name for agent in state.agents.values()}
        self._names |= {supervisor.id: supervisor.name for supervisor in state.supervisors.values()}
        self._places: dict[str, _Place] = {}
        self._root: _Place | None = None
        self._reasons: dict[str, str] = {}
        """Why attempts were asked to stop, by task."""

    def narrate(self, item: StreamItem) -> Iterator[StreamEvent]:
        """Yield the stream events of an event or piece; none if it belongs to another run."""
        if isinstance(item, Piece):
            if (place := self._places.get(item.speaker.task_id)) is not None:
                yield _piece_event(item, place, self.run_id)
            return
        self._seq, event = item
        self._learn_names(event)
        if getattr(event, "run_id", None) == self.run_id or isinstance(event, e.StrategySwitched | e.Steered):
            place = self._places.get(getattr(event, "task_id", None) or "")
            if (handle_task := _TASK_HANDLERS.get(type(event))) is not None and place is not None:
                yield from handle_task(self, place, event)
            elif (handle := _HANDLERS.get(type(event))) is not None:
                yield from handle(self, event)

    def _learn_names(self, event: e.Event) -> None:
        if isinstance(event, e.AgentAdded):
            self._names[event.agent_id] = event.name
        elif isinstance(event, e.SupervisorAdded):
            self._names[event.supervisor_id] = event.name
        elif isinstance(event, e.MemberRenamed):
            self._names[event.member_id] = event.name

    def _name(self, member_id: str | None) -> str:
        return self._names.get(member_id or "", member_id or "")

    def _make_event(self, kind: Kind, place: _Place, event: Any, **details: Any) -> StreamEvent:
        return _stream_event(place, self.run_id, kind=kind, at_ms=event.at_ms, seq=self._seq, event=event, **details)

    def _place(self, task_id: str, parent: _Place, title: str, worker_id: str | None, supervisor_id: str) -> None:
        agent = self._name(worker_id or supervisor_id)
        self._places[task_id] = _Place(
            task_id, parent.task_id, parent.depth + 1, title, worker_id, agent, supervisor_id
        )

    def _place_nodes(self, group_id: str, nodes: list[e.NodePlan]) -> None:
        if (parent := self._places.get(group_id)) is not None:
            for node in nodes:
                self._place(node.task_id, parent, node.title, node.worker_id, node.supervisor_id)

    def _start_run(self, event: e.RunSubmitted) -> Iterator[StreamEvent]:
        name = self._name(event.supervisor_id)
        root = _Place(event.root_id, None, 0, "", event.supervisor_id, name, event.supervisor_id)
        self._root = self._places[event.root_id] = root
        yield self._make_event("started", root, event, arguments=event.request)

    def _start_group(self, place: _Place, event: e.GroupPlanned) -> Iterator[StreamEvent]:
        self._place_nodes(event.task_id, event.nodes)
        if place is not self._root:
            yield self._make_event("task_started", place, event, name=place.title)

    def _place_added(self, place: _Place, event: e.GroupGrown) -> Iterable[StreamEvent]:
        self._place_nodes(event.task_id, event.added)
        return ()

    def _place_switched(self, event: e.StrategySwitched) -> Iterable[StreamEvent]:
        for group in event.groups:
            self._place_nodes(group.task_id, group.added)
        return ()

    def _place_children(self, place: _Place, event: e.Delegated) -> Iterable[StreamEvent]:
        for child in event.children:
            self._place(child.task_id, place, child.title, child.worker_id, child.supervisor_id)
        return ()

    def _take_item(self, place: _Place, event: e.ItemTaken) -> Iterable[StreamEvent]:
        place.agent_id, place.agent = event.supervisor_id, self._name(event.supervisor_id)
        return ()

    def _end_returned(self, place: _Place, event: e.ItemReturned) -> Iterator[StreamEvent]:
        yield self._make_event("task_ended", place, event, name=place.title, status="returned")

    def _start_attempt(self, place: _Place, event: e.AttemptStarted) -> Iterator[StreamEvent]:
        place.agent_id, place.attempt = event.agent_id, event.attempt
        place.agent = self._name(event.agent_id or place.supervisor_id)
        yield self._make_event("task_started", place, event, name=place.title)

    def _report_step(self, place: _Place, event: e.StepRecorded) -> Iterator[StreamEvent]:
        step = {"name": event.name, "arguments": event.input, "result": event.output, "usage": event.usage}
        yield self._make_event("step", place, event, attempt=event.attempt, status="done", **step)

    def _report_model_failure(self, place: _Place, event: e.ModelFailed) -> Iterator[StreamEvent]:
        failure = {"name": event.model, "text": event.error, "usage": event.usage}
        yield self._make_event("step", place, event, attempt=event.attempt, status="failed", **failure)

    def _end_attempt(self, place: _Place, event: Any) -> Iterator[StreamEvent]:
        yield self._make_event(
            "task_ended",
            place,
            event,
            attempt=event.attempt,
            name=place.title,
            result=getattr(event, "output", getattr(event, "partial", None)),
            text=self._reason_of(event),
            usage=getattr(event, "usage", None),
            status=_STATUS[type(event)],
        )

    def _reason_of(self, event: Any) -> str:
        """Return the error of an attempt, or the reason for which it was stopped."""
        reason = self._reasons.pop(event.task_id, "")
        if isinstance(event, e.AttemptDone):
            return ""
        return getattr(event, "error", None) or getattr(event, "limit", None) or reason

    def _end_group(self, place: _Place, event: e.GroupEnded) -> Iterator[StreamEvent]:
        if place is not self._root:
            end = {"result": event.output, "text": event.error or "", "status": event.status.value}
            yield self._make_event("task_ended", place, event, name=place.title, **end)

    def _end_never_begun(self, place: _Place, event: e.TaskFailed | e.TaskSkipped) -> Iterator[StreamEvent]:
        status, reason = ("failed", event.error) if isinstance(event, e.TaskFailed) else ("skipped", event.reason)
        return self._end_unbegun([event.task_id], event, reason, status)

    def _end_cancelled(self, event: e.CancelRequested) -> Iterator[StreamEvent]:
        self._reasons |= dict.fromkeys(event.stopping, event.reason)
        return self._end_unbegun(event.cancelled, event, event.reason, "cancelled")

    def _end_exceeded(self, event: e.DeadlinePassed | e.BudgetExhausted) -> Iterator[StreamEvent]:
        self._reasons |= dict.fromkeys(event.stopping, event.error)
        return self._end_unbegun(event.ended, event, event.error, "cancelled")

    def _end_unbegun(self, task_ids: list[str], event: e.Event, reason: str, status: str) -> Iterator[StreamEvent]:
        """Yield the ends of tasks without attempts; for others, the end of the last attempt is reported as the end."""
        for task_id in task_ids:
            place = self._places.get(task_id)
            if place is not None and not place.attempt and place is not self._root:
                yield self._make_event("task_ended", place, event, name=place.title, text=reason, status=status)

    def _report_question(self, event: e.Escalated) -> Iterator[StreamEvent]:
        place = self._places.get(event.task_id or "", self._root)
        if place is not None:
            options: list[Any] = list(event.options)
            yield self._make_event("asked", place, event, text=event.question, name=event.kind, arguments=options)

    def _report_steer(self, event: e.Steered) -> Iterator[StreamEvent]:
        for place in [self._places[task_id] for task_id in event.tasks if task_id in self._places]:
            yield self._make_event("steered", place, event, text=event.text, name=event.sender)

    def _end_run(self, event: e.RunFinished) -> Iterator[StreamEvent]:
        if self._root is not None:
            end = {"result": event.output, "text": event.error or "", "status": event.status.value}
            yield self._make_event("completed", self._root, event, usage=event.figures.usage, **end)


_TASK_HANDLERS: dict[type, Callable[[Narrator, _Place, Any], Iterable[StreamEvent]]] = {
    e.GroupPlanned: Narrator._start_group,
    e.GroupGrown: Narrator._place_added,
    e.Delegated: Narrator._place_children,
    e.ItemTaken: Narrator._take_item,
    e.ItemReturned: Narrator._end_returned,
    e.AttemptStarted: Narrator._start_attempt,
    e.StepRecorded: Narrator._report_step,
    e.ModelFailed: Narrator._report_model_failure,
    e.AttemptDone: Narrator._end_attempt,
    e.AttemptFailed: Narrator._end_attempt,
    e.AttemptCancelled: Narrator._end_attempt,
    e.AttemptSetAside: Narrator._end_attempt,
    e.AttemptLost: Narrator._end_attempt,
    e.AttemptPreempted: Narrator._end_attempt,
    e.GroupEnded: Narrator._end_group,
    e.TaskFailed: Narrator._end_never_begun,
    e.TaskSkipped: Narrator._end_never_begun,
}
"""Handlers of events about a task that has a place in the tree."""
_HANDLERS: dict[type, Callable[[Narrator, Any], Iterable[StreamEvent]]] = {
    e.RunSubmitted: Narrator._start_run,
    e.StrategySwitched: Narrator._place_switched,
    e.CancelRequested: Narrator._end_cancelled,
    e.DeadlinePassed: Narrator._end_exceeded,
    e.BudgetExhausted: Narrator._end_exceeded,
    e.Escalated: Narrator._report_question,
    e.Steered: Narrator._report_steer,
    e.RunFinished: Narrator._end_run,
}
_STATUS: dict[type, str] = {
    e.AttemptDone: "done",
    e.AttemptFailed: "failed",
    e.AttemptCancelled: "cancelled",
    e.AttemptSetAside: "set_aside",
    e.AttemptLost: "lost",
    e.AttemptPreempted: "preempted",
}


def _piece_event(piece: Piece, place: _Place, run_id: str) -> StreamEvent:
    kind: Any = piece.kind
    is_start = kind == "tool_started"
    # Field by field: this is made for each chunk of a text, and `_stream_event` is slower.
    return StreamEvent(
        kind=kind,
        at_ms=piece.at_ms,
        seq=None,
        run_id=run_id,
        task_id=place.task_id,
        parent_id=place.parent_id,
        agent_id=place.agent_id,
        agent=place.agent,
        depth=place.depth,
        attempt=piece.speaker.attempt,
        text=piece.text,
        name=piece.name,
        arguments=piece.value if is_start else None,
        result=None if is_start else piece.value,
    )


def _stream_event(place: _Place, run_id: str, **fields: Any) -> StreamEvent:
    """Return a stream event about the task of a place; `fields` come first."""
    shared = {name: getattr(place, name) for name in ("task_id", "parent_id", "agent_id", "agent", "depth", "attempt")}
    return StreamEvent(run_id=run_id, **{**shared, **fields})
