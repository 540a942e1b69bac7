"""A team in trouble, the same at each call: questions, budgets, deadlines, pools, circuits, depth, a team that failed.

Beside `scene.audit`, for what only happens when things go wrong.
"""

from decimal import Decimal

from engine.core.commands import AddSupervisor, Pause, RegisterSpec, SetDeadline, SetPriority, Submit, SupervisorSpec
from engine.core.records.values import Usage
from engine.core.signals import AgentUnusable
from engine.core.specs.failure_policies import Escalate
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.policies import Circuit, Restart
from engine.core.specs.spec import Pool
from tests.pilot.scene import NOW_MS
from tests.world import World, agent, team_world


def trouble(said: str = "") -> World:
    """Return the team.

    Args:
        said: What agents say besides, in errors and titles.
    """
    work = _team()
    work.now_ms = NOW_MS - 300_000
    _specs(work)
    first = Limits(tokens=20_000, cost_usd=Decimal("0.50"), then="ask")
    work.order(Submit(request=f"Read every ledger {said}".strip(), supervisor="chief", limits=first, deadline_s=900))
    asker = _key(work, "clerk")
    work.ask(asker, "read", [f"ledger {number} {said}".strip() for number in range(14)])
    work.record(asker, "list", usage=Usage(tokens_in=12_400, tokens_out=3_900, cost_usd=Decimal("0.31")))
    reading = _keys(work, "reader")
    for place, name in enumerate(("open", "index", "sum")):
        work.now_ms += 700
        work.record(reading[0], name)
        if place:
            work.record(reading[1], name)
    work.fail(reading[2], f"KeyError: 'total' {said}".strip())
    work.fail(_key(work, "checker"), "ledger is not balanced")
    work.order(Submit(request="Check last year", supervisor="deep", after=[next(iter(work.state.runs))]))
    work.order(Submit(request="Who owes us?", supervisor="audit", priority=2))
    for key in _keys(work, "auditor")[:1]:
        work.record(key, "look")
    work.order(SetPriority(target=list(work.state.runs)[-1], priority=1))
    task = next(one for one in work.state.tasks.values() if one.title.startswith("ledger 9"))
    work.order(SetDeadline(target=task.id, deadline_s=40))
    work.order(Submit(request="Watch the doors", supervisor="night"))
    for key in _keys(work, "watch"):
        work.fail(key, "signal 11", crashed=True)
    work.say(AgentUnusable(agent_id=_id(work, "scanner"), generation=1, error=f"no module named 'scan' {said}".strip()))
    work.order(Pause(target="deep"))
    work.now_ms = max(work.now_ms, NOW_MS - 400)
    return work


def _team() -> World:
    asks = [Escalate(after_s=1_200, default="skip")]
    readers = agent("reader", "read", pool=Pool(min=1, max=8), on_failure=asks)
    checker = agent("checker", "check", circuit=Circuit(failures=1, cool_s=400.0), limits=Limits(tokens=1_000))
    deepest = SupervisorSpec(name="deepest", members=[agent("diver", "dive")])
    deep = SupervisorSpec(name="deep", members=[SupervisorSpec(name="deeper", members=[deepest])])
    return team_world(
        agent("clerk", "file"),
        checker,
        agent("scanner", "scan"),
        SupervisorSpec(name="books", mode="parallel", members=[readers], max_parallel=6),
        SupervisorSpec(name="audit", mode="parallel", members=[agent("auditor", "audit"), agent("writer", "write")]),
        deep,
        participants=["clerk", "checker"],
        mode="parallel",
        options=SupervisorOptions(strategies={"audit": "parallel", "letters": "sequential"}),
    )


def _specs(work: World) -> None:
    """Add specs to swap to, and a second team that fails."""
    for name, can in (("reader-fast", "read"), ("reader-careful", "read"), ("painter", "paint"), ("singer", "sing")):
        spec = agent(name, can, timeout_s=5.0, description=f"Another way to {can}")
        work.order(RegisterSpec(spec=spec))
    night = SupervisorSpec(
        name="night",
        members=[agent("watch", "watch")],
        options=SupervisorOptions(restart=Restart("one_for_one", 0, 60.0)),
    )
    work.order(AddSupervisor(parent=None, team=night))


def _id(work: World, name: str) -> str:
    return next(one.id for one in work.state.agents.values() if one.name == name)


def _keys(work: World, name: str) -> list[tuple[str, int]]:
    return [key for key, start in work.started.items() if start.agent == name]


def _key(work: World, name: str) -> tuple[str, int]:
    return _keys(work, name)[0]
