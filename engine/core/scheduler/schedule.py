"""The schedule of a state: built by `Schedule.of`, then updated event by event.

The place of an entity depends only on its fields. Building and updating therefore use the same functions, and an
updated schedule equals a new one (a law, `legality.schedule`).
"""

from collections.abc import Iterator

from engine.core.queries.team.pools import must_grow
from engine.core.queries.team.tree import agents_in, lineage_of, subtree_of
from engine.core.queries.work.queues import back_queue
from engine.core.scheduler.balancing import RULES, track_record
from engine.core.scheduler.free import exhausted_process_limit, is_free, process_limits
from engine.core.scheduler.ready_queues import Ranking, ReadyQueue
from engine.core.scheduler.slots import Slots, first_queue_under, update_offer
from engine.core.state import Agent, State, Supervisor, Task, timer_id
from engine.core.validation.bounds import LOWEST_PRIORITY


class Schedule:
    """The ready queues of a state, the slots in use, and which task begins next.

    Attributes:
        queues: Ready queues by key. The free agent of a single-agent queue is kept only while a task is ready in it.
        slots: Slots in use and offers of each supervisor, by its id.
        roots: Roots under which a task can begin, ranked by that task.
        urgent: Ready tasks that may preempt and for which no attempt is stopping yet, with the event that added each.
        resizable: Pools that have to grow, or need an idle timer.
        processes: Processes in use under roots that set no limit on them.
        changed: Tasks, supervisors and queue keys that the fold has changed.
        agents: Agents that the fold has changed, by id.
        stale: The team has changed in a way that is not tracked: rebuild.
        unserved: A task has become ready in a queue without agents.
        recheck_urgent: Attempts at work may have become preemptible: try all urgent tasks again.
    """

    def __init__(self) -> None:
        self.queues: dict[str, ReadyQueue] = {}
        self.slots: dict[str, Slots] = {}
        self.roots = Ranking()
        self.urgent: dict[str, int] = {}
        self.resizable: dict[str, None] = {}
        self.processes = 0
        self.changed: list[Task | Supervisor | str] = []
        self.agents: dict[str, Agent] = {}
        self.stale = False
        self.unserved = False
        self.recheck_urgent = False
        self._places: dict[str, tuple[str, int, int, str]] = {}
        """Queue key, priority, seq from which it waits, and run of each ready task."""
        self._held_slots: dict[str, tuple[str, bool]] = {}
        """The supervisor whose slot each task holds, and whether the task holds a process slot."""
        self._shared: dict[str, None] = {}
        """Queues shared by several teams."""
        self._in_processes: dict[str, None] = {}
        """Agents with `run_in: process`."""
        self._queues_to_rank: dict[str, ReadyQueue] = {}
        """Queues whose rank may have changed."""
        self._supervisors_to_offer: dict[str, None] = {}
        """Supervisors whose offer to their parent may have changed."""
        self._fast_path_agent: Agent | None = None
        """The agent of the fast path (`_takes_fast_path`): it takes tasks, but is not marked as free in any queue."""
        self._fast_path_queues: list[ReadyQueue] = []
        """Queues of that agent with ready tasks."""
        self._next: ReadyQueue | None = None
        """Cached answer of `next_queue`, valid until the next change."""

    @staticmethod
    def of(state: State) -> "Schedule":
        """Return the schedule of a state; the fold keeps it up to date from the first call on."""
        schedule: Schedule | None = state.schedule
        if schedule is None:
            schedule = Schedule.from_state(state)
            # Through `vars`: `schedule` is a ClassVar, so no codec, snapshot or comparison of states sees it.
            vars(state)["schedule"] = schedule
        elif schedule._fast_path_agent is not None:
            schedule._settle(state)
        return schedule

    @staticmethod
    def from_state(state: State) -> "Schedule":
        """Return a new schedule of a state."""
        schedule = Schedule()
        schedule._build(state)
        return schedule

    def follow(self, state: State) -> None:
        """Update the places of everything that the fold has changed."""
        if self.stale:
            before = self.urgent
            self.__init__()  # type: ignore[misc]  # in place, because `state` and `step` hold this object
            self._build(state)
            # Tasks that were urgent before keep their event: `step` tries only those that are newer than its message.
            earlier_urgent = {task_id: seq for task_id, seq in before.items() if task_id in self.urgent}
            newly_urgent = {task_id: state.seq for task_id in self.urgent if task_id not in earlier_urgent}
            self.urgent = earlier_urgent | newly_urgent
        elif self.changed or self.agents:
            self._follow(state)
        if self.recheck_urgent:
            self.recheck_urgent, self.urgent = False, dict.fromkeys(self.urgent, state.seq)

    def _build(self, state: State) -> None:
        self.changed += state.supervisors.values()
        self.changed += [task for task in state.tasks.values() if task.ready or task.attempt is not None]
        self.agents.update(state.agents)
        self._follow(state)
        self._settle(state)

    def _follow(self, state: State) -> None:
        self._next = None
        if self.changed:
            for change in self.changed:
                if type(change) is Task:
                    self._update_task(state, change)
                elif type(change) is str:
                    self._update_queue(state, change)
                else:
                    self._update_supervisor(state, change)  # type: ignore[arg-type]
            self.changed.clear()
        agents, freed = self.agents, self._fast_path_agent
        if freed is not None:
            # Any other change may compete with it, so the agent is ranked among the free agents again.
            self._fast_path_agent, agents[freed.id] = None, freed
        if len(agents) == 1:
            _, agent = agents.popitem()
            if agent.takes_tasks and self._takes_fast_path(state, agent):
                self._fast_path_agent = agent
            else:
                self._update_agent(state, agent)
        while agents:
            self._update_agent(state, agents.popitem()[1])
        # Ranks before offers: an offer is computed from the ranks below it.
        for queue in self._queues_to_rank.values():
            self._update_rank(state, queue)
        self._queues_to_rank.clear()
        while self._supervisors_to_offer:
            supervisor = state.supervisors.get(self._supervisors_to_offer.popitem()[0])
            if supervisor is not None:
                update_offer(state, self, supervisor)

    def _takes_fast_path(self, state: State, agent: Agent) -> bool:
        """Return whether only this agent can begin something, so that only its own queues matter.

        Most agents that end an attempt begin another at once. Leaving them out of the heaps saves updating every level
        up to the root twice.
        """
        if self.roots.heap or self._queues_to_rank or self._supervisors_to_offer:
            return False
        agent_id = agent.id
        queues = self.queues
        ready = []
        # Pools and processes have bookkeeping of their own in `_update_agent`, which this path skips.
        if agent_id not in state.agents or agent_id in state.pools or state.specs[agent.spec].run_in == "process":
            return False
        for key in agent.queues:
            queue = queues.get(key)
            if queue is None:
                # A shared queue that is not known yet has to be made by `_update_agent`.
                if key.startswith("able:"):
                    return False
            elif queue.shared or queue.conditional or agent_id in queue.free:
                return False
            elif queue.levels:
                ready.append(queue)
        self._fast_path_queues = ready
        return True

    def _settle(self, state: State) -> None:
        """End the fast path: mark its agent as free in its queues, like every other agent."""
        agent, self._fast_path_agent = self._fast_path_agent, None
        if agent is not None:
            self._update_agent(state, agent)
            while self._queues_to_rank:
                self._update_rank(state, self._queues_to_rank.popitem()[1])
            while self._supervisors_to_offer:
                update_offer(state, self, state.supervisors[self._supervisors_to_offer.popitem()[0]])

    def _update_task(self, state: State, task: Task) -> None:
        """Update the place of a task in its queue, and the slot that it holds."""
        task_id, attempt = task.id, task.attempt
        if task.ready:
            self._enqueue(state, task, task.queue or "", task.ready_seq or 0, task.ready_ms)
        elif attempt is not None and attempt.back_seq is not None:
            self._enqueue(state, task, back_queue(attempt.agent_id or ""), attempt.back_seq, attempt.back_ms)
        elif (previous := self._places.pop(task_id, None)) is not None:
            self._dequeue(state, task_id, previous)
        elif task.held_back and (queue := self.queues.get(task.queue or "")) is not None:
            # Tasks on hold stand in no queue, but holding one back may have returned the turn of its run.
            queue.revert_turn(state.runs[task.run_id], task.priority)
            self._queues_to_rank[queue.key] = queue
        held_slot = self._held_slots.get(task_id)
        if attempt is not None and not attempt.parked and attempt.agent_id is not None:
            current_slot = state.agents[attempt.agent_id].supervisor_id, attempt.in_process
            if current_slot != held_slot:
                if held_slot is not None:
                    self._count_slot(state, held_slot[0], -1, processes=-held_slot[1])
                self._held_slots[task_id] = current_slot
                self._count_slot(state, current_slot[0], 1, processes=+current_slot[1])
        elif held_slot is not None:
            del self._held_slots[task_id]
            self._count_slot(state, held_slot[0], -1, processes=-held_slot[1])
        urgent_priority = self.slots[state.queues[task.queue or ""].supervisor_id].urgent if task.ready else -1
        if task.priority <= urgent_priority and task.taking is None:
            if task_id not in self.urgent:
                self.urgent[task_id] = state.seq
        elif self.urgent:
            self.urgent.pop(task_id, None)

    def _enqueue(self, state: State, task: Task, key: str, seq: int, ms: int) -> None:
        task_id, place = task.id, (key, task.priority, seq, task.run_id)
        previous = self._places.get(task_id)
        if previous == place:
            return
        if previous is not None:
            self._dequeue(state, task_id, previous)
        self._places[task_id] = place
        queue = self._queue_of(state, key)
        if not queue.levels and queue.best is None:
            # First ready task in a single-agent queue: until now it was not tracked whether its agent is free.
            for agent_id in state.queues[key].agents:
                agent = state.agents[agent_id]
                if agent.takes_tasks and agent_id not in self._in_processes:
                    queue.free[agent_id] = None
                else:
                    self.agents[agent_id] = agent
        queue.put(task_id, state.runs[task.run_id], priority=task.priority, seq=seq, ms=ms, now=state.seq)
        if queue.free:
            self._queues_to_rank[key] = queue
        elif not state.queues[key].agents:
            self.unserved = True

    def _dequeue(self, state: State, task_id: str, place: tuple[str, int, int, str]) -> None:
        key, priority, _, run_id = place
        queue = self.queues.get(key)
        if queue is not None:
            queue.take(task_id, run_id, state.runs.get(run_id), priority=priority)
            if queue.free:
                self._queues_to_rank[key] = queue
                if queue.best is None and not queue.levels:
                    queue.free.clear()

    def _count_slot(self, state: State, supervisor_id: str, delta: int, *, processes: int) -> None:
        """Count a slot and a process, taken (`delta` 1) or freed (-1)."""
        slots = self.slots[supervisor_id]
        slots.running += delta
        supervisor = state.supervisors[supervisor_id]
        # Only reaching the limit, or falling below it by one, changes what may begin; other counts need no update.
        if slots.running == supervisor.max_parallel - (delta < 0):
            self._supervisors_to_offer[supervisor_id] = None
            self._queues_to_rank |= slots.take_unranked(supervisor)
            self._recheck_subtree(state, supervisor, deep=False)
        for above_id in slots.capped:
            capped_supervisor = state.supervisors[above_id]
            capped_slots = self.slots[above_id]
            capped_slots.total += delta
            if capped_slots.total == (capped_supervisor.options.max_total or 0) - (delta < 0):
                self._supervisors_to_offer[above_id] = None
                self._recheck_subtree(state, capped_supervisor)
        if not processes:
            return
        for ancestor in lineage_of(state, supervisor):
            self.slots[ancestor.id].processes += processes
            if ancestor.parent_id is None and ancestor.options.processes is None:
                self.processes += processes
        edge = 0 if processes > 0 else -1
        limits = process_limits(state, self, supervisor)
        if any(limit.used == limit.max_processes + edge for limit in limits):
            agents = (state.agents[agent_id] for agent_id in self._in_processes if agent_id in state.agents)
            self.agents.update((agent.id, agent) for agent in agents)

    def _update_supervisor(self, state: State, supervisor: Supervisor) -> None:
        """Recompute what may begin under a supervisor that was added, changed or removed."""
        if supervisor.id in state.supervisors:
            if supervisor.id not in self.slots:
                self.slots[supervisor.id] = Slots(state, supervisor)
            self._supervisors_to_offer[supervisor.id] = None
            self._queues_to_rank |= self.slots[supervisor.id].take_unranked(supervisor)
            self._recheck_subtree(state, supervisor)
        elif self.slots.pop(supervisor.id, None) is not None and supervisor.parent_id is None:
            self.roots.drop(supervisor.id)
        elif supervisor.parent_id in self.slots:
            self.slots[supervisor.parent_id].offers.drop(supervisor.id)
            self._supervisors_to_offer[supervisor.parent_id] = None

    def _recheck_subtree(self, state: State, supervisor: Supervisor, *, deep: bool = True) -> None:
        """Recompute whether agents under a supervisor are free for shared queues (only those depend on its limits)."""
        if not self._shared:
            return
        for team in subtree_of(state, supervisor) if deep else (supervisor,):
            for agent in agents_in(state, team):
                if any(key in self._shared for key in agent.queues):
                    self.agents[agent.id] = agent

    def _update_queue(self, state: State, key: str) -> None:
        """Drop a ready queue that is gone, or the free agents that no longer serve it."""
        queue, entity = self.queues.get(key), state.queues.get(key)
        if queue is None:
            return
        if entity is None:
            del self.queues[key]
            self._shared.pop(key, None)
            slots = self.slots.get(queue.supervisor_id)
            if slots is not None:
                (slots.offers if queue.shared else slots.own).drop(key)
                slots.unranked.pop(key, None)
                self._supervisors_to_offer[queue.supervisor_id] = None
            return
        agents = set(entity.agents)
        for agent_id in [agent_id for agent_id in queue.conditional if agent_id not in agents]:
            del queue.conditional[agent_id]
        for agent_id in [agent_id for agent_id in queue.free if agent_id not in agents]:
            self._set_busy(queue, agent_id)
        self.agents.update((agent_id, state.agents[agent_id]) for agent_id in queue.conditional)

    def _queue_of(self, state: State, key: str) -> ReadyQueue:
        queue = self.queues.get(key)
        if queue is None:
            queue = self.queues[key] = ReadyQueue(state.queues[key])
            if queue.shared:
                self._shared[key] = None
        return queue

    def _update_agent(self, state: State, agent: Agent) -> None:
        """Update for which of its queues an agent is free; single-agent queues without a ready task are not tracked."""
        agent_id, queues = agent.id, self.queues
        if agent_id not in state.agents:
            self._in_processes.pop(agent_id, None)
            self.resizable.pop(agent_id, None)
            return
        has_room = len(agent.running) + agent.stuck < agent.max_concurrency
        if state.specs[agent.spec].run_in == "process":
            self._in_processes[agent_id] = None
            has_room = has_room and not self.lacks_process(state, agent)
        elif self._in_processes:
            self._in_processes.pop(agent_id, None)
        if agent_id in state.pools or agent_id in self.resizable:
            self._update_pool(state, agent)
        # `Agent.takes_tasks` without `has_room`, inlined: this runs often, and decides most cases alone.
        is_available = (
            has_room
            and agent.error is None
            and agent.circuit == "closed"
            and agent.exhausted is None
            and agent.removing is None
            and not (agent.paused or agent.away)
        )
        for key in agent.queues:
            queue = queues.get(key)
            if queue is None:
                if not key.startswith("able:"):
                    continue
                queue = self._queue_of(state, key)
            elif queue.best is None and not queue.levels:
                continue
            if queue.conditional:
                queue.conditional.pop(agent_id, None)
            if (is_available and not queue.shared) or (has_room and is_free(state, self, queue, agent)):
                self._set_free(queue, agent)
            elif agent_id in queue.free:
                self._set_busy(queue, agent_id)
            if queue.conditional:
                self._recheck_conditional(state, queue, agent_id)

    def _recheck_conditional(self, state: State, queue: ReadyQueue, except_id: str) -> None:
        """Recompute the agents that may take a task only if no other agent of the queue can (`free.is_free`)."""
        for agent_id in [agent_id for agent_id in queue.conditional if agent_id != except_id]:
            agent = state.agents[agent_id]
            if self._has_room(state, agent) and is_free(state, self, queue, agent):
                self._set_free(queue, agent)
            elif agent_id in queue.free:
                self._set_busy(queue, agent_id)

    def _set_free(self, queue: ReadyQueue, agent: Agent) -> None:
        agent_id, free, best = agent.id, queue.free, queue.best
        if not free and queue.levels:
            self._queues_to_rank[queue.key] = queue
        free[agent_id] = None
        if best is not None:
            order = (RULES[self.slots[queue.supervisor_id].balance](agent), agent.turn_seq or 0, int(agent_id[1:]))
            if best.ranks.get(agent_id) != order:
                best.put(agent_id, order)

    def _set_busy(self, queue: ReadyQueue, agent_id: str) -> None:
        del queue.free[agent_id]
        if queue.best is not None:
            queue.best.drop(agent_id)
        if not queue.free and queue.levels:
            self._queues_to_rank[queue.key] = queue

    def _update_pool(self, state: State, agent: Agent) -> None:
        unwatched = agent.idle_ms is not None and timer_id("pool", agent.id) not in state.timers
        if unwatched or must_grow(state, agent):
            self.resizable.setdefault(agent.id)
        else:
            self.resizable.pop(agent.id, None)

    def _update_rank(self, state: State, queue: ReadyQueue) -> None:
        """Update the rank of a queue at its supervisor; drop it if it is not open."""
        key, slots = queue.key, self.slots.get(queue.supervisor_id)
        if slots is None or key not in self.queues:
            return
        if not queue.shared and slots.running >= state.supervisors[queue.supervisor_id].max_parallel:
            slots.unranked[key] = queue
            return
        ranking = slots.offers if queue.shared else slots.own
        previous_order = ranking.ranks.get(key)
        if queue.levels and queue.free:
            order = queue.order(slots.ageing_ms)
            if order == previous_order:
                return
            ranking.put(key, order)
        elif previous_order is None:
            return
        else:
            ranking.drop(key)
        self._supervisors_to_offer[queue.supervisor_id] = None

    def next_queue(self, state: State) -> ReadyQueue | None:
        """Return the queue from which a task begins next; None if nothing can begin."""
        if self._next is None:
            if self._fast_path_agent is not None:
                self._next = self._queue_for(state, self._fast_path_agent)
                if self._next is None:
                    self._settle(state)
            if self._next is None and self.roots.heap:
                self._next = first_queue_under(state, self, self.roots.heap[0][3])
        return self._next

    def _queue_for(self, state: State, agent: Agent) -> ReadyQueue | None:
        """Return the queue from which the agent of the fast path begins next; None if it may not begin anything."""
        ancestor: Supervisor | None = state.supervisors[agent.supervisor_id]
        slots = self.slots[agent.supervisor_id]
        if not self._fast_path_queues or (ancestor is not None and slots.running >= ancestor.max_parallel):
            return None
        while ancestor is not None:
            if ancestor.paused or ancestor.held or self.slots[ancestor.id].is_full(ancestor):
                return None
            ancestor = state.supervisors[ancestor.parent_id] if ancestor.parent_id is not None else None
        if len(self._fast_path_queues) == 1:
            return self._fast_path_queues[0]
        return min(self._fast_path_queues, key=lambda ready_queue: ready_queue.order(slots.ageing_ms))

    def next_task(self, queue: ReadyQueue) -> str:
        """Return the id of the next task of a queue that is not empty."""
        return queue.next_task(self.slots[queue.supervisor_id].ageing_ms)

    def next_agent(self, state: State, queue: ReadyQueue, task_id: str | None = None) -> Agent:
        """Return the free agent that gets the next task of a queue, or the given task of it."""
        if self._fast_path_agent is not None:
            return self._fast_path_agent
        if queue.best is None:
            return state.agents[next(iter(queue.free))]
        # This rule depends on the category of the task, so no heap can rank the agents in advance.
        if self.slots[queue.supervisor_id].balance == "track_record":
            return self._best_by_track_record(state, queue.best, task_id or self.next_task(queue))
        return state.agents[queue.best.heap[0][3]]

    def agent_for(self, state: State, task: Task) -> Agent | None:
        """Return the agent that would get a ready task now; None if none is free for it."""
        place = self._places.get(task.id)
        queue = None if place is None else self.queues.get(place[0])
        return None if queue is None or not queue.free else self.next_agent(state, queue, task.id)

    @staticmethod
    def _best_by_track_record(state: State, best: Ranking, task_id: str) -> Agent:
        """Return the agent with the best track record in the category of a task; ties go to the one free longest."""
        category = state.runs[state.tasks[task_id].run_id].category or ""
        free = (state.agents[agent_id] for agent_id in best.ranks)
        return min(free, key=lambda agent: (track_record(agent, category), best.ranks[agent.id]))

    def has_slot(self, state: State, supervisor: Supervisor) -> bool:
        """Return True while an agent of a supervisor may begin one more attempt."""
        if self.slots[supervisor.id].running >= supervisor.max_parallel:
            return False
        return not any(self.slots[ancestor.id].is_full(ancestor) for ancestor in lineage_of(state, supervisor))

    def ready(self, state: State, key: str, *, lowest_priority: int = LOWEST_PRIORITY) -> Iterator[str]:
        """Yield the ready tasks of a queue from `lowest_priority` up, in the order in which they would begin."""
        queue = self.queues.get(key)
        if queue is not None:
            yield from queue.in_order(
                self.slots[queue.supervisor_id].ageing_ms, state.at_ms, lowest_priority=lowest_priority
            )

    def first_urgent(self, state: State, key: str) -> str | None:
        """Return the first task of a queue that may preempt."""
        urgent_priority = self.slots[state.queues[key].supervisor_id].urgent
        ready_ids = self.ready(state, key, lowest_priority=urgent_priority)
        return next((task_id for task_id in ready_ids if task_id in self.urgent), None)

    def is_open(self, state: State, key: str) -> bool:
        """Return True while an agent is free for a queue."""
        queue = self.queues.get(key)
        if queue is not None and (queue.levels or queue.best is not None):
            return bool(queue.free)
        # A single-agent queue without ready tasks keeps no free agent (`queues`), so it is computed here.
        ready_queue = self._queue_of(state, key)
        agents = (state.agents[agent_id] for agent_id in state.queues[key].agents)
        return any(self._has_room(state, agent) and is_free(state, self, ready_queue, agent) for agent in agents)

    def _has_room(self, state: State, agent: Agent) -> bool:
        return agent.has_room and not self.lacks_process(state, agent)

    def holders_of_processes(self) -> list[str]:
        """Return the ids of tasks whose attempts hold processes."""
        return [task_id for task_id, (_, in_process) in self._held_slots.items() if in_process]

    def lacks_process(self, state: State, agent: Agent) -> bool:
        """Return True for an agent with `run_in: process` while no process slot is free for it."""
        if agent.id not in self._in_processes:
            return False
        return exhausted_process_limit(state, self, state.supervisors[agent.supervisor_id]) is not None
