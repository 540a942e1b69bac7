"""Models of a simulation: their answers are drawn, and their costs recorded.

An answer depends only on the seed, the model's name, the messages and the asking attempt. Only the provider is
simulated: rate limits, estimates and everything above are the engine's own.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from hashlib import blake2b
from random import Random
from typing import Any

import msgspec
from typing_extensions import override

from engine.core.records.records import JsonValue
from engine.core.records.values import NO_USAGE, Usage
from engine.core.specs.model_spec import ModelSpec, Price
from engine.models.costs import tokens_in, usage_at
from engine.models.records import Call, Chunk, ModelAnswer, ModelError, ModelRequest, Sleep, ToolSchema
from engine.models.service import ModelService
from engine.simulation.drawing import MADE_NAMES, SEGMENTS, TAGS
from engine.simulation.model_watch import ModelWatch
from engine.simulation.playing import CURRENT_ATTEMPT, PlayedAttempt

FIRST, SPARE = "sim", "spare"
"""Names of the models of agents in random teams."""
MAX_ANSWER_S = 60.0
"""Longest duration of an answer without failures, in seconds."""
CALL_PROBABILITY_BY_TURN = (0.8, 0.45, 0.2, 0.1)
"""Probability that an answer calls a tool, by turn."""
UNKNOWN_SHARE = 0.04
"""Share of calls that name an unknown worker or tool."""
CALL_PROBABILITY = {"ask_human": 0.12, "create_agent": 0.1, "list_workers": 0.3, "read_result": 0.5}
"""Probability that a drawn tool is called."""
FREQUENT_TOOLS = ("delegate", "delegate", "delegate", "create_plan", "forward_message")
LONG_TEXT = "a line of an answer that is too long to be kept in the state itself\n" * 40
MISHAPS = (
    "is rate limited",
    "does not answer",
    "does not know its key",
    "breaks off",
    "refuses",
    "is cut at its length",
    "says nothing",
    "writes junk",
    "calls the same for ever",
    "finds the request too long",
)
"""Mishaps of a model in an attempt, by the words that describe them in a history."""


def models_of(draw: Random) -> Mapping[str, ModelSpec]:
    """Return the model specs of a drawn team."""
    price = Price(in_usd=Decimal(3), out_usd=Decimal(15), cached_usd=draw.choice([None, Decimal("0.3")]))
    return {
        FIRST: ModelSpec(
            model="simulated/first",
            price=price,
            rpm=draw.choice([None, 2, 20]),
            tpm=draw.choice([None, 4_000]),
            context_tokens=draw.choice([None, 1_500, 100_000]),
        ),
        SPARE: ModelSpec(model="simulated/spare", price=draw.choice([None, price])),
    }


class SimulatedModels(ModelService):
    """Gives drawn answers; `watch` gets each request and its cost."""

    def __init__(self, watch: ModelWatch, seed: int) -> None:
        super().__init__(_start_nothing, _trust_all)
        self._watch = watch
        self._seed = seed

    @override
    async def ask(self, request: ModelRequest, on_chunk: Callable[[Chunk], None], sleep: Sleep) -> ModelAnswer:
        """Answer one request; raises ModelError if the attempt has a mishap in this turn."""
        attempt = CURRENT_ATTEMPT.get()
        messages = [message for message in request.messages if message.role != "system"]
        digest = blake2b(msgspec.json.encode(messages), digest_size=8).hexdigest()
        draw = Random(f"{self._seed} {request.name} {attempt.key} {digest}")
        turn = sum(message.role == "assistant" for message in messages)
        with self._watch.watch_request(attempt, request, super().estimate(request)):
            await sleep(attempt.seconds(draw, MAX_ANSWER_S))
            mishap = attempt.mishap if turn == attempt.wrong_turn and request.tools is not None else None
            if mishap is not None and (request.name == FIRST or draw.random() < 0.6):
                await self._fail(mishap, request, draw, sleep)
            answer = self._answer(request, attempt, draw, turn, mishap)
            for piece in (answer.text[:40], answer.text[40:]):
                if piece:
                    on_chunk(Chunk("text", piece))
                    await sleep(attempt.seconds(draw, 1.0))
            self._watch.charge(attempt, answer.usage)
            return answer

    @override
    def estimate(self, request: ModelRequest, characters_out: int | None = None) -> Usage:
        """Return the estimated cost of a request, and charge it if the request was cut off."""
        usage = super().estimate(request, characters_out)
        if characters_out is not None:
            self._watch.charge(CURRENT_ATTEMPT.get(), usage)
        return usage

    async def _fail(self, mishap: str, request: ModelRequest, draw: Random, sleep: Sleep) -> None:
        """Fail as a provider does; faulty answers are made by `_answer`."""
        spent = usage_at(request.model.price, tokens_in=tokens_in(request), tokens_out=draw.randrange(20))
        kinds: dict[str, tuple[str, bool, Usage]] = {
            "is rate limited": ("rate_limit", True, NO_USAGE),
            "does not answer": ("timeout", True, NO_USAGE),
            "does not know its key": ("auth", False, NO_USAGE),
            "breaks off": ("cut", True, spent),
            "finds the request too long": ("context", False, NO_USAGE),
        }
        if mishap not in kinds:
            return
        kind, retryable, usage = kinds[mishap]
        if kind == "timeout":
            await sleep(request.model.timeout_s)
        self._watch.charge(CURRENT_ATTEMPT.get(), usage)
        raise ModelError(
            f"{request.name} {mishap}",
            model=request.name,
            error_type=kind,
            retryable=retryable,
            retry_after_s=draw.choice([None, 7.0, 90.0]) if kind == "rate_limit" else None,
            usage=usage,
        )

    def _answer(
        self, request: ModelRequest, attempt: PlayedAttempt, draw: Random, turn: int, mishap: str | None
    ) -> ModelAnswer:
        calls: list[Call] = []
        if request.tools and draw.random() < CALL_PROBABILITY_BY_TURN[min(turn, len(CALL_PROBABILITY_BY_TURN) - 1)]:
            calls = [
                call
                for n in range(draw.choice([1, 1, 2, 3]))
                for call in _draw_calls(request, attempt, draw, f"c{turn}.{n}")
            ]
        text = draw.choice(["as you like", "done", LONG_TEXT, "42", '{"found": [1, 2]}'])
        finish = "stop"
        if request.output is not None and draw.random() < 0.8:
            text = json.dumps(_draw_value(request.output, draw))
        if mishap == "calls the same for ever":
            calls = [Call(id=f"c{turn}", name="look", arguments={"at": 1})]
            attempt.wrong_turn += 1  # in the next turn too
        elif mishap in ("refuses", "is cut at its length", "says nothing"):
            finish = {"refuses": "refusal", "is cut at its length": "length", "says nothing": "empty"}[mishap]
            calls = []
            text = "" if finish == "empty" else text
        elif mishap == "writes junk":
            calls = [Call(id=f"c{turn}", name="send", invalid='{"number": ')]
        usage = usage_at(request.model.price, tokens_in=tokens_in(request), tokens_out=draw.randrange(1, 400))
        return ModelAnswer(
            text=text if not calls or draw.random() < 0.3 else "",
            calls=tuple(calls),
            thinking=draw.choice([None, "a thought"]),
            finish="calls" if calls else finish,  # type: ignore[arg-type]
            model=request.name,
            provider="simulated",
            usage=usage,
        )


def _draw_calls(request: ModelRequest, attempt: PlayedAttempt, draw: Random, call_id: str) -> list[Call]:
    """Return a call of one of the tools; None if it is not called now."""
    tools = {tool.name: tool for tool in request.tools}
    delegation_tools = [name for name in FREQUENT_TOOLS if name in tools] if attempt.may_delegate() else []
    other_tools = [name for name in tools if name not in FREQUENT_TOOLS]
    name = draw.choice(delegation_tools or other_tools) if draw.random() < 0.7 else draw.choice(other_tools or [""])
    if not name or draw.random() >= CALL_PROBABILITY.get(name, 1.0):
        return []
    if draw.random() < UNKNOWN_SHARE:
        return [Call(id=call_id, name="no_such_tool", arguments={})]
    return [Call(id=call_id, name=name, arguments=_draw_arguments(tools[name], attempt, draw))]


def _draw_arguments(tool: ToolSchema, attempt: PlayedAttempt, draw: Random) -> JsonValue:
    about = f"part of {attempt.text[:40]}, {draw.randrange(10**6)}"
    workers: Sequence[JsonValue] = _workers(tool)

    def worker() -> JsonValue:
        return "nobody" if not workers or draw.random() < UNKNOWN_SHARE else draw.choice(workers)

    def task(name: str, *after: str) -> JsonValue:
        before: list[JsonValue] = [*after]
        return {"id": name, "worker": worker(), "instructions": f"{about}, {name}", "after": before}

    builders: dict[str, Callable[[], JsonValue]] = {
        "delegate": lambda: {"worker": worker(), "instructions": about},
        "forward_message": lambda: {"worker": worker()},
        "create_plan": lambda: {
            "tasks": draw.choice(
                [
                    [task("a"), task("b", "a"), task("c", "a"), task("d", "b", "c")],
                    [task("a"), task("b")],
                    [task("a", "b"), task("b", "a")],
                ]
            )
        },
        "ask_human": lambda: {"question": f"{about}?", "options": draw.choice(_OPTIONS)},
        "remember": lambda: {
            "text": about,
            "tags": ["part", draw.choice(TAGS)],
            "importance": draw.choice([0.2, 0.9]),
            "segment": draw.choice(["private", *SEGMENTS]),
            **draw.choice([{}, {}, {"supersedes": f"m{draw.randrange(1, 20)}", "expect": draw.choice([1, 2])}]),
        },
        "recall": lambda: {"query": "part", "segment": draw.choice(["private", "*", *SEGMENTS])},
        "create_agent": lambda: {
            "name": draw.choice(MADE_NAMES),
            "instructions": "Help.",
            "tools": [*_allowed_names(tool, "tools")][: draw.randrange(3)],
            "may": [*_allowed_names(tool, "may")][: draw.randrange(6)],
        },
        "read_result": lambda: {"result": draw.choice(_allowed_names(tool, "result") or ["none"]), "start": 100},
        "send": lambda: {"number": draw.randrange(3)},
        "look": lambda: {"at": draw.randrange(3)},
    }
    return builders.get(tool.name, dict)()


_OPTIONS: Sequence[JsonValue] = ([], ["yes", "no"])


def _workers(tool: ToolSchema) -> Sequence[Any]:
    if tool.name == "create_plan":
        tasks: Any = tool.parameters["properties"]
        return tasks["tasks"]["items"]["properties"]["worker"].get("enum", [])  # type: ignore[no-any-return]
    return _allowed_names(tool, "worker")


def _allowed_names(tool: ToolSchema, parameter: str) -> Sequence[Any]:
    properties: Any = tool.parameters.get("properties", {})
    schema = properties.get(parameter, {})
    return schema.get("items", schema).get("enum", [])  # type: ignore[no-any-return]


def _draw_value(schema: Any, draw: Random) -> JsonValue:
    """Return a value that fits one of the engine's own schemas: an object of numbers, texts and choices."""
    if "enum" in schema:
        return draw.choice(schema["enum"])  # type: ignore[no-any-return]
    kinds: dict[str, Callable[[], JsonValue]] = {
        "object": lambda: {
            name: _draw_value(property_schema, draw) for name, property_schema in schema.get("properties", {}).items()
        },
        "array": list,
        "number": lambda: draw.choice([0.2, 0.7, 0.95]),
        "integer": lambda: 1,
        "boolean": lambda: draw.random() < 0.6,
    }
    return kinds.get(schema.get("type", "string"), lambda: "good enough")()


def _start_nothing(function: Callable[..., Any], /, *args: object) -> None:
    """Start no process: no request leaves the simulation."""


async def _trust_all(reference: str) -> None:
    """Trust every address: none is reached."""
