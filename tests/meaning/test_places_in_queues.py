"""The place of equal work in a queue (docs/semantics/scheduling.md, Order in a queue), compared with `waiting_line`.

Runs with several items each wait for ada or bob, of whom one is at work at a time. Items fail once and come again after
a back-off, urgent requests take the slot of what is at work, and what waits is moved to the other agent: runs take
turns, in a run it is first come, first served, and what goes back has its old place.
"""

from dataclasses import dataclass, field
from typing import Any

import anyio
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine import AgentSpec, DynamicSupervisor, Retry, RetryLater, SupervisorOptions
from tests.depth import examples
from tests.meaning.diary import Diary
from tests.meaning.waiting_line import Team, Waiting, WaitingLine
from tests.patience import PATIENCE_S

STEPS = 2
BACK_OFF_S = 6.9
Act = tuple[str, Any, Any]
names = st.sampled_from(["ada", "bob"])
acts = st.one_of(
    st.tuples(st.just("request"), names, st.tuples(st.integers(1, 4), st.integers(4, 6), st.integers(0, 15))),
    st.tuples(st.just("request"), names, st.tuples(st.integers(1, 4), st.just(5), st.just(0))),
    st.tuples(st.just("urgent"), names, st.none()),
    st.tuples(st.just("reassign"), st.integers(0, 20), names),
)
"""A request is for an agent: so many items, a priority, and which of its items fail once, as bits."""


@dataclass
class Play:
    """Two queues at work, beside the waiting line that says what has to begin."""

    diary: Diary
    chiefs: dict[str, DynamicSupervisor] = field(default_factory=dict)
    teams: dict[str, Team] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)
    line: WaitingLine = field(default_factory=WaitingLine)
    due: list[tuple[float, Waiting]] = field(default_factory=list)
    """What backs off, and until when."""
    order: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    runs: dict[str, str] = field(default_factory=dict)

    def agent(self, name: str) -> AgentSpec:
        async def body(task: Any, ctx: Any) -> str:
            self._take_in_what_is_due()
            self.order.append(task.text)
            urgent = [task.text for task in self.line.waiting.values() if task.priority == 0]
            self.expected.append(urgent[0] if urgent else self.line.next())
            mine = self.line.began(task.text, self.diary.now_s())
            if task.text in self.failing:
                self.failing.remove(task.text)
                back_off_s = BACK_OFF_S + 0.013 * len(self.order)  # not the moment at which anything else happens
                self.due.append((self.diary.now_s() + back_off_s, mine))
                raise RetryLater(back_off_s)
            has_ended = False
            try:
                for number in range(STEPS):
                    await ctx.step(f"step {number}", self.diary.works, 1)
                has_ended = True
            finally:
                if not has_ended:
                    self.line.back(mine)
            return str(task.text)

        return self.diary.agent(name, body=body, on_failure=[Retry(1, 0.001, 0.001)])

    async def act(self, number: int, act: Act) -> None:
        what, which, value = act
        run = f"{number}"
        if what == "request":
            count, priority, failing = value
            items = [f"{run}.{place}" for place in range(count)]
            self.failing.update(item for place, item in enumerate(items) if failing >> place & 1)
            for item in items:
                self.line.ready(item, run, self.teams[which], which, priority, self.diary.now_s())
            self.runs[run] = await self.chiefs[which].submit(items, priority=priority)
        elif what == "urgent":
            self.line.ready(f"{run}.0", run, self.teams[which], which, 0, self.diary.now_s())
            self.runs[run] = await self.chiefs[which].submit([f"{run}.0"], priority=0)
        else:
            await self._reassign(which, value)

    def _take_in_what_is_due(self) -> None:
        for due_s, task in sorted(self.due, key=lambda pair: pair[0]):
            if due_s < self.diary.now_s() + 0.002:  # the wait that was asked for is rounded up
                self.due.remove((due_s, task))
                self.line.ready(task.text, task.run, task.team, task.agent, task.priority, due_s)

    async def _reassign(self, which: int, agent: str) -> None:
        waiting = [task for task in self.line.waiting.values() if task.agent != agent and task.priority]
        if waiting:
            task, top = waiting[which % len(waiting)], self.chiefs["top"]
            (node,) = (node for node in top._state.tasks.values() if node.title == task.text)
            (agent_id,) = (member.id for member in top._state.agents.values() if member.name == agent)
            await top.reassign(node.id, f"@{agent_id}")
            self.line.ready(task.text, task.run, self.teams[agent], agent, task.priority, self.diary.now_s())


async def play_script(script: list[tuple[int, Act]]) -> Play:
    diary = Diary()
    play = Play(diary)
    top = diary.supervisor("top", options=SupervisorOptions(max_total=1))
    play.chiefs["top"], here = top, Team("top")
    for name in ("ada", "bob"):
        settings = {"to": name}
        team = diary.supervisor(f"of_{name}", play.agent(name), coordination_mode="map", coordination_settings=settings)
        play.chiefs[name], play.teams[name] = team, Team(f"of_{name}", here)
        await top.add_sub_supervisor(f"of_{name}", team)
    async with top:
        for number, (at_ms, act) in enumerate(sorted(script, key=lambda pair: pair[0])):
            async with diary.at((at_ms * 100 + number + 1) / 1000):
                play._take_in_what_is_due()
                await play.act(number, act)
        with anyio.fail_after(PATIENCE_S):
            for run in play.runs.values():
                await top.wait(run)
    return play


@given(st.lists(st.tuples(st.integers(0, 200), acts), min_size=3, max_size=10))
@example([(0, ("request", "ada", (3, 5, 0))), (1, ("request", "ada", (3, 5, 0))), (25, ("urgent", "ada", None))])
@settings(max_examples=examples(25))
def test_equal_work_keeps_its_place_and_runs_take_turns(script: list[tuple[int, Act]]) -> None:
    play = anyio.run(play_script, script)

    assert play.order == play.expected
    assert not play.line.waiting
