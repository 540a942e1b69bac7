"""An independent reading of docs/semantics/scheduling.md: which of the waiting tasks begins next.

A program writes down when each task became ready, went back or began. Nothing here is computed as the core does it: no
heaps, no schedule that is kept up to date; every choice looks at all that waits.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

DEFAULT_AGEING_S = 60


@dataclass(slots=True)
class Team:
    """A supervisor, as far as its place in the order goes."""

    name: str
    above: "Team | None" = None
    ageing_s: float | None = None
    """None is inherited."""

    def ageing(self) -> float:
        """Return the seconds of waiting that are worth one priority level here."""
        if self.ageing_s is not None:
            return self.ageing_s
        return DEFAULT_AGEING_S if self.above is None else self.above.ageing()

    def path(self) -> list["Team"]:
        """Return the teams from the top down to this one."""
        return [self] if self.above is None else [*self.above.path(), self]


@dataclass(slots=True)
class Waiting:
    """A task that waits in the queue of an agent."""

    text: str
    run: str
    team: Team
    agent: str
    priority: int
    arrival: int
    """A number that grows with each task that becomes ready."""
    since_s: Fraction
    """When it became ready."""


Place = tuple[str, int, str]
"""Queue, priority level and run: what takes turns there."""


@dataclass(slots=True)
class WaitingLine:
    """All that waits under one top supervisor that runs one attempt at a time."""

    waiting: dict[str, Waiting] = field(default_factory=dict)
    arrivals: int = 0
    turns: dict[Place, list[tuple[str, int, Fraction]]] = field(default_factory=dict)
    """Of each place the turns that count: the task, and when its turn was, as in `Waiting`."""

    def ready(self, text: str, run: str, team: Team, agent: str, priority: int, now_s: float) -> None:
        """Note that a task has become ready."""
        self.arrivals += 1
        self.waiting[text] = Waiting(text, run, team, agent, priority, self.arrivals, Fraction(str(now_s)))

    def began(self, text: str, now_s: float) -> Waiting:
        """Note that a task began: it had a turn of its run."""
        self.arrivals += 1
        task = self.waiting.pop(text)
        self.turns.setdefault(_place(task), []).append((text, self.arrivals, Fraction(str(now_s))))
        return task

    def back(self, task: Waiting) -> None:
        """Note that a task went back to its old place: it keeps its waiting time, and its turn does not count."""
        self.waiting[task.text] = task
        turns = self.turns.get(_place(task), [])
        turns[:] = [turn for turn in turns if turn[0] != task.text]

    def next(self) -> str:
        """Return the task that begins next."""
        return self._first([]).text

    def _first(self, path: list[Team]) -> Waiting:
        """Return the first task of a team: the better of what its own agents have and what the teams below offer."""
        depth = len(path)
        offers: dict[str, list[Waiting]] = {}
        for task in self.waiting.values():
            teams = task.team.path()
            if teams[:depth] == path:
                key = f"agent {task.agent}" if len(teams) == depth else f"team {teams[depth].name}"
                offers.setdefault(key, []).append(task)
        ageing_s = path[-1].ageing() if path else DEFAULT_AGEING_S
        best = [
            self._of_queue(tasks, ageing_s)
            if key.startswith("agent")
            else self._first(tasks[0].team.path()[: depth + 1])
            for key, tasks in offers.items()
        ]
        return min(best, key=lambda task: self._rank(task, ageing_s))

    def _of_queue(self, tasks: list[Waiting], ageing_s: float) -> Waiting:
        """Return the first task of a queue: of each level the run whose turn it is, of that run who came first."""
        return min(self._heads(tasks), key=lambda task: self._rank(task, ageing_s))

    def _heads(self, tasks: list[Waiting]) -> Iterator[Waiting]:
        runs: dict[Place, Waiting] = {}
        for task in sorted(tasks, key=lambda waiting: waiting.arrival):
            runs.setdefault(_place(task), task)
        for level in {task.priority for task in runs.values()}:
            yield min((task for task in runs.values() if task.priority == level), key=self._since)

    def _rank(self, task: Waiting, ageing_s: float) -> tuple[Fraction, Fraction, int]:
        """Return what the order goes by: `priority × ageing + since`; without ageing the priority, then the waiting."""
        arrival, since_s = self._since(task)
        aged = Fraction(str(ageing_s)) * task.priority + since_s
        return (aged, Fraction(0), arrival) if ageing_s else (Fraction(task.priority), since_s, arrival)

    def _since(self, task: Waiting) -> tuple[int, Fraction]:
        """Return since when the run of a task waits: since it became ready, or its last turn if that is later."""
        _, arrival, since_s = max(
            self.turns.get(_place(task), []), key=lambda turn: turn[1], default=("", 0, Fraction(-1))
        )
        return (arrival, since_s) if arrival > task.arrival else (task.arrival, task.since_s)


def _place(task: Waiting) -> Place:
    return task.agent, task.priority, task.run
