"""A team driven by chance: the real core, an operator who does anything, agents that do anything.

For the laws: `World` keeps the journal of everything that happened, `random_world` drives it from draws. It stands for
the shell, not for any code of ours: it answers the effects that the core asks for.
"""

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from engine.core.codec import decode_state, encode_state
from engine.core.commands import (
    AddAgent,
    Cancel,
    Command,
    LoadTeam,
    Order,
    Pause,
    RemoveMember,
    Resume,
    RetryWork,
    Submit,
    SupervisorSpec,
    SwapAgent,
    SwitchStrategy,
)
from engine.core.context import Context
from engine.core.effects import AnswerCall, Effect, JoinResults, ReadText, StartAttempt, StartTimer, StopAttempt
from engine.core.events import Event
from engine.core.signals import (
    AttemptErred,
    AttemptStopped,
    AttemptSucceeded,
    DelegationAsked,
    EngineBegan,
    EngineEnds,
    Signal,
    StepFinished,
    TextRead,
    TimerDue,
)
from engine.core.spec import AGGREGATIONS, AgentSpec, Retry, Skip
from engine.core.state import State
from engine.core.step import step

LONG = "a text that is longer than what the state keeps inline, so that it is held by reference to the journal. " * 2


class World:
    """The core, its journal, and what it has asked the shell to do."""

    def __init__(self) -> None:
        self.state = State()
        self.journal: list[Event] = []
        self.now_ms = 1_000
        self.jitter = 0.5
        self.orders = 0
        self.started: dict[tuple[str, int], StartAttempt] = {}
        """Attempts that were started and have not reported their end."""
        self.joins: dict[tuple[str, int], JoinResults] = {}
        self.stopping: set[tuple[str, int]] = set()
        self.asked: dict[tuple[str, int], set[str]] = {}
        """Calls whose answers each attempt waits for."""
        self.timers: dict[str, int] = {}
        self.reads: list[str] = []
        self.effects: list[Effect] = []
        self.starts: list[StartAttempt] = []
        """Every attempt that was ever started."""

    def say(self, message: Order | Signal) -> list[Event]:
        """Put one message through the core and keep what it asks for."""
        events, effects = step(self.state, message, Context(now_ms=self.now_ms, jitter=self.jitter))
        self.journal += events
        self.effects = effects
        for effect in effects:
            self._perform(effect)
        return events

    def order(self, command: Command) -> list[Event]:
        """Send a command under a fresh id."""
        self.orders += 1
        return self.say(Order(id=f"c{self.orders}", command=command, sender="test"))

    def _perform(self, effect: Effect) -> None:
        if isinstance(effect, StartAttempt):
            self.started[effect.task_id, effect.attempt] = effect
            self.starts.append(effect)
        elif isinstance(effect, StopAttempt):
            if (effect.task_id, effect.attempt) in self.started:
                self.stopping.add((effect.task_id, effect.attempt))
        elif isinstance(effect, AnswerCall):
            self.asked.get((effect.task_id, effect.attempt), set()).discard(effect.call_key)
        elif isinstance(effect, JoinResults):
            self.joins[effect.task_id, effect.attempt] = effect
        elif isinstance(effect, StartTimer):
            self.timers[effect.timer_id] = effect.due_ms
        elif isinstance(effect, ReadText):
            self.reads.append(effect.task_id)

    def succeed(self, key: tuple[str, int], output: Any = "done") -> list[Event]:
        """End an attempt well."""
        self._over(key)
        return self.say(AttemptSucceeded(task_id=key[0], attempt=key[1], output=output, duration_ms=3))

    def fail(self, key: tuple[str, int], error: str = "broken") -> list[Event]:
        """End an attempt with an error."""
        self._over(key)
        return self.say(AttemptErred(task_id=key[0], attempt=key[1], error=error, error_type="ValueError"))

    def stop(self, key: tuple[str, int], partial: Any = None) -> list[Event]:
        """End an attempt that was asked to stop."""
        self._over(key)
        return self.say(AttemptStopped(task_id=key[0], attempt=key[1], partial=partial))

    def ask(self, key: tuple[str, int], target: str, items: list[Any], *, call: str = "k1") -> list[Event]:
        """Let an attempt delegate."""
        self.asked.setdefault(key, set()).add(call)
        return self.say(
            DelegationAsked(task_id=key[0], attempt=key[1], call_key=call, call_kind="map", target=target, items=items)
        )

    def record(self, key: tuple[str, int], name: str, output: Any = "step") -> list[Event]:
        """Let an attempt record a step."""
        return self.say(StepFinished(task_id=key[0], attempt=key[1], name=name, key=name, output=output))

    def join(self, key: tuple[str, int]) -> list[Event]:
        """Do the built-in work of a join."""
        del self.joins[key]
        return self.say(AttemptSucceeded(task_id=key[0], attempt=key[1], output="joined"))

    def due(self, timer_id: str) -> list[Event]:
        """Let the time of a timer come."""
        self.now_ms = max(self.now_ms, self.timers.pop(timer_id))
        return self.say(TimerDue(timer_id=timer_id))

    def read(self, task_id: str) -> list[Event]:
        """Read a request's text, as the shell would."""
        self.reads.remove(task_id)
        return self.say(TextRead(task_id=task_id, text="parse it"))

    def crash(self) -> list[Event]:
        """Lose the engine with everything at work, and start another from the journal's state."""
        self.state = decode_state(encode_state(self.state))
        for kept in (self.started, self.joins, self.stopping, self.asked, self.timers):
            kept.clear()
        self.reads.clear()
        return self.say(EngineBegan(pid=1, token=2, version="test"))

    def restart(self) -> list[Event]:
        """End the engine on purpose and start another."""
        self.say(EngineEnds(reason="test"))
        return self.crash()

    def _over(self, key: tuple[str, int]) -> None:
        self.started.pop(key, None)
        self.stopping.discard(key)
        self.asked.pop(key, None)

    def waits(self, key: tuple[str, int]) -> bool:
        """Return True while an attempt waits for an answer."""
        return bool(self.asked.get(key))

    def settle(self) -> None:
        """Let everything that is asked for succeed, until nothing is."""
        for _ in range(10_000):
            if not self._settle_one():
                return
        raise AssertionError("the team never comes to rest")

    def _settle_one(self) -> bool:
        self.now_ms += 1
        able = [key for key in self.started if not self.waits(key)]
        if self.stopping:
            self.stop(min(self.stopping))
        elif self.joins:
            self.join(next(iter(self.joins)))
        elif self.reads:
            self.read(self.reads[0])
        elif able:
            self.succeed(able[0])
        elif self.timers:
            self.due(min(self.timers, key=lambda one: self.timers[one]))
        else:
            return False
        return True


def agent(name: str, *specialties: str, **fields: Any) -> AgentSpec:
    """Return a function agent's spec that refers to code nobody imports here."""
    return AgentSpec(name=name, run=f"crew:{name}", specialties=specialties, **fields)


def team_world(*members: AgentSpec | SupervisorSpec, mode: str = "sequential", **fields: Any) -> World:
    """Return a world with one team under a supervisor `chief`."""
    world = World()
    world.say(EngineBegan(pid=1, token=1, version="test"))
    team = SupervisorSpec(name="chief", mode=mode, members=list(members), **fields)
    world.order(load(team))
    return world


def load(team: SupervisorSpec) -> LoadTeam:
    """Return the command that makes `team`, with all its references trusted."""

    def references(one: SupervisorSpec) -> list[str]:
        found: list[str] = []
        for member in one.members:
            found += references(member) if isinstance(member, SupervisorSpec) else [str(member.run)]
        return found

    return LoadTeam(path="team.yaml", folder=".", text="", sha256="0", team=team, trusted=references(team))


NAMES = ("ada", "bob", "cyd", "dan", "eve", "fay")
SKILLS = ("parse", "write", "sum")


def crew(draw: Callable[[st.SearchStrategy[Any]], Any]) -> SupervisorSpec:
    """Draw a small team with a sub-supervisor."""

    def one(name: str) -> AgentSpec:
        policies: list[Any] = draw(st.sampled_from([[], [Retry(1, 0.1, 1.0)], [Skip()], [Retry(2), Skip()]]))
        return agent(
            name,
            draw(st.sampled_from(SKILLS)),
            on_failure=policies,
            max_concurrency=draw(st.integers(1, 3)),
        )

    return SupervisorSpec(
        name="chief",
        mode=draw(st.sampled_from(["sequential", "parallel"])),
        aggregation=draw(st.sampled_from(["concat", "first", "vote"])),
        max_parallel=draw(st.integers(1, 4)),
        auto_discover=draw(st.booleans()),
        default_agent="ada",
        members=[
            one("ada"),
            one("bob"),
            SupervisorSpec(
                name="below",
                mode=draw(st.sampled_from(["sequential", "parallel"])),
                members=[one("cyd"), one("dan")],
                max_parallel=draw(st.integers(1, 2)),
            ),
        ],
    )


def random_command(draw: Callable[[st.SearchStrategy[Any]], Any], world: World) -> Command:
    """Draw something that an operator may ask for, right or wrong."""
    state = world.state
    agents = [*state.agents, *NAMES[:3], "nobody"]
    groups = [*state.supervisors, "chief", "below"]
    work = [*state.runs, *state.tasks, *(one.id for one in state.finished[-3:]), "t999"]

    def pick(values: Sequence[Any]) -> Any:
        return draw(st.sampled_from(values))

    kind = draw(st.integers(0, 9))
    if kind <= 1:
        return Submit(request=pick(["parse it", "write a sum", LONG]), supervisor=pick([None, *groups]))
    if kind == 2:
        return SwapAgent(agent=pick(agents), spec=agent(pick(NAMES), pick(SKILLS), timeout_s=pick([1, 2, 3])))
    if kind == 3:
        return SwitchStrategy(
            supervisor=pick(groups),
            mode=pick(["sequential", "parallel", "unknown"]),
            aggregation=pick([None, *AGGREGATIONS]),
            aggregator=pick([None, *NAMES[:2]]),
            preserve_agent_states=draw(st.booleans()),
            scope=pick(["open", "new"]),
        )
    if kind == 4:
        return Pause(target=pick([*agents, *groups, *work]))
    if kind == 5:
        return Resume(target=pick([*agents, *groups, *work]))
    if kind == 6:
        return Cancel(target=pick(work))
    if kind == 7:
        return RetryWork(target=pick(work))
    if kind == 8:
        return RemoveMember(target=pick([*agents, "below"]), mode=pick([None, "drain", "requeue", "abort"]))
    name = pick(NAMES)
    return AddAgent(supervisor=pick([None, *groups]), spec=agent(name, pick(SKILLS)), trusted=[f"crew:{name}"])


def random_turn(draw: Callable[[st.SearchStrategy[Any]], Any], world: World) -> None:
    """Let chance do one thing: an operator, an agent, the clock, or a crash."""
    world.now_ms += draw(st.integers(0, 2_000))
    world.jitter = draw(st.sampled_from([0.0, 0.3, 0.999]))
    choice = draw(st.integers(0, 11))
    if choice <= 2:
        world.order(random_command(draw, world))
    elif choice == 3 and draw(st.integers(0, 3)) == 0:
        draw(st.sampled_from([world.crash, world.restart]))()
    elif choice == 4 and world.timers:
        world.due(draw(st.sampled_from(sorted(world.timers))))
    elif choice == 5 and world.reads:
        world.read(world.reads[0])
    elif choice == 6 and world.joins:
        world.join(draw(st.sampled_from(sorted(world.joins))))
    elif choice == 7 and world.stopping:
        world.stop(draw(st.sampled_from(sorted(world.stopping))), draw(st.sampled_from([None, "half", LONG])))
    elif world.started:
        _random_attempt(draw, world, draw(st.sampled_from(sorted(world.started))))


def _random_attempt(draw: Callable[[st.SearchStrategy[Any]], Any], world: World, key: tuple[str, int]) -> None:
    does = draw(st.integers(0, 6))
    if does == 0 and not world.waits(key):
        items = draw(st.lists(st.sampled_from(["x", LONG, 3]), max_size=3))
        target = draw(st.sampled_from([*SKILLS, *NAMES[:3], "below", "nobody"]))
        world.ask(key, target, items, call=draw(st.sampled_from(["k1", "k2"])))
    elif does == 1:
        world.record(key, draw(st.sampled_from(["s1", "s2"])), draw(st.sampled_from(["r", LONG])))
    elif does == 2:
        world.fail(key)
    elif not world.waits(key):
        world.succeed(key, draw(st.sampled_from(["ok", LONG, {"n": [1, LONG]}, None, 7])))


@st.composite
def worlds(draw: Callable[[st.SearchStrategy[Any]], Any], max_turns: int = 40) -> World:
    """Draw a team and a history."""
    world = World()
    world.say(EngineBegan(pid=1, token=1, version="test"))
    world.order(load(crew(draw)))
    world.order(Submit(request="parse it"))
    for _ in range(draw(st.integers(0, max_turns))):
        random_turn(draw, world)
    return world
