"""What each supervisor, agent and run has used (docs/semantics/limits.md, Accounting), added up by hand.

Agents in four teams report tokens and money in pieces, work for known times, fail and are tried again, delegate to
other teams, are stopped in the middle, and move to another team between requests. What an attempt spends counts for its
run, its agent, and every supervisor above the agent at that moment, up to the top, of failed and stopped attempts too.
"""

from collections import defaultdict
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import anyio
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine import AgentSpec, DynamicSupervisor, Retry, SupervisorOptions
from engine.core.records.values import Usage
from tests.depth import examples
from tests.meaning.diary import Diary, told

AGENTS = {"ada": "top", "bob": "north", "cyd": "south", "dan": "deep"}
TEAMS: dict[str, str | None] = {"top": None, "north": "top", "south": "top", "deep": "south"}
names = st.sampled_from([*AGENTS, "mine"])
"""Whom a request, or a question, is for: an agent, or whoever of bob and cyd is free."""
amounts = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 9)), min_size=1, max_size=3)


@dataclass
class Job:
    """What an agent does when it is asked: pieces of work, then a failure, or a question to another agent."""

    pieces: list[tuple[int, int, int]]
    """Tokens in, tokens out, and hundredths of a dollar of each piece, which takes a second."""
    fails: int
    asks: str | None


jobs = st.builds(Job, amounts, st.integers(0, 2), st.one_of(st.none(), names))
acts = st.one_of(
    st.tuples(st.just("request"), names, jobs),
    st.tuples(st.just("request"), names, jobs),
    st.tuples(st.just("cut"), names, jobs),
    st.tuples(st.just("move"), st.sampled_from(["bob", "cyd", "dan"]), st.sampled_from([*TEAMS])),
)


@dataclass(slots=True)
class Sum:
    """What was used."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: Decimal = Decimal(0)
    time_ms: int = 0
    ends: int = 0
    """Attempts that were done or failed."""


@dataclass
class Play:
    """Four teams, and what each has used by what its agents did."""

    diary: Diary
    homes: dict[str, str] = field(default_factory=lambda: dict(AGENTS))
    chiefs: dict[str, DynamicSupervisor] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    sums: dict[str, Sum] = field(default_factory=lambda: defaultdict(Sum))
    """By `run …`, `agent …` and `team …`."""
    run: str = ""

    def payers(self, agent: str) -> list[Sum]:
        """Return what counts what an agent spends now."""
        team: str | None = self.homes[agent]
        payers = [self.sums[f"run {self.run}"], self.sums[f"agent {agent}"]]
        while team is not None:
            payers.append(self.sums[f"team {team}"])
            team = TEAMS[team]
        return payers

    def agent(self, name: str) -> AgentSpec:
        async def body(task: Any, ctx: Any) -> str:
            payers = self.payers(name)
            job = self.jobs[str(task.text).split(" ")[0]]
            is_asked = " for " in str(task.text)

            async def piece(tokens_in: int, tokens_out: int, cents: int) -> str:
                cost = Decimal(cents) / 100
                ctx.spent(tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost)
                for payer in payers:
                    payer.tokens_in += tokens_in
                    payer.tokens_out += tokens_out
                    payer.cost_usd += cost
                began_s = self.diary.now_s()
                try:
                    await self.diary.works(1)
                finally:
                    for payer in payers:
                        payer.time_ms += round((self.diary.now_s() - began_s) * 1000)
                return "done"

            has_ended = False
            try:
                for number, amount in enumerate(job.pieces):
                    await ctx.step(f"piece {number}", piece, *amount)
                if job.asks not in (None, name) and not is_asked:
                    await ctx.delegate(job.asks, f"{task.text} for {name}")
                has_ended = True
            finally:
                for payer in payers if has_ended else ():
                    payer.ends += 1
            if job.fails and not is_asked:
                job.fails -= 1
                ctx.spent(tokens_in=3)
                for payer in payers:
                    payer.tokens_in += 3
                raise ConnectionError("nobody answers")
            return f"{name}({task.text})"

        skills = ("mine",) if name in ("bob", "cyd") else ()
        return self.diary.agent(name, *skills, body=body, on_failure=[Retry(1, 0.001, 0.001)])

    async def act(self, number: int, act: tuple[str, str, Any]) -> None:
        what, which, value = act
        if what == "move":
            if self.homes[which] != value:
                await self.chiefs["top"].move(which, value)
                self.homes[which] = value
            return
        self.run, self.jobs[f"{number}"] = f"{number}", value
        duties = {"deadline_s": 1.5} if what == "cut" else {}
        result = await told(self.chiefs["top"], f"{which}:{number}", **duties)
        assert figures(result.usage) == spent(self.sums[f"run {number}"])


def figures(usage: Usage) -> tuple[int, int, Decimal, int]:
    return usage.tokens_in or 0, usage.tokens_out or 0, usage.cost_usd or Decimal(0), usage.time_ms


def spent(total: Sum) -> tuple[int, int, Decimal, int]:
    return total.tokens_in, total.tokens_out, total.cost_usd, total.time_ms


async def lead(task: Any, ctx: Any) -> Any:
    """Hand a request to the agent that it names, wherever that is."""
    name, _, number = task.text.partition(":")
    return await ctx.delegate(name, number)


async def check_usage(script: list[tuple[str, str, Any]], grace_s: float) -> None:
    diary = Diary()
    play = Play(diary)
    for name in TEAMS:
        agents = [play.agent(agent) for agent, team in AGENTS.items() if team == name]
        if name == "top":
            agents.append(AgentSpec(name="lead", run=lead))
            options = SupervisorOptions(lead="lead", grace_s=grace_s)
            play.chiefs[name] = diary.supervisor(name, *agents, coordination_mode="delegate", options=options)
        else:
            play.chiefs[name] = diary.supervisor(name, *agents)
    for name, above in reversed(TEAMS.items()):
        if above is not None:
            await play.chiefs[above].add_sub_supervisor(name, play.chiefs[name])
    async with play.chiefs["top"]:
        for number, act in enumerate(script):
            await play.act(number, act)
        state = play.chiefs["top"]._state
        for supervisor in state.supervisors.values():
            expected = play.sums[f"team {supervisor.name}"]
            assert (supervisor.name, figures(supervisor.usage)) == (supervisor.name, spent(expected))
            leads = sum(agent.done + agent.failed for agent in state.agents.values() if agent.name == "lead")
            ends = supervisor.done + supervisor.failed - (leads if supervisor.name == "top" else 0)
            if all(act[0] != "cut" for act in script):  # what ends after its deadline was stopped
                assert (supervisor.name, ends) == (supervisor.name, expected.ends)
        for agent in state.agents.values():
            assert (agent.name, figures(agent.usage)) == (agent.name, spent(play.sums[f"agent {agent.name}"]))
        assert figures(state.usage) == spent(play.sums["team top"])


@given(st.lists(acts, min_size=1, max_size=6), st.sampled_from([0.0, 5.0]))
@example([("request", "dan", Job([(1, 2, 3)], 1, "bob")), ("move", "dan", "north"),
          ("request", "dan", Job([(10, 20, 30)], 0, "cyd"))], 5.0)  # fmt: skip
@example([("cut", "dan", Job([(1, 2, 3), (4, 5, 6)], 0, None))], 0.0)
@settings(max_examples=examples(25))
def test_what_is_spent_counts_for_every_level_above_and_for_nobody_else(
    script: list[tuple[str, str, Any]], grace_s: float
) -> None:
    anyio.run(check_usage, deepcopy(script), grace_s)
