"""Whether an imported state means something: what it refers to exists, what it counts is so, nothing goes in circles.

One rule holds inside: every state that `fold` can reach is sound once it is at rest; a law test holds that. Whoever
edits an archive by hand gets one line that says what is wrong first. Work and its graphs: `soundness_of_work`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any

from engine.core.budget import AMOUNTS
from engine.core.document import INDEXES
from engine.core.soundness_of_work import faults_of_work
from engine.core.spec import NAME, AgentSpec, spec_hash
from engine.core.state import SUMMARIES, Agent, Probation, RunStatus, State, Supervisor
from engine.core.strategies import STRATEGIES
from engine.core.values import TextRef, Usage

DEEPEST = 64
"""Levels of supervisors and of tasks that ask tasks."""
_ID = re.compile(r"[a-z][1-9][0-9]{0,14}")
_TEXT = re.compile(r"texts\.(0|[1-9][0-9]{0,8})")
_LARGEST = 2**53
_LAST_MS = 253_402_300_799_000
"""The end of the year 9999: no clock shows a later time."""
_OPEN_RUN = frozenset({RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.SUSPENDED})


class Unsound(ValueError):
    """A state document contradicts itself."""


def check_sound(state: State, refs: Iterable[TextRef], texts: int) -> None:
    """Return when a decoded state document means something.

    Args:
        state: What the document decodes to.
        refs: Every reference to a text in it.
        texts: How many texts come with it.

    Raises:
        Unsound: If it does not; the message names the first thing that is wrong.
    """
    for fault in _faults(state, refs, texts):
        raise Unsound(fault)


def _faults(state: State, refs: Iterable[TextRef], texts: int) -> Iterator[str]:
    yield from _of_one_file(state)
    yield from _ids(state)
    yield from _texts(refs, texts)
    yield from _numbers(state)
    yield from _specs(state)
    yield from _supervisors(state)
    yield from _agents(state)
    yield from _queues(state)
    yield from _ledgers(state)
    yield from _finished(state)
    yield from faults_of_work(state, DEEPEST)


def _of_one_file(state: State) -> Iterator[str]:
    if state.seq or state.engine or state.team or state.trusted or state.commands or _indexed(state):
        yield "it holds what belongs to one database alone"


def _indexed(state: State) -> bool:
    return any(getattr(state, name) for name in INDEXES)


def _ids(state: State) -> Iterator[str]:
    for letter, entities in _by_letter(state):
        for key, entity in entities.items():
            if key != entity.id or key[:1] != letter or not _ID.fullmatch(key):
                yield f"{_shown(key)} is no id of its own"
    for run in state.finished:
        if run.id in state.runs or run.id[:1] != "r" or not _ID.fullmatch(run.id):
            yield f"{_shown(run.id)} is no id of a finished run"
    for letter, number in state.minted.items():
        if letter not in "sarte" or len(letter) != 1 or not 0 <= number < _LARGEST:
            yield f"ids of {_shown(letter)} cannot have been given"


def _by_letter(state: State) -> list[tuple[str, dict[str, Any]]]:
    return [("s", state.supervisors), ("a", state.agents), ("r", state.runs), ("t", state.tasks)]


def _texts(refs: Iterable[TextRef], texts: int) -> Iterator[str]:
    for ref in refs:
        found = _TEXT.fullmatch(ref.path)
        if ref.seq or found is None or int(found[1]) >= texts:
            yield f"it refers to the text {_shown(ref.path)}, which is not there"


def _numbers(state: State) -> Iterator[str]:
    for _, entities in _by_letter(state):
        yield from _unbounded(list(entities.values()))
    yield from _unbounded(list(state.timers.values()))
    yield from _unbounded([state])
    yield from _unbounded(state.finished)
    spent = [
        state.usage,
        *(agent.usage for agent in state.agents.values()),
        *(supervisor.usage for supervisor in state.supervisors.values()),
        *(run.usage for run in state.runs.values()),
        *(task.usage for task in state.tasks.values() if task.usage is not None),
        *(run.usage for run in state.finished),
    ]
    for usage in spent:
        yield from _usage(usage)
    if any(not 0 <= each < _LARGEST for agent in state.agents.values() for each in agent.durations_ms):
        yield "an agent has worked for less than no time"


def _unbounded(entities: list[Any]) -> Iterator[str]:
    """Name the first count or time among entities of one class that nothing can have."""
    if not entities:
        return
    for name in _numbers_of(entities[0].__class__):
        values = list(filter(None, map(attrgetter(name), entities)))
        if values and not (min(values) > 0 and max(values) < (_LAST_MS if name.endswith("_ms") else _LARGEST)):
            yield f"{type(entities[0]).__name__} with a number that cannot be, {name}"


@cache
def _numbers_of(cls: type) -> list[str]:
    return [each.name for each in fields(cls) if each.type in (int, int | None)]


def _usage(usage: Usage) -> Iterator[str]:
    cost = usage.cost_usd
    spent = (usage.tokens_in or 0, usage.tokens_out or 0, usage.time_ms)
    if min(spent) < 0 or max(spent) >= _LARGEST:
        yield "usage below 0 or beyond measure"
    if cost is not None and not (cost.is_finite() and 0 <= cost < 10**12 and abs(cost.adjusted()) < 100):
        yield "a cost that nothing can have"


def _specs(state: State) -> Iterator[str]:
    for key, spec in state.specs.items():
        if key != spec_hash(spec):
            yield f"the spec {spec.name!r} is not the one that its hash says"
    for name, key in state.registry.items():
        if key not in state.specs or state.specs[key].name != name:
            yield f"the registry has no spec for {_shown(name)}"


def _supervisors(state: State) -> Iterator[str]:
    for supervisor in state.supervisors.values():
        if not NAME.fullmatch(supervisor.name):
            yield f"{_shown(supervisor.name)} is no name of a supervisor"
        if supervisor.mode not in STRATEGIES:
            yield f"the supervisor {supervisor.name} has the unknown strategy {_shown(supervisor.mode)}"
        if supervisor.max_parallel < 1 or supervisor.running or supervisor.open:
            yield f"the supervisor {supervisor.name} has slots that cannot be"
        if len(_level(state, supervisor)) > DEEPEST:
            yield f"supervisors stand above {supervisor.name} without an end"
        yield from _members(state, supervisor)


def _level(state: State, supervisor: Supervisor) -> list[str]:
    """Return the supervisors above one, no further than is allowed."""
    above: list[str] = []
    parent_id = supervisor.parent_id
    while parent_id in state.supervisors and len(above) <= DEEPEST:
        above.append(parent_id)
        parent_id = state.supervisors[parent_id].parent_id
    return above


def _members(state: State, supervisor: Supervisor) -> Iterator[str]:
    if supervisor.parent_id is not None and (
        supervisor.parent_id not in state.supervisors
        or state.supervisors[supervisor.parent_id].members.count(supervisor.id) != 1
    ):
        yield f"the supervisor {supervisor.name} is not under the one it names"
    names: set[str] = set()
    for member_id in supervisor.members:
        member = state.agents.get(member_id) or state.supervisors.get(member_id)
        above = getattr(member, "supervisor_id", None) or getattr(member, "parent_id", None)
        if member is None or above != supervisor.id:
            yield f"{_shown(member_id)} is no member of {supervisor.name}"
        elif member.name in names:
            yield f"{supervisor.name} has two members {member.name!r}"
        else:
            names.add(member.name)


def _agents(state: State) -> Iterator[str]:
    members = {member for supervisor in state.supervisors.values() for member in supervisor.members}
    for agent in state.agents.values():
        if not NAME.fullmatch(agent.name):
            yield f"{_shown(agent.name)} is no name of an agent"
        if agent.spec not in state.specs:
            yield f"the agent {agent.name} has a spec that is not there"
        if agent.previous is not None and agent.previous not in state.specs:
            yield f"the agent {agent.name} had a spec that is not there"
        if not 0 < agent.proven <= agent.generation or not _is_trial(agent.probation):
            yield f"the agent {agent.name} has a generation that cannot be"
        if agent.supervisor_id not in state.supervisors or agent.id not in members:
            yield f"the agent {agent.name} is under no supervisor"
        if agent.generation < 1 or agent.max_concurrency < 1 or agent.running or agent.parked or agent.stuck:
            yield f"the agent {agent.name} is at work, which nothing in an archive can be"
        elif agent.spec in state.specs:
            yield from _instances(agent, state.specs[agent.spec])
        yield from _served(state, agent)


def _instances(agent: Agent, spec: AgentSpec) -> Iterator[str]:
    least, most = (1, 1) if spec.pool is None else (spec.pool.min, spec.pool.max)
    if not least <= agent.size <= most or agent.max_concurrency != agent.size * spec.max_concurrency:
        yield f"the agent {agent.name} has {agent.size} instances and {agent.max_concurrency} slots, which cannot be"


def _is_trial(trial: Probation | None) -> bool:
    if trial is None:
        return True
    return 1 <= trial.failures <= trial.tasks < _LARGEST and 0 <= trial.failed <= trial.ended <= trial.tasks


def _served(state: State, agent: Agent) -> Iterator[str]:
    if agent.queues[:2] != [f"agent:{agent.id}", f"back:{agent.id}"] or len(set(agent.queues)) != len(agent.queues):
        yield f"the agent {agent.name} has not its own queues"
    for key in agent.queues:
        if key not in state.queues or agent.id not in state.queues[key].agents:
            yield f"the agent {agent.name} serves the queue {_shown(key)}, which does not know it"


def _queues(state: State) -> Iterator[str]:
    for key, queue in state.queues.items():
        kind, _, owner = key.partition(":")
        if key != queue.key or queue.ready or queue.free or queue.supervisor_id not in state.supervisors:
            yield f"the queue {_shown(key)} is none"
        if kind == "able":
            if owner.partition(":")[0] != queue.supervisor_id:
                yield f"the queue {_shown(key)} belongs to another supervisor"
        elif kind not in ("agent", "back") or queue.agents != [owner]:
            yield f"the queue {_shown(key)} is of no known kind"
        if len(set(queue.agents)) != len(queue.agents):
            yield f"the queue {_shown(key)} has an agent twice"
        for agent_id in queue.agents:
            agent = state.agents.get(agent_id)
            if agent is None or key not in agent.queues or agent.supervisor_id != queue.supervisor_id:
                yield f"the queue {_shown(key)} is served by {_shown(agent_id)}, which does not know it"


def _ledgers(state: State) -> Iterator[str]:
    for key, ledger in state.ledgers.items():
        known = key in state.tasks or key in state.runs or key in state.agents or key in state.supervisors
        if key != ledger.id or not known or not set(ledger.warned).union(ledger.granted).issubset(AMOUNTS):
            yield f"the budget of {_shown(key)} is nobody's"
        if any(not 0 < granted < _LARGEST for granted in ledger.granted.values()):
            yield f"the budget of {_shown(key)} was granted less than never"


def _finished(state: State) -> Iterator[str]:
    if len(state.finished) > SUMMARIES:
        yield f"it remembers more than {SUMMARIES} finished runs"
    for run in state.finished:
        if run.status in _OPEN_RUN or run.seq:
            yield f"the run {run.id} has not finished"


def _shown(text: str) -> str:
    return ascii(text[:80])
