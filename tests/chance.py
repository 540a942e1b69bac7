"""A team driven by chance: an operator who does anything, agents that do anything, and trouble with all of them.

For the laws. Everything is drawn, so that hypothesis can find the smallest history that breaks one.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    Answer,
    Cancel,
    ChangeCapabilities,
    ChangeSupervisor,
    Command,
    Move,
    Pause,
    Reassign,
    RemoveMember,
    ReplaceTeam,
    Resume,
    RetryWork,
    Rollback,
    RollbackAgents,
    SetDeadline,
    SetPriority,
    Submit,
    SupervisorSpec,
    SwapAgent,
    SwapAgents,
    SwitchStrategy,
)
from engine.core.fact import changed
from engine.core.limits import Limits
from engine.core.options import BALANCES, Preempt, SupervisorOptions
from engine.core.signals import AgentUnusable, AgentUsable, AttemptSucceeded, EngineBegan, ThreadCameBack
from engine.core.spec import (
    AGGREGATIONS,
    AgentSpec,
    Circuit,
    Escalate,
    Fail,
    Failover,
    FailurePolicy,
    Pool,
    Restart,
    Retry,
    Skip,
)
from engine.core.strategies import STRATEGIES
from engine.core.values import Usage
from tests.world import LONG, PROCESSES, World, agent, load

NAMES = ("ada", "bob", "cyd", "dan", "eve", "fay")
SKILLS = ("parse", "write", "sum")
CHAINS: list[list[FailurePolicy]] = [
    [],
    [Retry(1, 0.1, 1.0)],
    [Skip()],
    [Retry(2), Skip()],
    [Failover()],
    [Retry(1, never_on=["KeyError"]), Failover(1), Escalate(3.0, "retry")],
    [Escalate(2.0, "skip")],
    [Failover(), Escalate(), Skip()],
    [Retry(1), Fail()],
]
"""What happens on failure, by chance."""
MODES = [name for name in STRATEGIES if name != "graph"]
"""Strategies that need no settings."""
DRAWN: dict[str, Any] = {
    "nodes": [
        {"name": "one", "agent": "ada"},
        {"name": "two", "agent": "bob", "after": ["one"], "when": {"contains": "ok"}},
        {"name": "three", "agent": "ada", "after": ["one", "two"], "optional": True},
    ]
}


def crew(draw: Callable[[st.SearchStrategy[Any]], Any]) -> SupervisorSpec:
    """Draw a small team with a sub-supervisor."""

    def one(name: str) -> AgentSpec:
        policies: list[Any] = draw(st.sampled_from(CHAINS))
        return agent(
            name,
            draw(st.sampled_from(SKILLS)),
            on_failure=policies,
            max_concurrency=draw(st.integers(1, 3)),
            run_in=draw(st.sampled_from([None, None, "process"])),
            circuit=draw(st.sampled_from([None, None, Circuit(1, 1.0), Circuit(2, 5.0)])),
            pool=draw(st.sampled_from([None, None, Pool(max=3, grow_at=1, idle_s=0.5), Pool(min=2, max=4)])),
        )

    return SupervisorSpec(
        name="chief",
        mode=draw(st.sampled_from(MODES)),
        aggregation=draw(st.sampled_from(["concat", "first", "vote"])),
        max_parallel=draw(st.integers(1, 4)),
        auto_discover=draw(st.booleans()),
        default_agent="ada",
        members=[
            one("ada"),
            one("bob"),
            SupervisorSpec(
                name="below",
                mode=draw(st.sampled_from(MODES)),
                members=[one("cyd"), one("dan")],
                max_parallel=draw(st.integers(1, 2)),
                options=urgency(draw, **_on_failure(draw)),
            ),
        ],
        options=urgency(draw, **_on_failure(draw)),
    )


def _on_failure(draw: Callable[[st.SearchStrategy[Any]], Any]) -> dict[str, Any]:
    """Draw what is set for a supervisor about failures."""
    strategies = st.sampled_from(["one_for_one", "one_for_all", "rest_for_one"])
    return {
        "on_failure": draw(st.sampled_from([[], [], *CHAINS])),
        "restart": draw(st.none() | st.builds(Restart, strategies, st.integers(0, 2), st.just(5.0))),
        "circuit": draw(st.sampled_from([None, None, Circuit(3, 2.0)])),
    }


def urgency(draw: Callable[[st.SearchStrategy[Any]], Any], **options: Any) -> SupervisorOptions:
    """Draw who goes first under a supervisor, and how many may be at work."""
    at = draw(st.sampled_from(["step", "now", "never"]))
    return SupervisorOptions(
        ageing_s=draw(st.sampled_from([None, 0, 5])),
        max_total=draw(st.sampled_from([None, None, 1, 2])),
        processes=draw(st.sampled_from([None, None, 1, 2])),
        preempt=draw(st.sampled_from([None, Preempt(at=at, urgent=5, limit=2), Preempt(at=at)])),
        balance=draw(st.sampled_from([None, *BALANCES])),
        limits=limits(draw),
        run_limits=limits(draw),
        task_limits=limits(draw),
        agent_limits=limits(draw),
        **options,
    )


def limits(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Limits | None:
    """Draw what may be spent: mostly anything."""
    if draw(st.integers(0, 7)):
        return None
    return Limits(
        attempts=draw(st.sampled_from([None, 1, 3])),
        tokens=draw(st.sampled_from([None, 5, 30])),
        cost_usd=draw(st.sampled_from([None, 1])),
        time_s=draw(st.sampled_from([None, 2])),
        run_s=draw(st.sampled_from([None, 3])),
        depth=draw(st.sampled_from([None, 3])),
        then=draw(st.sampled_from(["stop", "ask", "fail"])),
    )


def usage(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Usage:
    """Draw what an attempt has spent, as far as it is known."""
    return Usage(
        tokens_in=draw(st.sampled_from([None, 0, 7])),
        tokens_out=draw(st.sampled_from([None, 2])),
        cost_usd=draw(st.sampled_from([None, Decimal("0.3")])),
        time_ms=draw(st.sampled_from([0, 900])),
    )


def random_command(draw: Callable[[st.SearchStrategy[Any]], Any], world: World) -> Command:
    """Draw something that an operator may ask for, right or wrong."""
    state = world.state
    agents = [*state.agents, *NAMES[:3], "nobody"]
    groups = [*state.supervisors, "chief", "below"]
    work = [*state.runs, *state.tasks, *(one.id for one in state.finished[-3:]), "t999"]

    def pick(values: Sequence[Any]) -> Any:
        return draw(st.sampled_from(values))

    if draw(st.integers(0, 6)) == 0:
        return _of_the_tree(draw, world)
    if draw(st.integers(0, 5)) == 0:
        return _in_flight(draw, world)
    if state.escalations and draw(st.integers(0, 2)) == 0:
        question = pick(list(state.escalations.values()))
        return Answer(escalation=question.id, answer=pick([*question.options, "maybe"]), output=pick([None, LONG]))
    kind = draw(st.integers(0, 9))
    if kind <= 1:
        return Submit(
            request=pick(["parse it", "write a sum", LONG]),
            supervisor=pick([None, *groups]),
            deadline_s=pick([None, None, 1, 30, 0]),
            on_failure=pick([[], [], *CHAINS]),
            limits=limits(draw),
            priority=pick([None, None, 0, 3, 9]),
            after=draw(st.lists(st.sampled_from([*state.runs, "r1", "r2"]), max_size=2)) if kind else [],
        )
    if kind == 2:
        return _swap(draw, agents)
    if kind == 3:
        return SwitchStrategy(
            supervisor=pick(groups),
            mode=pick([None, *STRATEGIES, "unknown"]),
            settings=pick([None, None, {}, {"rounds": 2}, {"need": 1}, {"returns": 1}, DRAWN]),
            lead=pick([None, "ada", "bob"]),
            aggregation=pick([None, *AGGREGATIONS]),
            aggregator=pick([None, *NAMES[:2]]),
            preserve_agent_states=draw(st.booleans()),
            scope=pick(["open", "open", "new", "run"]),
            run=pick(work),
        )
    if kind == 4:
        return Pause(target=pick([*agents, *groups, *work]))
    if kind == 5:
        return Resume(target=pick([*agents, *groups, *work]))
    if kind == 6 and draw(st.booleans()):
        return SetPriority(target=pick(work), priority=pick([0, 1, 5, 9]))
    if kind == 6:
        return Cancel(target=pick(work))
    if kind == 7:
        if draw(st.booleans()):
            return SetDeadline(target=pick(work), deadline_s=pick([None, 1, 5, 60]))
        return RetryWork(target=pick(work))
    if kind == 8:
        return RemoveMember(target=pick([*agents, "below"]), mode=pick([None, "drain", "requeue", "abort"]))
    name = pick(NAMES)
    return AddAgent(supervisor=pick([None, *groups]), spec=agent(name, pick(SKILLS)))


def _swap(draw: Callable[[st.SearchStrategy[Any]], Any], agents: Sequence[str]) -> SwapAgent:
    """Draw a swap, in any mode."""
    mode = draw(st.sampled_from(["drain", "migrate", "migrate", "abort", "leap"]))
    spec = agent(
        draw(st.sampled_from(NAMES)), draw(st.sampled_from(SKILLS)), timeout_s=draw(st.sampled_from([1, 2, 3])),
        run_in=draw(st.sampled_from([None, "process"])),
    )  # fmt: skip
    return SwapAgent(
        agent=draw(st.sampled_from(agents)),
        spec=spec,
        mode=mode,
        deadline_s=draw(st.sampled_from([None, 1, 0])) if mode == "drain" else None,
        rollback_failures=draw(st.sampled_from([None, 1, 2])),
        rollback_tasks=draw(st.sampled_from([2, 5])),
    )


def _in_flight(draw: Callable[[st.SearchStrategy[Any]], Any], world: World) -> Command:
    """Draw a change of agents and tasks at work."""
    agents = [*world.state.agents, "ada", "nobody"]
    at_work = [task.id for task in world.state.tasks.values() if not task.ended]
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return SwapAgents(swaps=[_swap(draw, agents) for _ in range(draw(st.integers(0, 2)))])
    if kind == 1:
        modes = st.sampled_from(["drain", "migrate", "abort"])
        some = [Rollback(agent=draw(st.sampled_from(agents)), mode=draw(modes)) for _ in range(draw(st.integers(0, 2)))]
        return some[0] if len(some) == 1 else RollbackAgents(rollbacks=some)
    if kind == 2:
        words = st.lists(st.sampled_from(SKILLS), max_size=2)
        return ChangeCapabilities(agent=draw(st.sampled_from(agents)), add=draw(words), remove=draw(words))
    if kind == 3:
        return AddAgent(spec=agent(draw(st.sampled_from(NAMES)), "sum"), evict=True)
    task_id = draw(st.sampled_from([*at_work, *world.state.tasks, "t999"]))
    return Reassign(task=task_id, agent=draw(st.sampled_from(agents)), now=draw(st.booleans()))


def _of_the_tree(draw: Callable[[st.SearchStrategy[Any]], Any], world: World) -> Command:
    """Draw a change of where members stand, of what is set for supervisors, or of everything under one."""
    agents, groups = list(world.state.agents), list(world.state.supervisors) or ["chief"]
    kind = draw(st.integers(0, 5))
    if kind <= 1:
        target = draw(st.sampled_from([*agents, *groups, "below", "nobody"]))
        return Move(target=target, parent=draw(st.sampled_from([*groups, "nowhere"])))
    if kind == 2:
        options = urgency(draw, lead=draw(st.sampled_from([None, "ada"])))
        return ChangeSupervisor(
            supervisor=draw(st.sampled_from(groups)),
            max_parallel=draw(st.sampled_from([None, 1, 4])),
            options=draw(st.sampled_from([None, options])),
        )
    team = crew(draw)
    left = [member for member in team.members if draw(st.integers(0, 2))]
    return ReplaceTeam(
        supervisor=draw(st.sampled_from(groups)),
        team=changed(team, members=left, default_agent=None),
        mode=draw(st.sampled_from(["drain", "migrate", "requeue", "abort"])),
    )


def random_turn(draw: Callable[[st.SearchStrategy[Any]], Any], world: World) -> None:
    """Let chance do one thing: an operator, an agent, the clock, or a crash."""
    world.now_ms += draw(st.integers(0, 2_000))
    world.jitter = draw(st.sampled_from([0.0, 0.3, 0.999]))
    choice = draw(st.integers(0, 13))
    if choice >= 12:
        _trouble(draw, world)
    elif choice <= 2:
        world.order(random_command(draw, world))
    elif choice == 3 and draw(st.integers(0, 3)) == 0:
        draw(st.sampled_from([world.crash, world.restart]))()
    elif choice == 4 and world.timers:
        world.due(draw(st.sampled_from(sorted(world.timers))))
    elif choice == 5 and world.reads:
        world.read(world.reads[0])
    elif choice in (6, 10) and world.checks:
        _random_verdict(draw, world, draw(st.sampled_from(sorted(world.checks))))
    elif choice == 6 and world.joins:
        world.join(draw(st.sampled_from(sorted(world.joins))))
    elif choice == 7 and world.stopping:
        world.stop(
            draw(st.sampled_from(sorted(world.stopping))),
            draw(st.sampled_from([None, "half", LONG])),
            usage=usage(draw),
        )
    elif world.started:
        _random_attempt(draw, world, draw(st.sampled_from(sorted(world.started))))


def _random_verdict(draw: Callable[[st.SearchStrategy[Any]], Any], world: World, key: tuple[str, int]) -> None:
    if draw(st.integers(0, 5)) == 0:
        world.checks.pop(key)
        world.fail(key, "it could not be looked at")
        return
    holds = draw(st.sampled_from([[], [0], [1], [0, 1]]))
    items = draw(st.sampled_from([None, 0, 2]))
    listed = {} if items is None else {"list": ["x", LONG][:items]}
    world.find(
        key, score=0.5, enough=draw(st.booleans()), approved=draw(st.booleans()), holds=holds, items=items, **listed
    )


def _random_attempt(draw: Callable[[st.SearchStrategy[Any]], Any], world: World, key: tuple[str, int]) -> None:
    does = draw(st.integers(0, 6))
    if does == 0 and not world.waits(key):
        items = draw(st.lists(st.sampled_from(["x", LONG, 3]), max_size=3))
        target = draw(st.sampled_from([*SKILLS, *NAMES[:3], "below", "nobody"]))
        world.ask(key, target, items, call=draw(st.sampled_from(["k1", "k2"])))
    elif does == 1:
        world.record(key, draw(st.sampled_from(["s1", "s2"])), draw(st.sampled_from(["r", LONG])), usage=usage(draw))
    elif does == 2 and draw(st.integers(0, 2)) == 0:
        world.call(key, draw(st.sampled_from(["s1", "s2"])))
    elif does == 2:
        world.fail(
            key,
            stuck=draw(st.integers(0, 3)) == 0,
            error_types=draw(st.sampled_from([[], ["KeyError", "LookupError"]])),
            retryable=draw(st.sampled_from([None, None, True, False])),
            retry_after_s=draw(st.sampled_from([None, None, 2.5])),
            crashed=draw(st.integers(0, 2)) == 0,
            usage=usage(draw),
        )
    elif not world.waits(key):
        world.succeed(key, draw(st.sampled_from(["ok", LONG, {"n": [1, LONG]}, None, 7])), usage=usage(draw))


def _trouble(draw: Callable[[st.SearchStrategy[Any]], Any], world: World) -> None:
    """Let code be missing or come back, threads return, teams grow, and old news arrive."""
    agents = list(world.state.agents.values())
    kind = draw(st.integers(0, 4))
    if kind == 0 and agents:
        one = draw(st.sampled_from(agents))
        world.say(AgentUnusable(agent_id=one.id, generation=one.generation, error="no code"))
    elif kind == 1:
        mend(world)
    elif kind == 2:
        world.order(load(crew(draw)))
    elif kind == 3:
        name = draw(st.sampled_from(NAMES))
        team = SupervisorSpec(
            name=draw(st.sampled_from(["deep", "deeper"])),
            mode=draw(st.sampled_from(MODES)),
            aggregation="synthesis",
            aggregator=name,
            members=[agent(name, draw(st.sampled_from(SKILLS)), max_concurrency=2)],
        )
        parent = draw(st.sampled_from([*world.state.supervisors, None]))
        world.order(AddSupervisor(parent=parent, team=team))
    elif world.started:
        task_id, attempt = draw(st.sampled_from(sorted(world.started)))
        late = AttemptSucceeded(task_id=task_id, attempt=attempt + draw(st.sampled_from([-1, 1])), output="late")
        generation = world.started[task_id, attempt].generation - 1
        left = AttemptSucceeded(task_id=task_id, attempt=attempt, generation=generation, output="late")
        assert world.say(draw(st.sampled_from([late, left]))) == []


def mend(world: World) -> None:
    """Let all code be found again and all threads return."""
    for one in list(world.state.agents.values()):
        if one.error is not None:
            world.say(AgentUsable(agent_id=one.id, generation=one.generation))
        for _ in range(one.stuck):
            world.say(ThreadCameBack(agent_id=one.id))


@st.composite
def worlds(draw: Callable[[st.SearchStrategy[Any]], Any], max_turns: int = 40) -> World:
    """Draw a team and a history."""
    world = World()
    world.say(EngineBegan(pid=1, token=1, version="test", processes=PROCESSES))
    world.order(load(crew(draw)))
    world.order(Submit(request="parse it"))
    for _ in range(draw(st.integers(0, 3))):
        world.order(Submit(request="parse it", priority=draw(st.sampled_from([9, 5, 0]))))
    for _ in range(draw(st.integers(0, max_turns))):
        random_turn(draw, world)
    return world
