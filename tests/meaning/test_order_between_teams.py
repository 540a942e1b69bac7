"""Which team's work begins next (docs/semantics/scheduling.md, Order in a queue), compared with `waiting_line`.

One attempt at a time is at work in the whole tree. Requests come at drawn times with drawn priorities to agents in four
teams, each with an ageing of its own or an inherited one. Meanwhile what waits gets another priority, is reassigned or
moves to another team with its agent, and an ageing is changed.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine import CommandRefusedError, DynamicSupervisor, SupervisorOptions
from tests.depth import examples
from tests.meaning.diary import Diary
from tests.meaning.waiting_line import Team, WaitingLine
from tests.patience import PATIENCE_S

AGENTS = {"ada": "top", "bob": "north", "cyd": "south", "dan": "deep"}
TEAMS = {"top": None, "north": "top", "south": "top", "deep": "south"}
Act = tuple[str, Any, Any]
ASK_ADA, ASK_BOB, ASK_CYD = (("request", name, 5) for name in ("ada", "bob", "cyd"))
ageings = st.sampled_from([None, 0, 1, 4, 15])
priorities = st.integers(4, 6)
requests = st.tuples(st.just("request"), st.sampled_from([*AGENTS]), priorities)
acts = st.one_of(
    requests,
    requests,
    requests,
    st.tuples(st.just("priority"), st.integers(0, 9), priorities),
    st.tuples(st.just("reassign"), st.integers(0, 9), st.sampled_from([*AGENTS])),
    st.tuples(st.just("move"), st.sampled_from(["bob", "cyd", "dan"]), st.sampled_from([*TEAMS])),
    st.tuples(st.just("ageing"), st.sampled_from([*TEAMS]), ageings.filter(lambda ageing_s: ageing_s is not None)),
)


@dataclass
class Play:
    """A tree of teams at work, beside the waiting line that says what has to begin."""

    diary: Diary
    teams: dict[str, Team]
    line: WaitingLine = field(default_factory=WaitingLine)
    homes: dict[str, Team] = field(default_factory=dict)
    chiefs: dict[str, DynamicSupervisor] = field(default_factory=dict)
    takes_s: float = 3
    order: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    runs: dict[str, str] = field(default_factory=dict)

    def body(self, name: str) -> Any:
        async def body(task: Any, ctx: Any) -> str:
            self.order.append(task.text)
            self.expected.append(self.line.next())
            self.line.began(task.text, self.diary.now_s())
            await ctx.sleep(self.takes_s)
            return str(task.text)

        return self.diary.agent(name, body=body)

    async def act(self, number: int, act: Act) -> None:
        what, which, value = act
        text = f"{number}"
        if what == "request" and self.homes[which].name == AGENTS[which]:  # a team without agents takes no request
            self.line.ready(text, text, self.homes[which], which, value, self.diary.now_s())
            self.runs[text] = await self.chiefs[which].submit(text, priority=value)
        elif what != "request":
            with suppress(CommandRefusedError):  # what is so already
                await self._change(what, which, value)

    async def _change(self, what: str, which: Any, value: Any) -> None:
        top, waiting = self.chiefs["top"], [*self.line.waiting.values()]
        if what == "ageing":
            await self.chiefs[which].set_options(SupervisorOptions(ageing_s=value))
            self.teams[which].ageing_s = value
        elif what == "move":
            await top.move(which, value)
            self.homes[which] = self.teams[value]
            for task in waiting:
                task.team = self.homes[task.agent]
        elif waiting:
            task = waiting[which % len(waiting)]
            run_id = self.runs[task.text]
            if what == "priority":
                await top.set_priority(run_id, value)
                task.priority = value
            else:
                nodes = top._state.tasks.values()
                (node,) = (task.id for task in nodes if task.run_id == run_id and task.kind == "agent")
                await top.reassign(node, f"@{self._id(value)}")
                self.line.ready(task.text, task.run, self.homes[value], value, task.priority, self.diary.now_s())

    def _id(self, name: str) -> str:
        return next(agent.id for agent in self.chiefs["top"]._state.agents.values() if agent.name == name)


async def play_script(chosen: list[float | None], script: list[tuple[int, Act]], takes_s: float) -> Play:
    diary = Diary()
    teams: dict[str, Team] = {}
    for (name, above), ageing_s in zip(TEAMS.items(), chosen, strict=True):
        teams[name] = Team(name, teams.get(above or ""), ageing_s)
    play = Play(diary, teams, takes_s=takes_s, homes={agent: teams[team] for agent, team in AGENTS.items()})
    supervisors: dict[str, DynamicSupervisor] = {}
    for name, above in TEAMS.items():
        (agent,) = (agent for agent, team in AGENTS.items() if team == name)
        options = SupervisorOptions(ageing_s=teams[name].ageing_s, max_total=1 if above is None else None)
        supervisors[name] = diary.supervisor(name, play.body(agent), options=options, participants=[agent])
    for name, above in reversed(TEAMS.items()):
        if above is not None:
            await supervisors[above].add_sub_supervisor(name, supervisors[name])
    play.chiefs = supervisors | {agent: supervisors[team] for agent, team in AGENTS.items()}
    async with supervisors["top"]:
        for number, (at_ms, act) in enumerate(sorted(script, key=lambda pair: pair[0])):
            # Each moment has a remainder of its own, so that nothing happens at the moment at which an attempt ends.
            async with diary.at((at_ms * 100 + number + 1) / 1000):
                await play.act(number, act)
        with anyio.fail_after(PATIENCE_S):
            for run in play.runs.values():
                await supervisors["top"].wait(run)
    return play


@given(
    st.lists(ageings, min_size=4, max_size=4),
    st.lists(st.tuples(st.integers(0, 150), acts), min_size=4, max_size=14),
    st.sampled_from([3, 3, 3, 31]),
)
@example([0, 1, 1, None], [(0, ("request", "ada", 5)), (1, ("request", "bob", 6)), (20, ("request", "cyd", 5))], 3)
@example([1, 0, 1, None], [(0, ASK_ADA), (1, ("request", "dan", 6)), (2, ("request", "dan", 5)), (25, ASK_BOB)], 3)
@example([None, None, 1, None], [(0, ASK_ADA), (1, ("request", "dan", 6)), (26, ("request", "dan", 5))], 3)
@example([0, *[None] * 3], [(0, ASK_ADA), (1, ("request", "ada", 6)), (2, ASK_ADA), (3, ASK_ADA), (900, ASK_ADA)], 31)
@example([1, *[None] * 3], [(0, ASK_ADA), (1, ("request", "bob", 6)), (10, ASK_CYD), (20, ("priority", 0, 5))], 3)
@settings(max_examples=examples(25))
def test_work_of_several_teams_begins_in_the_order_of_the_page(
    chosen: list[float | None], script: list[tuple[int, Act]], takes_s: float
) -> None:
    play = anyio.run(play_script, chosen, script, takes_s)

    assert play.order == play.expected
    assert len(play.order) == len(play.runs)
