"""Laws of graphs: the tree of a run's tasks, the edges between them, and the tasks of calls."""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from engine.core.state import Run, State, Task

MAX_DEPTH = 256
"""Levels of tasks of a run, its root being the first: twice those of supervisors, and of delegations in them."""


def tasks_stand_in_a_tree(state: State) -> Iterator[str]:
    """Every task of a run is reached from its root by exactly one path, and depth is bounded."""
    for run in state.runs.values():
        root = state.tasks[run.root_id]
        if root.run_id != run.id or root.kind != "group" or root.parent_id is not None:
            yield f"{run.id} has the root {root.id}, which is not a graph of its own"
        elif (fault := _fault_of_tree(state, run, root)) is not None:
            yield fault
    if sum(len(run.tasks) for run in state.runs.values()) != len(state.tasks):
        yield "there are tasks that belong to no run"


def _fault_of_tree(state: State, run: Run, root: Task) -> str | None:
    tasks, run_id = state.tasks, run.id
    level = [root]
    seen_ids = {root.id}
    depth = 1
    while level and depth < MAX_DEPTH:
        depth += 1
        next_level: list[Task] = []
        for parent in level:
            parent_id, count_before = parent.id, len(seen_ids)
            children = [*map(tasks.__getitem__, parent.children)]
            for child in children:
                if child.parent_id != parent_id or child.run_id != run_id:
                    return f"{child.id} is part of {parent_id}, and says otherwise"
            seen_ids.update(parent.children)
            if len(seen_ids) < count_before + len(children):
                return f"a part of {parent_id} is part of another task too, or twice"
            next_level += [child for child in children if child.children]
        level = next_level
    if level:
        return f"tasks of {run_id} nest more than {MAX_DEPTH} levels deep"
    return None if seen_ids == run.tasks.keys() else f"{run_id} does not know the tasks that are part of it"


def edges_are_known_at_both_ends(state: State) -> Iterator[str]:
    """The predecessors and sources of a task are in its graph or plan; both ends of an edge list it, once."""
    ordered = {task.id: task for task in state.tasks.values() if task.after or task.before or task.sees}
    for task in ordered.values():
        if task.parent_id is None:
            yield f"{task.id} is part of no graph, and in an order with others"
    groups = (task for task in state.tasks.values() if task.children) if ordered else ()
    for group in groups:
        if ordered.keys().isdisjoint(group.children):
            continue
        nodes = [ordered[task_id] for task_id in group.children if task_id in ordered]
        inside = set(group.children)
        for task in nodes:
            if not inside.issuperset(task.after) or not inside.issuperset(task.sees or ()):
                yield f"{task.id} comes after tasks of another graph"
        forward_edges = [(before, task.id) for task in nodes for before in task.after]
        backward_edges = [(task.id, after) for task in nodes for after in task.before]
        if (
            len(set(forward_edges)) != len(forward_edges)
            or len(backward_edges) != len(forward_edges)
            or set(forward_edges) != set(backward_edges)
        ):
            yield f"the tasks of {group.id} do not agree about what comes after what"


def graphs_are_acyclic(state: State) -> Iterator[str]:
    """No open task of a graph depends on itself."""
    for group in (task for task in state.tasks.values() if task.children):
        nodes = (state.tasks[child] for child in group.children)
        try:
            TopologicalSorter({node.id: node.after for node in nodes if node.after and not node.ended}).prepare()
        except CycleError:
            yield f"the graph of {group.id} goes in a circle"


def calls_list_their_tasks(state: State) -> Iterator[str]:
    """A delegated task names its call and its asker, whose call lists it; the same holds for adopted nodes."""
    adopted: dict[str, list[Task]] = {}
    for task in state.tasks.values():
        if task.asked_by is not None:
            adopted.setdefault(task.asked_by, []).append(task)
            if state.tasks[task.asked_by].run_id != task.run_id or task.call_key is None:
                yield f"{task.id} was asked for by {task.asked_by}, which cannot be"
    for task in state.tasks.values():
        if task.calls and task.kind != "agent":
            yield f"{task.id} is not an agent's work and has asked for some"
        if not (task.calls or task.children or task.id in adopted):
            continue
        key_by_child = {child: key for key, call in task.calls.items() for child in call.children}
        if sum(len(call.children) for call in task.calls.values()) != len(key_by_child):
            yield f"{task.id} asked for a task twice"
        for key, call in task.calls.items():
            if call.key != key:
                yield f"{task.id} has the call {call.key!a} under another key"
        # A child that another task asked for is a node of the graph of this group.
        parts = (*map(state.tasks.__getitem__, task.children), *adopted.get(task.id, ()))
        own = (None, task.id)
        stated_keys = {part.id: part.call_key for part in parts if part.call_key is not None and part.asked_by in own}
        if stated_keys != key_by_child:
            child_id = min(differing_id for differing_id, _ in stated_keys.items() ^ key_by_child.items())
            yield f"{child_id} was asked for by another call of {task.id} than it says, or is not its own"


def outcomes_are_of_the_graph(state: State) -> Iterator[str]:
    """The output of a graph is that of one of its nodes."""
    for task in state.tasks.values():
        if task.outcome_id is not None and task.outcome_id not in task.children:
            yield f"the output of {task.id} is that of {task.outcome_id}, which is elsewhere"
