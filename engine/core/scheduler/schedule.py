"""The schedule of a state: built by `Schedule.of`, and followed event by event where it is kept.

One rule holds inside: where an entity stands follows from its fields alone, so building and following go through the
same functions, and a kept schedule equals one that is built anew (a law, `legality.schedule`).
"""

from collections.abc import Iterator

from engine.core.balancing import RULES, track_record
from engine.core.fold.slots import must_grow
from engine.core.queries.queues import back_queue
from engine.core.queries.tree import above_of, agents_in, below_of
from engine.core.scheduler.free import full_of_processes, is_free, limits_on_processes
from engine.core.scheduler.ready_queues import Line, Ranking
from engine.core.scheduler.slots import Slots, leads_to, offer
from engine.core.state import Agent, State, Supervisor, Task, timer_id
from engine.core.validation.bounds import LOWEST_PRIORITY


class Schedule:
    """What can begin in a state.

    Attributes:
        lines: Queues by key. Who is free for a queue of one agent is said while something is ready in it.
        slots: What each supervisor has in use, by its id.
        roots: Roots under which something can begin, by the best of that.
        urgent: Ready tasks that take slots from others and have none to come, each with the event that put it here.
        resizable: Pools that have to grow, or have to be watched because an instance has nothing to do.
        processes: Processes in use under roots for which no limit on them is set.
        changed: What the fold has changed: tasks, agents, supervisors; queues by key.
        agents: Agents that the fold has changed, by id.
        stale: The team has changed in a way that is not followed: all is built anew.
        pressed: What is at work may have become less urgent than the urgent tasks: they are looked at again.
    """

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}
        self.slots: dict[str, Slots] = {}
        self.roots = Ranking()
        self.urgent: dict[str, int] = {}
        self.resizable: dict[str, None] = {}
        self.processes = 0
        self.changed: list[Task | Supervisor | str] = []
        self.agents: dict[str, Agent] = {}
        self.stale = False
        self.pressed = False
        self._places: dict[str, tuple[str, int, int, str]] = {}
        """Of each ready task its queue, its priority, the event since which it waits, and its run."""
        self._held: dict[str, tuple[str, bool]] = {}
        """Of each task with a slot: whose the slot is, and whether it holds a process."""
        self._shared: dict[str, None] = {}
        """Lines that several teams take from."""
        self._in_processes: dict[str, None] = {}
        """Agents that work in processes."""
        self._ranked_anew: dict[str, Line] = {}
        """Lines whose rank may be another."""
        self._offered_anew: dict[str, None] = {}
        """Supervisors under which something else may begin first."""
        self._freed: Agent | None = None
        """The one agent that takes tasks and stands in no line as free: what it begins next is found by its queues."""
        self._ready: list[Line] = []
        """Its lines in which something is ready."""
        self._next: Line | None = None
        """What begins next, where that was asked for since the last change."""

    @staticmethod
    def of(state: State) -> "Schedule":
        """Return the schedule of a state, which is kept current by the fold from the first time on."""
        kept: Schedule | None = state.schedule
        if kept is None:
            kept = Schedule.built(state)
            vars(state)["schedule"] = kept
        elif kept._freed is not None:
            kept._settle(state)
        return kept

    @staticmethod
    def built(state: State) -> "Schedule":
        """Return a new schedule of a state."""
        schedule = Schedule()
        schedule._build(state)
        return schedule

    def follow(self, state: State) -> None:
        """Bring everything that the fold has changed to its place."""
        if self.stale:
            before = self.urgent
            self.__init__()  # type: ignore[misc]  # everything in it is made anew
            self._build(state)
            known = {task_id: seq for task_id, seq in before.items() if task_id in self.urgent}
            self.urgent = {**known, **{one: state.seq for one in self.urgent if one not in known}}
        elif self.changed or self.agents:
            self._follow(state)
        if self.pressed:
            self.pressed, self.urgent = False, dict.fromkeys(self.urgent, state.seq)

    def _build(self, state: State) -> None:
        self.changed += state.supervisors.values()
        self.changed += state.tasks.values()
        self.agents.update(state.agents)
        self._follow(state)
        self._settle(state)

    def _follow(self, state: State) -> None:
        self._next = None
        if self.changed:
            for one in self.changed:
                if type(one) is Task:
                    self._task(state, one)
                elif type(one) is str:
                    self._queue(state, one)
                else:
                    self._supervisor(state, one)  # type: ignore[arg-type]
            self.changed.clear()
        agents, freed = self.agents, self._freed
        if freed is not None:
            self._freed, agents[freed.id] = None, freed
        if len(agents) == 1:
            _, agent = agents.popitem()
            if agent.takes_tasks and self._stands_aside(state, agent):
                self._freed = agent
            else:
                self._agent(state, agent)
        while agents:
            self._agent(state, agents.popitem()[1])
        while self._ranked_anew:
            self._rank(self._ranked_anew.popitem()[1])
        while self._offered_anew:
            supervisor = state.supervisors.get(self._offered_anew.popitem()[0])
            if supervisor is not None:
                offer(state, self, supervisor)

    def _stands_aside(self, state: State, agent: Agent) -> bool:
        """Return whether nothing else can begin than by this agent, so that only its queues are looked at next.

        Most agents that end an attempt begin another at once; they are in no line meanwhile.
        """
        if self.roots.heap or self._ranked_anew or self._offered_anew:
            return False
        agent_id, lines, ready = agent.id, self.lines, []
        if agent_id not in state.agents or agent_id in state.pools or state.specs[agent.spec].run_in == "process":
            return False
        for key in agent.queues:
            line = lines.get(key)
            if line is None:
                if key.startswith("able:"):
                    return False
            elif line.shared or line.bound or agent_id in line.free:
                return False
            elif line.lanes:
                ready.append(line)
        self._ready = ready
        return True

    def _settle(self, state: State) -> None:
        """Put the agent that stands aside among the others."""
        agent, self._freed = self._freed, None
        if agent is not None:
            self._agent(state, agent)
            while self._ranked_anew:
                self._rank(self._ranked_anew.popitem()[1])
            while self._offered_anew:
                offer(state, self, state.supervisors[self._offered_anew.popitem()[0]])

    # Tasks

    def _task(self, state: State, task: Task) -> None:
        """Bring a task to its place in its queue, and take its slot, or give it back."""
        task_id, attempt = task.id, task.attempt
        if task.ready:
            self._place(state, task, task.queue or "", task.ready_seq or 0, task.ready_ms)
        elif attempt is not None and attempt.back_seq is not None:
            self._place(state, task, back_queue(attempt.agent_id or ""), attempt.back_seq, attempt.back_ms)
        elif (was := self._places.pop(task_id, None)) is not None:
            self._leave(state, task_id, was)
        elif task.held_back and (line := self.lines.get(task.queue or "")) is not None:
            line.turn_given_back(state.runs[task.run_id], task.priority)
            self._ranked_anew[line.key] = line
        held = self._held.get(task_id)
        if attempt is not None and not attempt.parked and attempt.agent_id is not None:
            now = state.agents[attempt.agent_id].supervisor_id, attempt.in_process
            if now != held:
                if held is not None:
                    self._count(state, held[0], -1, processes=-held[1])
                self._held[task_id] = now
                self._count(state, now[0], 1, processes=+now[1])
        elif held is not None:
            del self._held[task_id]
            self._count(state, held[0], -1, processes=-held[1])
        if task.ready and task.taking is None and self._is_urgent(state, task):
            if task_id not in self.urgent:
                self.urgent[task_id] = state.seq
        elif self.urgent:
            self.urgent.pop(task_id, None)

    def _place(self, state: State, task: Task, key: str, seq: int, ms: int) -> None:
        task_id, place = task.id, (key, task.priority, seq, task.run_id)
        was = self._places.get(task_id)
        if was == place:
            return
        if was is not None:
            self._leave(state, task_id, was)
        self._places[task_id] = place
        line = self._line(state, key)
        if not line.lanes and line.best is None:  # only now it matters whether its one agent is free
            for one in state.queues[key].agents:
                self.agents[one] = state.agents[one]
        line.put(task_id, state.runs[task.run_id], priority=task.priority, seq=seq, ms=ms)
        if line.free:
            self._ranked_anew[key] = line

    def _leave(self, state: State, task_id: str, place: tuple[str, int, int, str]) -> None:
        key, priority, _, run_id = place
        line = self.lines.get(key)
        if line is not None:
            line.take(task_id, run_id, state.runs.get(run_id), priority=priority)
            if line.free:
                self._ranked_anew[key] = line
                if line.best is None and not line.lanes:
                    line.free.clear()

    def _count(self, state: State, supervisor_id: str, by: int, *, processes: int) -> None:
        """Count a slot, and a process; where a limit is met, look at who is free."""
        slots = self.slots[supervisor_id]
        slots.running += by
        supervisor = state.supervisors[supervisor_id]
        if slots.running == supervisor.max_parallel - (by < 0):
            self._offered_anew[supervisor_id] = None
            self._look_below(state, supervisor, deep=False)
        for above_id in slots.capped:
            above = state.supervisors[above_id]
            total = self.slots[above_id]
            total.total += by
            if total.total == (above.options.max_total or 0) - (by < 0):
                self._offered_anew[above_id] = None
                self._look_below(state, above)
        if not processes:
            return
        for one in above_of(state, supervisor):
            self.slots[one.id].processes += processes
            if one.parent_id is None and one.options.processes is None:
                self.processes += processes
        edge = 0 if processes > 0 else -1
        if any(used == most + edge for _, used, most in limits_on_processes(state, self, supervisor)):
            self.agents.update((one, state.agents[one]) for one in self._in_processes if one in state.agents)

    def _is_urgent(self, state: State, task: Task) -> bool:
        queue = state.queues[task.queue or ""]
        return task.priority <= self.slots[queue.supervisor_id].urgent

    # The team

    def _supervisor(self, state: State, supervisor: Supervisor) -> None:
        """Look anew at what may begin under a supervisor."""
        if supervisor.id in state.supervisors:
            if supervisor.id not in self.slots:
                self.slots[supervisor.id] = Slots(state, supervisor)
            self._offered_anew[supervisor.id] = None
            self._look_below(state, supervisor)
        elif self.slots.pop(supervisor.id, None) is not None and supervisor.parent_id is None:
            self.roots.drop(supervisor.id)
        elif supervisor.parent_id in self.slots:
            self.slots[supervisor.parent_id].offers.drop(supervisor.id)
            self._offered_anew[supervisor.parent_id] = None

    def _look_below(self, state: State, supervisor: Supervisor, *, deep: bool = True) -> None:
        """Look anew at agents under a supervisor that take from queues which teams share."""
        if not self._shared:
            return
        for team in below_of(state, supervisor) if deep else (supervisor,):
            for agent in agents_in(state, team):
                if any(key in self._shared for key in agent.queues):
                    self.agents[agent.id] = agent

    def _queue(self, state: State, key: str) -> None:
        """Let nobody be free for a queue who has left it; drop one that is gone."""
        line, queue = self.lines.get(key), state.queues.get(key)
        if line is None:
            return
        if queue is None:
            del self.lines[key]
            self._shared.pop(key, None)
            slots = self.slots.get(line.supervisor_id)
            if slots is not None:
                (slots.offers if line.shared else slots.own).drop(key)
                self._offered_anew[line.supervisor_id] = None
            return
        agents = set(queue.agents)
        for gone in [one for one in line.bound if one not in agents]:
            del line.bound[gone]
        for gone in [one for one in line.free if one not in agents]:
            self._set_busy(line, gone)
        self.agents.update((one, state.agents[one]) for one in line.bound)

    def _line(self, state: State, key: str) -> Line:
        line = self.lines.get(key)
        if line is None:
            line = self.lines[key] = Line(state.queues[key])
            if line.shared:
                self._shared[key] = None
        return line

    # Agents

    def _agent(self, state: State, agent: Agent) -> None:
        """Let an agent be free, or not, for each queue that it serves and that has others, or something ready."""
        agent_id, lines = agent.id, self.lines
        if agent_id not in state.agents:
            self._in_processes.pop(agent_id, None)
            self.resizable.pop(agent_id, None)
            return
        room = len(agent.running) + agent.stuck < agent.max_concurrency
        if state.specs[agent.spec].run_in == "process":
            self._in_processes[agent_id] = None
            room = room and not self.lacks_process(state, agent)
        elif self._in_processes:
            self._in_processes.pop(agent_id, None)
        if agent_id in state.pools or agent_id in self.resizable:
            self._pool(state, agent)
        plain = (
            room
            and agent.error is None
            and agent.circuit == "closed"
            and agent.exhausted is None
            and agent.removing is None
            and not (agent.paused or agent.away)
        )
        for key in agent.queues:
            line = lines.get(key)
            if line is None:
                if not key.startswith("able:"):
                    continue
                line = self._line(state, key)
            elif line.best is None and not line.lanes:
                continue
            if line.bound:
                line.bound.pop(agent_id, None)
            if (plain and not line.shared) or (room and is_free(state, self, line, agent)):
                self._set_free(line, agent)
            elif agent_id in line.free:
                self._set_busy(line, agent_id)
            if line.bound:
                self._look_at_bound(state, line, agent_id)

    def _look_at_bound(self, state: State, line: Line, but: str) -> None:
        for agent_id in [one for one in line.bound if one != but]:
            agent = state.agents[agent_id]
            if self._has_room(state, agent) and is_free(state, self, line, agent):
                self._set_free(line, agent)
            elif agent_id in line.free:
                self._set_busy(line, agent_id)

    def _set_free(self, line: Line, agent: Agent) -> None:
        agent_id, free, best = agent.id, line.free, line.best
        if not free and line.lanes:
            self._ranked_anew[line.key] = line
        free[agent_id] = None
        if best is not None:
            order = (RULES[self.slots[line.supervisor_id].balance](agent), agent.turn_seq or 0, int(agent_id[1:]))
            if best.ranks.get(agent_id) != order:
                best.put(agent_id, order)

    def _set_busy(self, line: Line, agent_id: str) -> None:
        del line.free[agent_id]
        if line.best is not None:
            line.best.drop(agent_id)
        if not line.free and line.lanes:
            self._ranked_anew[line.key] = line

    def _pool(self, state: State, agent: Agent) -> None:
        unwatched = agent.idle_ms is not None and timer_id("pool", agent.id) not in state.timers
        if unwatched or must_grow(state, agent):
            self.resizable.setdefault(agent.id)
        else:
            self.resizable.pop(agent.id, None)

    # What begins first

    def _rank(self, line: Line) -> None:
        """Rank a queue among the open ones of its supervisor, or take it out."""
        key, slots = line.key, self.slots.get(line.supervisor_id)
        if slots is None or key not in self.lines:
            return
        ranking = slots.offers if line.shared else slots.own
        known = ranking.ranks.get(key)
        if line.lanes and line.free:
            order = line.order(slots.ageing_ms)
            if order == known:
                return
            ranking.put(key, order)
        elif known is None:
            return
        else:
            ranking.drop(key)
        self._offered_anew[line.supervisor_id] = None

    # Questions

    def next_line(self, state: State) -> Line | None:
        """Return the line out of which something begins next; None where nothing can begin."""
        if self._next is None:
            if self._freed is not None:
                self._next = self._line_of(state, self._freed)
                if self._next is None:
                    self._settle(state)
            if self._next is None and self.roots.heap:
                self._next = leads_to(state, self, self.roots.heap[0][3])
        return self._next

    def _line_of(self, state: State, agent: Agent) -> Line | None:
        """Return the line out of which an agent that stands aside begins something; None where it may not."""
        above: Supervisor | None = state.supervisors[agent.supervisor_id]
        slots = self.slots[agent.supervisor_id]
        if not self._ready or (above is not None and slots.running >= above.max_parallel):
            return None
        while above is not None:
            if above.paused or above.held or self.slots[above.id].is_full(above):
                return None
            above = state.supervisors[above.parent_id] if above.parent_id is not None else None
        return self._ready[0] if len(self._ready) == 1 else min(self._ready, key=lambda one: one.order(slots.ageing_ms))

    def next_task(self, line: Line) -> str:
        """Return the id of the task that has its turn in a line in which something is ready."""
        return line.next_task(self.slots[line.supervisor_id].ageing_ms)

    def next_agent(self, state: State, line: Line, task_id: str | None = None) -> Agent:
        """Return the free agent of a line that gets its next task, or another one that stands in it."""
        if self._freed is not None:
            return self._freed
        if line.best is None:
            return state.agents[next(iter(line.free))]
        if self.slots[line.supervisor_id].balance == "track_record":
            return self._best_at(state, line.best, task_id or self.next_task(line))
        return state.agents[line.best.heap[0][3]]

    def agent_for(self, state: State, task: Task) -> Agent | None:
        """Return who a ready task would be given to if it began now; None where nobody is free for it."""
        place = self._places.get(task.id)
        line = None if place is None else self.lines.get(place[0])
        return None if line is None or not line.free else self.next_agent(state, line, task.id)

    @staticmethod
    def _best_at(state: State, best: Ranking, task_id: str) -> Agent:
        """Return who did best before at work such as a task; of equals the one that has been free for longest."""
        category = state.runs[state.tasks[task_id].run_id].category or ""
        free = (state.agents[one] for one in best.ranks)
        return min(free, key=lambda agent: (track_record(agent, category), best.ranks[agent.id]))

    def has_slot(self, state: State, supervisor: Supervisor) -> bool:
        """Return True while an agent of a supervisor may begin one attempt more."""
        if self.slots[supervisor.id].running >= supervisor.max_parallel:
            return False
        return not any(self.slots[one.id].is_full(one) for one in above_of(state, supervisor))

    def ready(self, state: State, key: str, *, to: int = LOWEST_PRIORITY) -> Iterator[str]:
        """Yield the ready tasks of a queue, as urgent as `to` at least, in the order in which they would begin."""
        line = self.lines.get(key)
        if line is not None:
            yield from line.in_order(self.slots[line.supervisor_id].ageing_ms, state.at_ms, to=to)

    def first_urgent(self, state: State, key: str) -> str | None:
        """Return the task of a queue that is the first to have its turn of those that take a slot from others."""
        most = self.slots[state.queues[key].supervisor_id].urgent
        return next((task_id for task_id in self.ready(state, key, to=most) if task_id in self.urgent), None)

    def is_open(self, state: State, key: str) -> bool:
        """Return True while an agent is free for a queue."""
        line = self.lines.get(key)
        if line is not None and (line.lanes or line.best is not None):
            return bool(line.free)
        agents = (state.agents[one] for one in state.queues[key].agents)
        return any(self._has_room(state, one) and is_free(state, self, self._line(state, key), one) for one in agents)

    def _has_room(self, state: State, agent: Agent) -> bool:
        return agent.has_room and not self.lacks_process(state, agent)

    def holders_of_processes(self) -> list[str]:
        """Return the ids of tasks whose attempts hold processes."""
        return [task_id for task_id, (_, in_process) in self._held.items() if in_process]

    def lacks_process(self, state: State, agent: Agent) -> bool:
        """Return True for an agent that works in processes while none is free for it."""
        if agent.id not in self._in_processes:
            return False
        return full_of_processes(state, self, state.supervisors[agent.supervisor_id]) is not None
