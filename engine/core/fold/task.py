"""Fold: graphs planned, delegations, tasks ended or retried."""

from engine.core import events
from engine.core.fold.accounting import charge, follow_deadline
from engine.core.fold.attempt import park
from engine.core.fold.completion import allow_next_item, end, forget_task, note_end, pass_by, reset_policies
from engine.core.fold.queues import dequeue, enqueue, is_held, is_pending, is_ready
from engine.core.fold.slots import mark_changed, stop_waiting_for_slot
from engine.core.fold.timers import drop_timer, note_id, set_timer
from engine.core.fold.times import count_time
from engine.core.fold.windows import count_retry
from engine.core.queries.work.inputs import input_of
from engine.core.queries.work.queues import own_queue, turn_key
from engine.core.records.shared import EMPTY, extend, put
from engine.core.records.values import stored_value
from engine.core.state import ENDED, MAX_DISCOVERIES, Call, Discovery, State, Task, TaskStatus


def add_task(state: State, task: Task) -> None:
    """Add a new task to the state and to its run; the caller has noted its id."""
    state.tasks[task.id] = task
    task.counted_ms = task.created_ms
    run = state.runs[task.run_id]
    run.tasks[task.id] = None
    if task.kind == "agent":
        run.total += 1
        state.tasks_total += 1


def add_node(state: State, group: Task, node: events.NodePlan) -> Task:
    """Add a planned node to the state; `wire` sets its edges."""
    note_id(state, node.task_id)
    task = Task(
        id=node.task_id,
        run_id=group.run_id,
        parent_id=group.id,
        supervisor_id=node.supervisor_id,
        kind=node.kind,
        title=node.title,
        queue=node.queue or (own_queue(node.worker_id) if node.kind == "agent" and node.worker_id else None),
        worker_id=node.worker_id,
        input=node.input if node.takes == "own" else group.input,
        takes=node.takes,
        after=node.after or (),
        optional=node.optional,
        priority=group.priority,
        deadline_ms=group.deadline_ms,
        created_ms=state.at_ms,
    )
    # Assigned afterwards: above 15 keyword arguments Python builds a dict of them, the largest cost of this function.
    task.join, task.check, task.role = node.join, node.check, node.role
    task.sees, task.need, task.tolerated = None if node.sees is None else list(node.sees), node.need, node.tolerated
    add_task(state, task)
    group.children = extend(group.children, [task.id])
    group.open += 1
    return task


def wire(state: State, group: Task) -> None:
    """Rebuild the edges of a graph from `after` of each node, and queue the nodes without blockers."""
    tasks = state.tasks
    nodes = [tasks[task_id] for task_id in group.children]
    before: dict[str, list[str]] = {}
    held_back = is_held(state, group)
    for node in nodes:
        blockers = 0
        for task_id in node.after:
            before.setdefault(task_id, []).append(node.id)
            blockers += tasks[task_id].status not in ENDED
        if (node.blockers > 0) is not (blockers > 0):
            count_time(state, node)
        node.blockers = blockers
        # A node in its queue keeps its place: enqueueing it again would lose its turn.
        if node.kind == "agent" and (ready := not blockers and is_ready(node)) != is_pending(node):
            if ready:
                enqueue(state, node, on_hold=held_back or node.held)
            else:
                dequeue(state, node)
    for node in nodes:
        node.before = before.get(node.id, ())


def _group_planned(state: State, event: events.GroupPlanned) -> None:
    group = state.tasks[event.task_id]
    count_time(state, group)
    # Before `add_node`, which gives the nodes the input of their group.
    group.input = input_of(state, group)
    group.settings = event.settings or EMPTY
    group.status = TaskStatus.RUNNING
    group.started_ms = event.at_ms
    group.mode = event.mode
    group.outcome_id = event.outcome_id
    if group.parent_id is None:
        state.runs[event.run_id].strategy = event.mode
        state.runs[event.run_id].category = event.category or state.runs[event.run_id].category
    for node in event.nodes:
        add_node(state, group, node)
    wire(state, group)


def _group_grown(state: State, event: events.GroupGrown) -> None:
    group = state.tasks[event.task_id]
    for node in event.added:
        add_node(state, group, node)
    for task_id, after in event.after.items():
        state.tasks[task_id].after = after or ()
    for task_id, sees in event.sees.items():
        state.tasks[task_id].sees = list(sees)
    for task_id, role in event.roles.items():
        state.tasks[task_id].role = role
    for task_id in event.skipped:
        task = state.tasks[task_id]
        pass_by(state, task, event.why)
    group.outcome_id = event.outcome_id or group.outcome_id
    group.error = event.failed
    wire(state, group)


def _need_met(state: State, event: events.NeedMet) -> None:
    task = state.tasks[event.task_id]
    task.after, task.sees, task.need = event.after or (), list(event.answers), None
    wire(state, state.tasks[task.parent_id or ""])


def _plan_asked(state: State, event: events.PlanAsked) -> None:
    """Fix the input whose text has to be read from the journal; the group keeps waiting."""
    group = state.tasks[event.task_id]
    group.input = input_of(state, group)
    if event.words:
        group.search = "begun"


def _discovered(state: State, event: events.Discovered) -> None:
    """Note a search with its result, and charge what it has used."""
    group = state.tasks[event.task_id]
    group.search = "ended"
    charge(state, group, None, event.usage, model=event.model)
    supervisor = state.supervisors.get(event.supervisor_id)
    if supervisor is not None:
        discovery = Discovery(
            task_id=group.id,
            run_id=group.run_id,
            matches=event.matches,
            chosen=event.chosen,
            modes=event.modes,
            faults=event.faults,
            at_ms=event.at_ms,
        )
        supervisor.discoveries = [*supervisor.discoveries, discovery][-MAX_DISCOVERIES:]


def _group_ended(state: State, event: events.GroupEnded) -> None:
    task = state.tasks[event.task_id]
    task.output = event.output
    task.optional = event.status is TaskStatus.SKIPPED  # dependents go on without its output instead of being skipped
    note_end(state, task)
    end(state, task, event.status, error=event.error)


def _await_call(state: State, task: Task, event: events.Delegated | events.CallRejoined) -> None:
    """Make the attempt of `task` wait for a call."""
    attempt = task.attempt
    assert attempt is not None
    count_time(state, task)
    attempt.waits[event.call_key] = None
    # It waits for the new call now, so answers to earlier calls must not resume it; a step that wants the slot still
    # needs it.
    if not attempt.wants_slot:
        stop_waiting_for_slot(state, task)
    if event.parks:
        attempt.parked_for, attempt.until_ms = None, None
        park(state, task)


def _delegated(state: State, event: events.Delegated) -> None:
    parent, seq = state.tasks[event.task_id], state.seq
    held_back = is_held(state, parent)
    for index, child in enumerate(event.children):
        queue = None if child.queue is None else state.queues.get(child.queue)
        task = Task(
            id=child.task_id,
            run_id=event.run_id,
            parent_id=parent.id,
            # The state's id object: a decoded event has its own for each child, a tenth of the memory of many tasks.
            supervisor_id=state.supervisors[child.supervisor_id].id,
            kind=child.kind,
            title=child.title,
            queue=child.queue if queue is None else queue.key,
            worker_id=child.worker_id,
            input=stored_value(child.input, seq, "children", index, "input"),
            optional=child.optional,
            call_key=event.call_key,
            priority=parent.priority,
            deadline_ms=parent.deadline_ms,
            created_ms=event.at_ms,
        )
        if child.after:
            task.takes, task.after, task.sees = "context", child.after, child.after
        add_task(state, task)
        # Tasks of a plan depend on each other; `wire` below queues those without blockers.
        if task.kind == "agent" and event.call_kind != "plan":
            enqueue(state, task, on_hold=held_back)
    children = [child.task_id for child in event.children]
    parent.children = extend(parent.children, children)
    parent.open += len(children)
    call = Call(key=event.call_key, kind=event.call_kind, children=children, open=len(children))
    parent.calls = put(parent.calls, event.call_key, call)
    if children:
        note_id(state, children[-1])  # ids are minted in order, so the last one is the largest
        if event.call_kind == "plan":
            wire(state, parent)
        _await_call(state, parent, event)


def _call_rejoined(state: State, event: events.CallRejoined) -> None:
    task = state.tasks[event.task_id]
    if task.calls[event.call_key].open:
        _await_call(state, task, event)


def _call_answered(state: State, event: events.CallAnswered) -> None:
    attempt = state.tasks[event.task_id].attempt
    assert attempt is not None
    if event.call_key in attempt.owed:
        attempt.owed.remove(event.call_key)


def _call_refused(state: State, event: events.CallRefused) -> None:
    """Change nothing: the attempt receives the refusal and goes on."""


def _retry_scheduled(state: State, event: events.RetryScheduled) -> None:
    task = state.tasks[event.task_id]
    count_time(state, task)
    task.status = TaskStatus.RETRYING
    task.retries = event.retry
    count_retry(state, task)
    task.retry_at_ms = event.due_ms
    set_timer(state, "retry", task.id, event.due_ms)


def _retry_due(state: State, event: events.RetryDue) -> None:
    task = state.tasks[event.task_id]
    drop_timer(state, "retry", task.id)
    count_time(state, task)
    task.status = TaskStatus.WAITING
    task.retry_at_ms = None
    enqueue(state, task)


def _task_failed(state: State, event: events.TaskFailed) -> None:
    task = state.tasks[event.task_id]
    if event.optional is not None:
        task.optional = event.optional
    end(state, task, TaskStatus.FAILED, error=event.error)


def _task_skipped(state: State, event: events.TaskSkipped) -> None:
    task = state.tasks[event.task_id]
    task.optional = event.optional
    end(state, task, TaskStatus.SKIPPED, error=event.reason)


def _task_requeued(state: State, event: events.TaskRequeued) -> None:
    task = state.tasks[event.task_id]
    dequeue(state, task)
    task.queue = event.queue
    task.supervisor_id = state.queues[event.queue].supervisor_id
    task.worker_id = event.queue.removeprefix("agent:") if event.queue.startswith("agent:") else None
    if is_ready(task):
        enqueue(state, task, again=True)


def _item_taken(state: State, event: events.ItemTaken) -> None:
    task, team = state.tasks[event.task_id], state.supervisors[event.supervisor_id]
    if task.ready:  # taking an item counts as a turn of its run, as beginning an attempt does
        state.runs[task.run_id].turns[turn_key(task.priority, task.queue or "")] = (state.at_ms, state.seq, task.id)
    dequeue(state, task)
    # An agent may have tried the task before: its error or preemption does not apply to the graph made of it.
    task.status, task.error = TaskStatus.WAITING, None
    task.taking = task.yields_to = None
    task.came_from = task.queue
    task.kind, task.queue, task.worker_id, task.supervisor_id = "group", None, team.id, team.id
    state.runs[event.run_id].total -= 1
    state.tasks_total -= 1
    team.taken[task.id] = 0
    mark_changed(state, team)


def _item_returned(state: State, event: events.ItemReturned) -> None:
    """Return an item to its old place, as if the team had never taken it."""
    task, run = state.tasks[event.task_id], state.runs[event.run_id]
    for task_id in event.dropped:
        dropped = state.tasks[task_id]
        allow_next_item(state, dropped)
        forget_task(state, dropped)
        del run.tasks[task_id]
        run.running -= dropped.attempt is not None
        if dropped.kind == "agent":
            run.total -= 1
            run.ended -= dropped.ended
            state.tasks_total -= 1
    allow_next_item(state, task)
    count_time(state, task)
    task.status, task.mode, task.outcome_id, task.started_ms = TaskStatus.WAITING, None, None, None
    task.settings = {}
    task.called = {}
    task.children = []
    task.open = 0
    task.kind, task.queue, task.worker_id, task.came_from = "agent", event.queue, None, None
    task.supervisor_id = state.queues[event.queue].supervisor_id
    run.total += 1
    state.tasks_total += 1
    enqueue(state, task, again=True)


def _task_reopened(state: State, event: events.TaskReopened) -> None:
    group = state.tasks[state.tasks[event.task_id].parent_id or ""]
    run = state.runs[event.run_id]
    for task_id in event.reopened:
        task = state.tasks[task_id]
        task.ended_ms = None
        count_time(state, task)  # while its status says that it has ended
        if task.kind == "agent":
            run.ended -= 1
            if task.status is TaskStatus.FAILED:
                run.failed -= 1
                state.tasks_failed -= 1
            agent = state.agents.get(task.agent_id or "")
            if agent is not None:
                agent.last_tasks = [ended for ended in agent.last_tasks if ended.task_id != task_id]
        task.status = TaskStatus.WAITING
        task.error = None
        reset_policies(task)
        task.held = False
        if task.exceeded is not None:
            task.exceeded, task.cancelling = None, False
        task.deadline_after_ms = None  # the end of the task dropped the timer, so no own deadline is left
        follow_deadline(state, task, group.deadline_ms)
        group.open += 1
    wire(state, group)
