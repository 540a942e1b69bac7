"""A team in memory: the real core, and around it nothing but what a test says that happens.

`World` keeps the journal of everything that happened. It stands for the shell, not for any code of ours: it answers the
effects that the core asks for. `tests.chance` lets chance drive it, `tests.story` tells what it does by names.
"""

from typing import Any

from engine.core.commands import (
    Answer,
    Command,
    LoadTeam,
    Order,
    SupervisorSpec,
)
from engine.core.decisions.decision_context import DecisionContext
from engine.core.effects import (
    AnswerCall,
    CheckOutputs,
    Effect,
    FindAgents,
    JoinResults,
    ReadText,
    StartAttempt,
    StartTimer,
    StopAttempt,
)
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.errors import BadValue
from engine.core.events import Event
from engine.core.queries.people.offers import references_offered
from engine.core.queries.team.code import references_in_command, references_of
from engine.core.records.values import Usage
from engine.core.signals import (
    AgentsFound,
    AttemptErred,
    AttemptStopped,
    AttemptSucceeded,
    DelegationAsked,
    EngineBegan,
    EngineEnds,
    FoundSpec,
    PlannedItem,
    Signal,
    SlotAsked,
    StepFinished,
    StepsEnded,
    TextRead,
    TimerDue,
    ToolBegan,
)
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.core.step import step
from engine.core.validation.records import rebuild_checked

LONG = "a text that is longer than what the state keeps inline, so that it is held by reference to the journal. " * 2

PROCESSES = 2
"""What the computer of every world bears."""
ALL_IS_WELL = {"score": 1.0, "enough": True, "approved": True, "holds": [0], "items": 2, "list": ["x", "y"]}
"""A verdict that fits every question."""


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
        self.checks: dict[tuple[str, int], CheckOutputs] = {}
        """Built-in nodes that look at outputs and have not said what they found."""
        self.stopping: set[tuple[str, int]] = set()
        self.asked: dict[tuple[str, int], set[str]] = {}
        """Calls whose answers each attempt waits for."""
        self.timers: dict[str, int] = {}
        self.reads: list[str] = []
        self.searches: dict[str, FindAgents] = {}
        """Searches for agents outside the team, by their groups."""
        self.effects: list[Effect] = []
        self.starts: list[StartAttempt] = []
        """Every attempt that was ever started."""
        self.code: dict[str, str] = {}
        """The hash of the code behind references; all others are of installed code."""
        self.untrusted: set[str] = set()
        """References that whoever runs the engine does not allow."""

    def say(self, message: Order | Signal) -> list[Event]:
        """Put one message through the core and keep what it asks for."""
        events, effects = step(self.state, message, DecisionContext(now_ms=self.now_ms, jitter=self.jitter))
        self.journal += events
        self.effects = effects
        for effect in effects:
            self._perform(effect)
        return events

    def order(self, command: Command, *, run_id: str | None = None) -> list[Event]:
        """Send a command under a fresh id; with `run_id` as an agent of that run."""
        self.orders += 1
        granted = self._granted(command)
        order = Order(id=f"c{self.orders}", command=command, sender="test", granted=granted, run_id=run_id)
        return self.say(order)

    def _granted(self, command: Command) -> dict[str, str]:
        try:
            checked = rebuild_checked(command, command.type)
            named = [*references_in_command(checked), *references_offered(self.state, checked)]
        except BadValue:
            return {}
        return {one: self.code.get(one, "") for one in named if one not in self.untrusted}

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
        elif isinstance(effect, CheckOutputs):
            self.checks[effect.task_id, effect.attempt] = effect
        elif isinstance(effect, StartTimer):
            self.timers[effect.timer_id] = effect.due_ms
        elif isinstance(effect, ReadText):
            self.reads.append(effect.task_id)
        elif isinstance(effect, FindAgents):
            self.searches[effect.task_id] = effect

    def succeed(self, key: tuple[str, int], output: Any = "done", *, took_ms: int = 3, **said: Any) -> list[Event]:
        """End an attempt well, which worked all the time; `usage` says what it has spent instead."""
        said.setdefault("generation", self._over(key))
        said.setdefault("usage", Usage(time_ms=took_ms))
        said.setdefault("duration_ms", took_ms)
        return self.say(AttemptSucceeded(task_id=key[0], attempt=key[1], output=output, **said))

    def fail(self, key: tuple[str, int], error: str = "broken", **said: Any) -> list[Event]:
        """End an attempt with an error; `stuck`: its thread has not returned; `crashed`: the agent broke down."""
        said.setdefault("generation", self._over(key))
        return self.say(AttemptErred(task_id=key[0], attempt=key[1], error=error, error_type="ValueError", **said))

    def stop(self, key: tuple[str, int], partial: Any = None, **said: Any) -> list[Event]:
        """End an attempt that was asked to stop."""
        said.setdefault("generation", self._over(key))
        return self.say(AttemptStopped(task_id=key[0], attempt=key[1], partial=partial, **said))

    def ask(
        self, key: tuple[str, int], target: str, items: list[Any], *, call: str = "k1", busy: bool = False
    ) -> list[Event]:
        """Let an attempt delegate; `busy`: while a step of it runs."""
        self.asked.setdefault(key, set()).add(call)
        generation = self._generation(key)
        return self.say(
            DelegationAsked(
                task_id=key[0], attempt=key[1], generation=generation,
                call_key=call, call_kind="map", target=target, items=items, busy=busy,
            )
        )  # fmt: skip

    def plan(self, key: tuple[str, int], *items: PlannedItem, call: str = "p1") -> list[Event]:
        """Let an attempt ask for tasks that wait for each other."""
        self.asked.setdefault(key, set()).add(call)
        generation = self._generation(key)
        return self.say(
            DelegationAsked(
                task_id=key[0], attempt=key[1], generation=generation,
                call_key=call, call_kind="plan", target="", items=[], plan=list(items),
            )
        )  # fmt: skip

    def rest(self, key: tuple[str, int], **said: Any) -> list[Event]:
        """Let the last step of an attempt end while it waits for others."""
        return self.say(StepsEnded(task_id=key[0], attempt=key[1], generation=self._generation(key), **said))

    def want(self, key: tuple[str, int]) -> list[Event]:
        """Let an attempt that waits for others need a slot for a step."""
        return self.say(SlotAsked(task_id=key[0], attempt=key[1], generation=self._generation(key)))

    def record(self, key: tuple[str, int], name: str, output: Any = "step", **said: Any) -> list[Event]:
        """Let an attempt record a step."""
        said.setdefault("generation", self._generation(key))
        return self.say(StepFinished(task_id=key[0], attempt=key[1], name=name, key=name, output=output, **said))

    def call(self, key: tuple[str, int], tool: str) -> list[Event]:
        """Let an attempt begin to call a tool that must not be called twice; `record` under the same name ends it."""
        return self.say(ToolBegan(task_id=key[0], attempt=key[1], name=tool, key=tool))

    def join(self, key: tuple[str, int]) -> list[Event]:
        """Do the built-in work of a join."""
        del self.joins[key]
        return self.say(AttemptSucceeded(task_id=key[0], attempt=key[1], output="joined"))

    def find(self, key: tuple[str, int], **said: Any) -> list[Event]:
        """Let a built-in node find something; where nothing is said, that all is well."""
        self.checks.pop(key, None)
        return self.say(AttemptSucceeded(task_id=key[0], attempt=key[1], output=said or dict(ALL_IS_WELL)))

    def due(self, timer_id: str) -> list[Event]:
        """Let the time of a timer come."""
        self.now_ms = max(self.now_ms, self.timers.pop(timer_id))
        return self.say(TimerDue(timer_id=timer_id))

    def read(self, task_id: str) -> list[Event]:
        """Read a request's text, as the shell would."""
        self.reads.remove(task_id)
        return self.say(TextRead(task_id=task_id, text="parse it"))

    def search(self, task_id: str, *found: FoundSpec, text: str | None = None, **said: Any) -> list[Event]:
        """End a search, as the shell would; by default nobody is found."""
        request = self.searches.pop(task_id).input
        text = (request if isinstance(request, str) else "parse it") if text is None else text
        references = [reference for each in found for reference in references_of(each.spec)]
        said.setdefault("granted", {one: "" for one in references if one not in self.untrusted})
        return self.say(AgentsFound(task_id=task_id, text=text, found=list(found), **said))

    def crash(self, *, pid: int = 1, token: int = 2, version: str = "test") -> list[Event]:
        """Lose the engine with everything at work, and start another from the journal's state."""
        self.state = decode_state(encode_state(self.state))
        for kept in (self.started, self.joins, self.checks, self.stopping, self.asked, self.timers):
            kept.clear()
        self.reads.clear()
        self.searches.clear()
        return self.say(EngineBegan(pid=pid, token=token, version=version, processes=PROCESSES))

    def restart(self) -> list[Event]:
        """End the engine on purpose and start another."""
        self.say(EngineEnds(reason="test"))
        return self.crash()

    def _generation(self, key: tuple[str, int]) -> int | None:
        """Return the generation whose code is at an attempt, as the shell says it with all that it reports."""
        return self.started[key].generation if key in self.started else None

    def _over(self, key: tuple[str, int]) -> int | None:
        generation = self._generation(key)
        self.started.pop(key, None)
        self.stopping.discard(key)
        self.asked.pop(key, None)
        return generation

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
        elif self.checks:
            self.find(next(iter(self.checks)))
        elif self.reads:
            self.read(self.reads[0])
        elif self.searches:
            self.search(next(iter(self.searches)))
        elif able:
            self.succeed(able[0])
        elif any(self.rest(key) for key in [*self.started] if self.waits(key)):
            pass  # one that had asked for a slot, and now only waits, has given it back
        elif self.timers:
            self.due(min(self.timers, key=lambda one: self.timers[one]))
        elif self.state.escalations:
            oldest = next(iter(self.state.escalations.values()))
            self.order(Answer(escalation=oldest.id, answer=oldest.options[0]))
        else:
            return False
        return True


def agent(name: str, *specialties: str, **fields: Any) -> AgentSpec:
    """Return a function agent's spec that refers to code nobody imports here."""
    return AgentSpec(name=name, run=f"crew:{name}", specialties=specialties, **fields)


def team_world(*members: AgentSpec | SupervisorSpec, mode: str = "sequential", **fields: Any) -> World:
    """Return a world with one team under a supervisor `chief`."""
    world = World()
    world.say(EngineBegan(pid=1, token=1, version="test", processes=PROCESSES))
    team = SupervisorSpec(name="chief", mode=mode, members=list(members), **fields)
    world.order(load(team))
    return world


def load(team: SupervisorSpec) -> LoadTeam:
    """Return the command that makes `team`."""
    return LoadTeam(path="team.yaml", folder=".", text="", sha256="0", team=team)
