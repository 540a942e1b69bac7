"""Deadlines of tasks with tasks below them (docs/semantics/limits.md, Deadlines), reckoned by hand.

A lead asks a team and an agent; beside it works another member. Deadlines are set for the run, the lead, the team, or
single agents. From the sentences of the page follows which steps each agent finishes, and when: what has not begun by
then never begins, what is at work ends its step within the grace and begins no other, and what stands beside goes on.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine import CommandRefusedError, DynamicSupervisor, SupervisorOptions
from engine.errors import DelegationFailed
from tests.depth import examples
from tests.meaning.diary import Diary, during

WORKERS = ("ann", "ben", "zoe", "other")
ABOVE = {"ann": "crew", "ben": "crew", "crew": "lead", "zoe": "lead", "lead": "run", "other": "run"}
"""What each task is part of."""
SET_AT_S = 0.5
Steps = dict[str, list[int]]
Settings = list[tuple[str, int | None]]
"""What gets a deadline after so many seconds and a bit, or has its own taken away."""
seconds = st.lists(st.integers(1, 4), min_size=1, max_size=3)
steps = st.fixed_dictionaries(dict.fromkeys(WORKERS, seconds))
deadlines = st.lists(
    st.tuples(st.sampled_from(["run", *ABOVE]), st.one_of(st.integers(0, 11), st.integers(0, 11), st.none())),
    min_size=1,
    max_size=4,
)


@dataclass
class Reckoning:
    """What each agent has to do, by the sentences of the page."""

    steps: Steps
    grace_s: float
    own: dict[str, float] = field(default_factory=dict)
    """When the deadline of each passes that has one of its own."""

    def due(self, name: str | None) -> float:
        """Return when the earliest deadline passes of something and all that it is part of."""
        if name is None:
            return float("inf")
        return min(self.own.get(name, float("inf")), self.due(ABOVE.get(name)))

    def is_refused(self, name: str, due_s: float) -> bool:
        """Nothing has a later deadline than what it is part of."""
        return due_s > self.due(ABOVE.get(name))

    def finished(self, name: str, begins_s: float) -> list[float]:
        """Return when each step of an agent ends that ends."""
        due_s, now_s, ends = self.due(name), begins_s, []
        for takes_s in self.steps[name]:
            if now_s > due_s or (now_s + takes_s > due_s + self.grace_s):
                break
            now_s += takes_s
            ends.append(now_s)
        return ends

    def expected(self) -> dict[str, list[float]]:
        """Return when the finished steps of each agent end; an agent that does not begin is not there."""
        ends = {name: self.finished(name, 0) for name in ("ann", "zoe", "other")}
        ann = ends["ann"]
        if len(ann) == len(self.steps["ann"]) and ann[-1] < self.due("ben"):  # who ends within the grace is done
            ends["ben"] = self.finished("ben", ann[-1])
        return ends


async def play(steps: Steps, script: Settings, grace_s: float) -> None:
    diary, reckoning = Diary(), Reckoning(steps, grace_s)
    ends: dict[str, list[float]] = {}

    def worker(name: str) -> Any:
        async def body(task: Any, ctx: Any) -> str:
            ends[name] = []
            for number, takes_s in enumerate(steps[name]):
                await ctx.step(f"step {number}", diary.works, takes_s)
                ends[name].append(diary.now_s())
            return name

        return diary.agent(name, body=body)

    async def leads(task: Any, ctx: Any) -> str:
        async def ask(target: str) -> None:
            with suppress(DelegationFailed):
                await ctx.delegate(target, f"for {target}")

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "crew")
            group.start_soon(ask, "zoe")
        return "led"

    chief = diary.supervisor(
        "chief",
        *(diary.agent("lead", body=leads), worker("other"), worker("zoe")),
        coordination_mode="parallel",
        participants=["lead", "other"],
        options=SupervisorOptions(grace_s=grace_s),
    )
    await chief.add_sub_supervisor("crew", diary.supervisor("crew", worker("ann"), worker("ben")))

    async def act(run_id: str) -> None:
        async with diary.at(SET_AT_S):
            for name, after in script:
                after_s = None if after is None else after + 0.3
                target = run_id if name == "run" else _task(chief, name)
                if after_s is not None and reckoning.is_refused(name, SET_AT_S + after_s):
                    try:
                        await chief.set_deadline(target, after_s)
                    except CommandRefusedError:
                        continue
                    raise AssertionError(f"{name} gets a later deadline than what it is part of")
                await chief.set_deadline(target, after_s)
                reckoning.own.pop(name, None)
                if after_s is not None:
                    reckoning.own[name] = SET_AT_S + after_s

    async with chief:
        result = await during(diary, chief, act)

    assert ends == reckoning.expected()
    if reckoning.due("run") < sum(steps["other"]):
        assert result.status == "failed"
        assert "passed" in str(result.error)
    elif not reckoning.own:
        assert result.status == "done"


def _task(chief: DynamicSupervisor, name: str) -> str:
    state = chief._state
    workers = {agent.id for agent in state.agents.values() if agent.name == name}
    workers |= {team.id for team in state.supervisors.values() if team.name == name}
    return next(task.id for task in state.tasks.values() if task.worker_id in workers)


@given(steps, deadlines, st.sampled_from([0.0, 1.0, 5.0]))
@example({"ann": [2], "ben": [2], "zoe": [3, 3], "other": [4, 4]}, [("crew", 1)], 5.0)
@example({"ann": [2], "ben": [2], "zoe": [3, 3], "other": [4, 4]}, [("lead", 2), ("run", 5)], 1.0)
@example({"ann": [1], "ben": [4, 4], "zoe": [1], "other": [1]}, [("run", 9), ("lead", 3), ("crew", 6)], 0.0)
@example({"ann": [4], "ben": [1], "zoe": [1], "other": [1]}, [("lead", 3), ("ann", 6)], 5.0)
@settings(max_examples=examples(25))
def test_a_deadline_ends_what_is_below_it_in_time_and_nothing_beside_it(
    steps: Steps, script: Settings, grace_s: float
) -> None:
    anyio.run(play, steps, script, grace_s)
