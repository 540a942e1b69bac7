"""A guard over a call sees what the function gets, and a person who is asked sees the same."""

import inspect
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, StringConstraints

from engine import AgentSpec, Fail, SupervisorOptions, tool
from engine.core.commands import Answer
from engine.core.encoding.json_values import json_equal
from engine.core.specs.model_spec import ModelSpec
from engine.core.state import Escalation
from engine.runtimes.toolbox.call_value import server_value
from engine.runtimes.values import SHOWN_CHARACTERS
from tests.depth import examples
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines
from tests.runtime.engines import running as engine_at_work
from tests.runtime.test_tool_servers import call, program, team

pytestmark = pytest.mark.anyio

Word = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)]
texts = st.text(st.sampled_from('aB1 \t\n"\\:,é'), max_size=6)
TYPES: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    Word: texts,
    int: st.integers(-3, 3),
    bool: st.booleans(),
    list[str]: st.lists(texts, max_size=2),
    dict[str, int]: st.dictionaries(texts, st.integers(0, 2), max_size=2),
}


@st.composite
def signatures(draw: st.DrawFn) -> tuple[inspect.Signature, dict[str, Any]]:
    """Draw a signature whose last parameters have defaults, and arguments of a call that leaves some out."""
    types = draw(st.lists(st.sampled_from([*TYPES]), min_size=1, max_size=4))
    needed = draw(st.integers(0, len(types)))
    parameters, arguments = [], {}
    for place, hint in enumerate(types):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if place < 2 else inspect.Parameter.KEYWORD_ONLY
        default = inspect.Parameter.empty if place < needed else draw(TYPES[hint])
        parameters.append(inspect.Parameter(f"p{place}", kind, default=default, annotation=hint))
        if place < needed or draw(st.booleans()):
            arguments[f"p{place}"] = draw(TYPES[hint])
    return inspect.Signature(parameters), arguments


def guards(value: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return guards of which many hold for a value."""
    needles = st.sampled_from([text for text in scalars(value) if text]) | texts.filter(bool)
    compared = st.sampled_from([*value.values()]) | st.sampled_from([True, 1, 0, False, "a"])
    return st.one_of(
        st.builds(lambda needle: {"contains": needle}, needles),
        st.builds(lambda needle: {"names": needle}, needles),
        st.builds(lambda needle: {"matches": f"^{re.escape(needle)}$"}, needles),
        st.builds(lambda name, equals: {"json": name, "equals": equals}, st.sampled_from([*value]), compared),
    )


def scalars(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from scalars(item)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


def holds(guard: dict[str, Any], received: dict[str, Any]) -> bool:
    """Return whether a guard holds for what a function received, in words of its own."""
    if "json" in guard:
        return json_equal(received[guard["json"]], guard["equals"])
    looked = [json.dumps(received, ensure_ascii=False), *scalars(received)]
    if "contains" in guard:
        return any(guard["contains"].casefold() in text.casefold() for text in looked)
    if "names" in guard:
        word = rf"(?<!\w)(?<!\w-){re.escape(guard['names'])}(?!-?\w)"
        return any(re.search(word, text, re.IGNORECASE) for text in looked)
    return any(re.search(guard["matches"], text) for text in looked)


def recording(signature: inspect.Signature, received: list[dict[str, Any]]) -> Callable[..., str]:
    """Return a function of this signature that notes what it is called with."""
    parameters = signature.parameters
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in parameters.values()]
    space: dict[str, Any] = {"note": received.append}
    head, values = inspect.Signature(plain), ", ".join(f"{name}={name}" for name in parameters)
    exec(f"def send{head}:\n    note(dict({values}))\n    return 'sent'\n", space)
    function: Callable[..., str] = space["send"]
    function.__annotations__ = {name: one.annotation for name, one in parameters.items()}
    return function


def caller(kind: str, function: Callable[..., str], arguments: dict[str, Any], rule: Any) -> tuple[AgentSpec, Any]:
    """Return an agent that calls a tool once, and the settings of its team."""
    if kind == "model":
        model = ModelSpec(replies=({"calls": [{"name": "send", "arguments": arguments}]}, {"text": "{text}"}))
        spec = AgentSpec(name="ada", model="m", tools=(function,), approve={"send": rule}, on_failure=[Fail()])
        return spec, {"options": SupervisorOptions(models={"m": model})}

    async def work(task: Any, ctx: Any) -> Any:
        return await ctx.tool("send", **arguments)

    return AgentSpec(name="ada", run=work, tools=(function,), approve={"send": rule}, on_failure=[Fail()]), {}


async def asked(running: Engine, word: str = "allow_once") -> Escalation | None:
    """Answer the question of the next run, and return it; None where nobody was asked."""
    run = await running.submit()
    with anyio.fail_after(PATIENCE_S):
        await running.until(lambda state: bool(state.escalations) or not state.runs)
    question = next(iter(running.state.escalations.values()), None)
    if question is not None:
        await running.host.order(Answer(escalation=question.id, answer=word))
        await running.ended(run)
    return question


@pytest.mark.parametrize("kind", ["model", "function"])
@settings(max_examples=examples(25))
@given(signatures(), st.data())
async def test_a_person_is_asked_where_a_guard_holds_for_what_the_function_gets_and_sees_that(
    kind: str, drawn: tuple[inspect.Signature, dict[str, Any]], data: st.DataObject
) -> None:
    signature, arguments = drawn
    received: list[dict[str, Any]] = []
    function = recording(signature, received)
    bound = signature.bind(**arguments)
    bound.apply_defaults()
    guard = data.draw(guards(dict(bound.arguments)))
    spec, options = caller(kind, function, arguments, guard)
    async with engine_at_work(spec, **options) as running:
        question = await asked(running)
        recorded = [json.loads(record.body) for record in await running.journal("escalated")]

    assert len(received) == 1
    assert (question is not None) is holds(guard, received[0])
    if question is not None:
        assert json_equal(question.detail["arguments"], received[0])
        assert [*question.detail["arguments"]] == [*signature.parameters]  # type: ignore[misc]
        assert [one["detail"] for one in recorded] == [question.detail]


async def test_what_a_type_makes_of_an_argument_is_made_in_a_thread_and_shown_as_the_function_gets_it(
    engine: Engines,
) -> None:
    threads: list[str] = []

    def noted(value: str) -> str:
        threads.append(threading.current_thread().name)
        return value.strip()

    received: list[Any] = []

    @tool
    def send(to: Annotated[str, AfterValidator(noted)], at: Path = Path("/srv")) -> str:
        received.append((to, at))
        return "sent"

    spec, options = caller("model", send, {"to": " main "}, {"matches": "^main$"})
    async with engine(spec, **options) as running:
        question = await asked(running)

    assert question is not None
    assert question.detail["arguments"] == {"to": "main", "at": "/srv"}
    assert received == [("main", Path("/srv"))]
    assert threading.current_thread().name not in threads


async def test_about_what_json_cannot_hold_a_person_is_asked_whatever_the_guard_says(engine: Engines) -> None:
    class Opaque:
        def __repr__(self) -> str:
            return "Opaque()"

    @tool
    def send(to: str, how: Any = Opaque()) -> str:  # noqa: B008
        return "sent"

    for kind in ("model", "function"):
        spec, options = caller(kind, send, {"to": "x"}, {"contains": "nothing of the kind"})
        async with engine(spec, **options) as running:
            question = await asked(running)

        assert question is not None
        assert question.detail["arguments"] == {"to": "x", "how": "Opaque()"}


async def test_about_a_function_that_does_not_say_what_it_takes_a_person_is_asked(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> Any:
        return await ctx.tool("max", 1, 2)

    spec = AgentSpec(name="ada", run=work, tools=(max,), approve={"max": {"contains": "nothing of the kind"}})
    async with engine(spec) as running:
        question = await asked(running)

    assert question is not None
    assert question.detail["arguments"] == [1, 2, {}]


async def test_a_guard_over_a_call_of_a_server_sees_the_defaults_of_its_schema(engine: Engines, tmp_path: Path) -> None:
    server = program(tmp_path / "notes.txt")
    rule = {"json": "text", "equals": "nothing said"}
    spec, options = team(server, [call("files__echo")], approve={"files/echo": rule})
    async with engine(spec, **options) as running:
        question = await asked(running)

    assert question is not None
    assert question.detail["arguments"] == {"text": "nothing said"}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_the_value_of_a_call_has_the_defaults_of_every_part_of_a_schema(keyword: str) -> None:
    target = {"type": "object", "properties": {"branch": {"type": "string", "default": "main"}}}
    part = {"properties": {"target": target, "others": {"type": "array", "items": target}}}
    schema = {keyword: [{"$ref": "#/$defs/a~1b"}], "$defs": {"a/b": part}}

    value = server_value({"target": {}, "others": [{"branch": "next"}, {}]}, schema)

    assert value.arguments == {"target": {"branch": "main"}, "others": [{"branch": "next"}, {"branch": "main"}]}
    assert value.is_exact


@pytest.mark.parametrize("kind", ["model", "function"])
async def test_what_is_too_long_to_be_shown_is_not_called_and_nobody_is_asked(engine: Engines, kind: str) -> None:
    received: list[str] = []

    @tool
    def send(text: str) -> str:
        received.append(text)
        return "sent"

    arguments = {"text": "x" * SHOWN_CHARACTERS}
    spec, options = caller(kind, send, arguments, "always")
    async with engine(spec, **options) as running:
        run = await running.submit()
        summary, output = await running.ended(run)
        told = str(output) if summary.error is None else summary.error

    assert "send was not called: a person has to allow that, and its 1,000,012 characters are more than" in told
    assert received == []


@pytest.mark.parametrize("kind", ["model", "function"])
async def test_a_question_with_a_secret_shows_its_name_and_can_be_answered_once(
    engine: Engines, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "svc-0123456789")
    received: list[Any] = []

    @tool
    def send(header: dict[str, str], api_key: str = "not secret at all") -> str:
        received.append(header)
        return "sent"

    spec, options = caller(kind, send, {"header": {"auth": "Bearer svc-0123456789"}}, "always")
    async with engine(spec, **options) as running:
        question = await asked(running)

    assert question is not None
    assert question.detail["arguments"] == {
        "header": {"auth": "Bearer [SERVICE_TOKEN]"}, "api_key": "not secret at all",
    }  # fmt: skip
    assert question.options == ["allow_once", "reject_once"]
    assert received == [{"auth": "Bearer svc-0123456789"}]
    assert "svc-0123456789" not in question.question
