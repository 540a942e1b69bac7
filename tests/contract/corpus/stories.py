"""Journals of what drawn histories do not come to, told by hand: a few events each, all in one team after the other."""

from decimal import Decimal

from engine.archive.cutting import ArchivePart, Rest, pieces
from engine.archive.reading import Contents, complete_state, read_state
from engine.core.commands import (
    Answer,
    CreateAgent,
    Forget,
    Pause,
    Remember,
    RemoveMember,
    RetireRecipes,
    RevokeGrant,
    Submit,
    SupervisorSpec,
)
from engine.core.documents.document import references_in
from engine.core.events import Event, SignalDropped
from engine.core.policies.auto_tuning import MIN_RUNS
from engine.core.records.records import JsonValue
from engine.core.records.values import Usage
from engine.core.signals import (
    AgentsFound,
    ArchiveChecked,
    AskGivenUp,
    EngineBegan,
    EngineWoke,
    FoundSpec,
    InsightNoted,
    PartRead,
    PersonAsked,
    StateReady,
    StepCutOff,
    StepFinished,
)
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
from engine.core.specs.memory import MemoryOptions
from engine.core.specs.options import Optimize, SupervisorOptions
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.core.state import Evidence
from tests.exports import exported
from tests.story import attempt, found, submitted
from tests.world import World, agent, team_world


def stories() -> dict[str, list[Event]]:
    """Every story, by its name."""
    return {
        "tuned": tuned(),
        "asked": asked(),
        "returned": returned(),
        "imported": imported(),
        "cut": cut(),
        "joined": joined(),
        "remembered": remembered(),
        "made": made(),
    }


def tuned() -> list[Event]:
    """Slow runs, after which the supervisor switches by itself; and a computer that slept."""
    options = SupervisorOptions(optimize=Optimize(switch_to_parallel_when_slow=True))
    world = team_world(agent("ada", "parse"), agent("bob", "write"), options=options)
    for _ in range(MIN_RUNS):
        world.order(Submit(request="count"))
        while world.started or world.joins:
            world.now_ms += 100
            world.settle()
    world.say(EngineWoke(slept_ms=3_600_000))
    return world.journal


def asked() -> list[Event]:
    """A tool that a person allows for good and forbids again, a question that nobody waits for, and a lost signal."""
    world = team_world(agent("ada"))
    submitted(world)
    (task_id, number) = key = attempt(world, "ada")
    call: dict[str, JsonValue] = {"tool": "send", "arguments": {"to": "bob"}, "agent_id": "a1", "generation": 1}
    options = ["allow_once", "allow_always", "reject_once", "reject_always"]
    ask = PersonAsked(
        task_id=task_id, attempt=number, generation=1, key="approval:1", kind="approval", question="Send it?",
        options=options, detail=call,
    )  # fmt: skip
    world.say(ask)
    world.order(Answer(escalation=next(iter(world.state.escalations)), answer="allow_always"))
    world.order(RevokeGrant(grant=next(iter(world.state.grants))))
    world.say(
        PersonAsked(
            task_id=task_id, attempt=number, generation=1, key="ask:1", kind="ask", question="Go on?", options=["yes"]
        )
    )
    world.say(AskGivenUp(task_id=task_id, attempt=number, generation=1, key="ask:1"))
    world.journal.append(SignalDropped(at_ms=world.now_ms, signal="StepFinished", error="KeyError: 't9'", task_id="t9"))
    world.succeed(key)
    world.settle()
    return world.journal


def cut() -> list[Event]:
    """A call of a model and one of a tool that are cut off, and the engine with them."""
    world = team_world(agent("ada"))
    submitted(world)
    task_id, number = attempt(world, "ada")
    spent = Usage(tokens_in=5, tokens_out=1, cost_usd=Decimal("0.25"))
    world.now_ms += 100
    world.say(StepCutOff(task_id=task_id, attempt=number, what="model", name="fast", duration_ms=60, usage=spent))
    world.now_ms += 50
    world.say(StepCutOff(task_id=task_id, attempt=number, what="tool", name="tool:dig", duration_ms=50))
    world.now_ms += 1_000
    world.say(EngineBegan(pid=2, token=2, version="test", heard_ms=world.now_ms - 400))
    return world.journal


def joined() -> list[Event]:
    """Agents that are looked for outside the team: one that joins by itself, and one that a person lets in."""
    discovery = DiscoveryConfig(modes=(AgentDiscoveryMode.CATALOGUE,), approve="granted")
    world = team_world(agent("ada", "parse"), auto_discover=True, options=SupervisorOptions(discovery=discovery))
    for request, specialty, always_asks in (("parse and translate", "translate", False), ("draw", "draw", True)):
        run_id = submitted(world, request)
        spec = AgentSpec(name=f"{specialty}r", agent_type="scripted", specialties=(specialty,))
        entry = FoundSpec(
            source=AgentDiscoveryMode.CATALOGUE, id="c1", hash=spec_hash(spec), spec=spec, always_asks=always_asks
        )
        world.say(AgentsFound(task_id=world.state.runs[run_id].root_id, text=request, found=[entry]))
        for question in [*world.state.escalations]:
            world.order(Answer(escalation=question, answer="add"))
        world.settle()
    return world.journal


def remembered() -> list[Event]:
    """Insights of a team: versions of one, read by a step, gone by time, for room, and by a person."""
    options = SupervisorOptions(memory=MemoryOptions(max=3))
    world = team_world(agent("ada"), options=options)
    submitted(world)
    task_id, number = attempt(world, "ada")
    for text, segment, older_id, expires_s in (
        ("the sea is salt", "private", None, None),
        ("the tide is high at six", "facts", None, None),
        ("the tide is high at seven", "facts", "m2", 600.0),
    ):
        world.say(
            InsightNoted(
                task_id=task_id, attempt=number, key=f"remember:{text}", text=text, importance=0.5, segment=segment,
                supersedes=older_id, expires_s=expires_s,
            )
        )  # fmt: skip
    world.say(StepFinished(task_id=task_id, attempt=number, name="memory.query", key="query", output=[], reads=["m3"]))
    world.due("expiry:m3")
    for text in ("one", "two", "three"):
        world.order(Remember(text=text, tags=("count",)))
    world.order(Forget(insights=["m1"]))
    return world.journal


def made() -> list[Event]:
    """An agent that makes another, which makes one; a recipe that changes, and recipes that are retired."""
    world = team_world(agent("ada", tools=["work:dig", "work:sort"]))
    run_id = submitted(world)
    task_id, _ = attempt(world, "ada")
    made_in = Evidence(run_id=run_id, task_id=task_id, step="create_agent:1")
    for maker, name, primer, capabilities in (
        ("ada", "sol", "You dig.", ["dig", "agents"]),
        ("ada", "sol", "You dig deep.", ["dig", "agents"]),
        ("sol", "pip", "You help.", ["dig"]),
    ):
        command = CreateAgent(
            maker=maker, name=name, primer=primer, capabilities=capabilities, model="openai/gpt-4o", made_in=made_in
        )
        world.order(command, run_id=run_id)
    world.order(RetireRecipes(recipes=["k2"]))
    world.settle()
    world.order(RemoveMember(target="sol"))
    world.settle()
    world.order(RetireRecipes())
    return world.journal


def returned() -> list[Event]:
    """Items of a map that a team has taken and gives back when it is paused."""
    kitchen = SupervisorSpec(name="kitchen", members=[agent("ada", "counting"), agent("cook", "counting")])
    world = team_world(agent("lead"), agent("bob"), kitchen, mode="map")
    submitted(world, "counting", supervisor="kitchen")
    world.order(Submit(request=["counting a", "counting b"]))
    found(world, items=2)
    world.order(Pause(target="kitchen"))
    return world.journal


def imported() -> list[Event]:
    """A team in the middle of its work that comes in from an archive, part by part."""
    team = team_world(agent("ada", "parse"), agent("bob", "write"))
    submitted(team, "the first")
    team.settle()
    submitted(team, "the second")
    archive = read_state(complete_state(*exported(team)))
    world = World()
    world.say(EngineBegan(pid=2, token=3, version="test"))
    granted = dict.fromkeys(references_in(archive.state), "")
    for piece in pieces(archive, at_work=False):
        if isinstance(piece, Contents):
            world.say(
                ArchiveChecked(
                    order_id="import", sender="test", role="operator", path="team.zip", sha256="0", granted=granted,
                    counts=piece.counts, last=piece.last, references=piece.references,
                )
            )  # fmt: skip
        elif isinstance(piece, Rest):
            world.say(
                StateReady(
                    order_id="import", sender="test", role="operator", path="team.zip", sha256="0", granted=granted,
                    paused=True, state=piece.state, texts=[],
                )
            )  # fmt: skip
        else:
            assert isinstance(piece, ArchivePart)
            world.say(PartRead(order_id="import", sender="test", role="operator", state=piece.state, texts=piece.texts))
    return world.journal
