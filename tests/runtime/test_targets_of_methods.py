"""Every method of a supervisor that takes a target finds the same object by each form of naming it, at each depth.

Methods and their arguments are found by walking the classes, so that a new one is covered without a line here.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from itertools import product
from typing import Any, NamedTuple, get_origin

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.core.queries.work.explain import Explanation
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, State
from engine.errors import EngineError
from engine.supervisor.attached import AttachedSupervisor
from engine.supervisor.dynamic import DynamicSupervisor
from tests.depth import examples
from tests.unit.test_targets_everywhere import forms, hints_of, is_target, objects, texts

OTHER_TEXTS = {
    "add", "answer", "as_name", "capabilities", "command_id", "conversation", "model", "name", "path", "primer",
    "reason", "remove", "request", "run", "spec", "step", "text", "trusted", "where",
}  # fmt: skip
"""Arguments that are texts and name no object of a team, or only what a setting names."""


async def work(text: str) -> str:
    """Be at work, as long as a test looks."""
    await anyio.sleep_forever()
    return text


def spec(name: str) -> AgentSpec:
    return AgentSpec(name=name, run=work, specialties=["old"])


VALUES: dict[str, Any] = {
    "add": ["new"], "agent": "@a1", "answer": "yes", "changes": {"description": "new"}, "deadline_s": 60.0, "id": "t1",
    "name": "@a1", "parent": "@s1", "primer": "You help.", "priority": 1, "question": "e1", "spec": spec("other"),
    "target": "@a1", "task_id": "t2", "text": "hello",
}  # fmt: skip
"""The other arguments of a method."""


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public methods of supervisors."""
    for cls in (DynamicSupervisor, AttachedSupervisor):
        yield from inspect.getmembers(cls, inspect.isfunction)


PUBLIC = {name: method for name, method in methods() if not name.startswith("_")}
ARGUMENTS = [
    (name, argument)
    for name, method in PUBLIC.items()
    for argument, hint in hints_of(method).items()
    if is_target(hint) and inspect.iscoroutinefunction(method)
]


def team() -> tuple[DynamicSupervisor, ...]:
    """Return a team of three levels, from the top down; two agents are called dan, one r1."""
    low = DynamicSupervisor("low", agent_specs=[spec("cyd"), spec("dan")])
    sub = DynamicSupervisor("sub", agent_specs=[spec("bea"), spec("dan"), low])
    return DynamicSupervisor("top", agent_specs=[spec("ada"), spec("r1"), sub], participants=["ada"]), sub, low


def value_of(hint: Any, target: str) -> Any:
    """Return a target as an argument takes it."""
    if get_origin(hint) is Mapping:
        return {target: spec("other")}
    return [target] if get_origin(hint) in (Sequence, Iterable) else target


@asynccontextmanager
async def until_a_run_is_waited_for(supervisor: DynamicSupervisor) -> AsyncIterator[anyio.CancelScope]:
    """Cancel what is called here once it waits for the end of a run, which never comes."""

    async def look(scope: anyio.CancelScope, slots: Mapping[str, Any]) -> None:
        while not slots:  # noqa: ASYNC110 - nothing tells when a run is waited for
            await anyio.sleep(0.001)
        scope.cancel()

    engine: Any = supervisor._engine
    with anyio.CancelScope() as scope:
        looking = asyncio.ensure_future(look(scope, engine._host._run_slots))
        try:
            yield scope
        finally:
            looking.cancel()


def outcome(method: str, argument: str, target: str, caller: int = 0, *, others: Sequence[str] = ()) -> Any:
    """Return what a call returns and makes of the agents, or how it is refused, where the top is at work on a run.

    Args:
        caller: The supervisor whose method it is, by its level.
        others: Further texts for the target; a refusal reads the same whichever of them it repeats.
    """

    def message_of(error: EngineError) -> str:
        message = str(error)
        for text in (target, *others):
            message = message.replace(repr(text), "TARGET")
        return message

    async def call() -> Any:
        supervisors = team()
        hints, called = hints_of(PUBLIC[method]), getattr(supervisors[caller], method)
        values = {name: VALUES[name] for name in inspect.signature(called).parameters if name in VALUES}
        async with supervisors[0]:
            await supervisors[0].submit("go")
            try:
                arguments = {**values, argument: value_of(hints[argument], target)}
                async with until_a_run_is_waited_for(supervisors[0]) as scope:
                    result = await called(**arguments)
            except EngineError as error:
                return type(error).__name__, getattr(error, "code", ""), message_of(error)
            if scope.cancelled_caught:
                return "waits"
            agents = supervisors[0]._engine.state.agents.values()
            became = [(one.id, one.generation, one.spec, one.paused, one.supervisor_id, one.removing) for one in agents]
            if isinstance(result, Explanation):
                return result.run_id, became  # how long it has run differs from call to call
            return str(getattr(result, "summary", result)), became

    return anyio.run(call)


def test_every_text_that_names_an_object_is_a_target() -> None:
    assert set().union(*(texts(hints_of(method)) for method in PUBLIC.values())) == OTHER_TEXTS
    assert is_target(hints_of(AttachedSupervisor.__init__)["supervisor"])


@cache
def present_state() -> State:
    """Return the state that every call finds."""

    async def state_of() -> State:
        top, *_ = team()
        async with top:
            await top.submit("go")
            return top._engine.state

    return anyio.run(state_of)


def is_unknown(result: Any) -> bool:
    """Return whether a call was refused because its target names nothing that it takes."""
    return "unknown" in f"{result[0]} {result[1]}".casefold()


class Calling(NamedTuple):
    """A form of naming an object, and the supervisor whose method is called with it, by its level."""

    by_id: str
    target: str
    caller: int


@cache
def callings() -> list[Calling]:
    """Return every form of every object, for each caller; the name of a member alone for its own supervisor."""
    state, result = present_state(), []
    for subject, caller in product(objects(state), range(3)):
        is_own = isinstance(subject, Agent) and subject.supervisor_id == f"s{caller + 1}" and subject.name != "r1"
        by_id, *others = forms(state, subject)
        targets = [*others, subject.name] if is_own else [*others, by_id]
        result += [Calling(by_id, target, caller) for target in targets]
    return result


@pytest.mark.parametrize(("method", "argument"), ARGUMENTS, ids=[".".join(one) for one in ARGUMENTS])
@settings(max_examples=examples(3))
@given(calling=st.deferred(lambda: st.sampled_from(callings())))
@example(calling=Calling("@s1", "top", 0))  # a refusal names the supervisor by its name, however it was named
def test_a_method_reaches_the_same_object_by_each_form(method: str, argument: str, calling: Calling) -> None:
    by_id, target, caller = calling
    expected = outcome(method, argument, by_id, others=[target])
    result = outcome(method, argument, target, caller, others=[by_id])

    assert result == expected or (is_unknown(result) and result[:2] == expected[:2])


def test_a_name_that_may_mean_two_agents_is_refused_alike_by_every_method() -> None:
    results = {(*one, target): outcome(*one, target) for one in ARGUMENTS for target in ("dan", "nobody")}
    ambiguous = {one for one in ARGUMENTS if results[*one, "dan"] != results[*one, "nobody"]}

    assert ambiguous >= {(name, "name") for name in ("swap_agent", "rollback", "remove_agent", "move")}
    assert {results[*one, "dan"] for one in ambiguous} == {
        ("CommandRefusedError", "ambiguous_name", "TARGET is not unique; say one of sub/dan (@a4), low/dan (@a6)")
    }
    assert all(results[*one, "nobody"][0] != "ok" for one in ARGUMENTS)


@pytest.mark.parametrize("text", ["", " "])
def test_a_text_without_a_name_means_nothing_and_never_the_whole_team(text: str) -> None:
    for one in ARGUMENTS:
        if one[0] != "wait":  # of which only time tells whether it waits
            assert outcome(*one, text)[1:] == outcome(*one, "nobody")[1:], one
