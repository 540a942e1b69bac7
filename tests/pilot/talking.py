"""A team of models in the middle of a conversation, the same at each call: what is live on the screens of the tests."""

import json
from collections.abc import Mapping
from decimal import Decimal

from engine.core.commands import Submit
from engine.core.records.records import JsonValue
from engine.core.records.values import Usage
from engine.core.signals import ModelErred, PersonAsked, PersonKind
from engine.core.specs.failure_policies import Retry
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from tests.pilot.scene import NOW_MS
from tests.world import World, agent, team_world

HOSTILE = "\x1b[31mred\x1b]0;owned\x07 [bold]\u202e"


def talking() -> tuple[World, dict[str, str]]:
    """Return the team, and its live texts."""
    models = {"fast": ModelSpec(replies=({"text": "x"},))}
    work = team_world(
        agent("chief", on_failure=[Retry(3)]),
        agent("scout", "search"),
        agent("seeker", "find"),
        agent("writer", "write"),
        mode="delegate",
        options=SupervisorOptions(models=models, lead="chief"),
    )
    work.now_ms = NOW_MS - 61_000
    work.order(Submit(request="Write two pages on the tides, with sources", supervisor="chief"))
    chief = next(iter(work.started))
    asked = (("scout", "Find three sources on tides"), ("seeker", "Look up the moon"), ("writer", "Draft two pages"))
    calls = [{"name": "delegate", "arguments": {"worker": one, "instructions": said}} for one, said in asked]
    plan = {"text": "Let me plan.", "thinking": "Three of them can work at once.", "calls": calls}
    _model(
        work,
        chief,
        "turn:1",
        plan,
        Usage(tokens_in=1_204, tokens_out=96, tokens_cached=1_024, cost_usd=Decimal("0.0042")),
    )
    for place, (worker, said) in enumerate(asked):
        work.ask(chief, worker, [said], call=worker)
        work.now_ms += 200 * (place + 1)
    keys = {work.state.agents[start.agent_id].name: key for key, start in work.started.items()}
    scout, seeker, writer = keys["scout"], keys["seeker"], keys["writer"]
    work.now_ms += 2_100
    _model(work, scout, "turn:1", {"calls": [{"name": "search", "arguments": {"query": "spring tides", "limit": 3}}]},
           Usage(tokens_in=812, tokens_out=31, cost_usd=Decimal("0.0011")))  # fmt: skip
    _tool(
        work,
        scout,
        "search",
        {"query": "spring tides", "limit": 3},
        ["tides.org/spring", "sea.net/why", f"moon.info {HOSTILE}"],
    )
    erred = {"model": "fast", "error": "429: slow down, please", "error_type": "rate_limit", "retry_after_s": 20.0}
    work.say(ModelErred(task_id=seeker[0], attempt=seeker[1], generation=1, **erred))  # type: ignore[arg-type]
    _model(work, seeker, "turn:1", {"calls": [{"name": "search", "arguments": {"query": "the moon"}}]},
           Usage(tokens_in=640, tokens_out=18, cost_usd=Decimal("0.0008")))  # fmt: skip
    work.now_ms = NOW_MS - 400
    call = {"name": "search", "arguments": {"query": "the moon", "since": 1969}, "since_ms": NOW_MS - 4_300}
    live = {
        f"output:{writer[0]}": "# Tides\n\nTwice a day the sea comes and goes. What moves it is the moon, and to a "
        f"lesser part the sun: both pull at the water, {HOSTILE} and where they pull together, it is a spring tide. Ha",
        f"thought:{writer[0]}": "Two pages are some 800 words. I begin with what everybody has seen at the "
        "shore, then the cause.",
        f"call:{seeker[0]}": json.dumps([call]),
        f"thought:{scout[0]}": "The second source contradicts the first; I had better compare their dates before I "
        "cite either.",
    }  # fmt: skip
    return work, live


def _model(work: World, key: tuple[str, int], name: str, answer: Mapping[str, object], usage: Usage) -> None:
    asked = {"model": "fast", "messages": 3}
    work.record(key, name, answer, what="model", input=asked, usage=usage, duration_ms=1_840)


def _tool(work: World, key: tuple[str, int], name: str, given: object, found: object) -> None:
    work.record(key, f"tool:{name}", found, what="tool", input=given, duration_ms=412)


ALLOWING = ("allow_once", "allow_always", "reject_once", "reject_always")


def choosing(*answers: str) -> World:
    """Return the same team, where the scout wants one of some answers of its own."""
    work, _ = talking()
    scout = next(key for key, start in work.started.items() if work.state.agents[start.agent_id].name == "scout")
    _asks(work, scout, "ask", "Which tides are meant?", {}, answers)
    return work


def choosing_and_approving(*tools: str) -> World:
    """Return the same team, where the scout chooses between two answers, and then calls of some tools wait."""
    work = choosing("North Sea", "all seas")
    writer = next(key for key, start in work.started.items() if work.state.agents[start.agent_id].name == "writer")
    for place, tool in enumerate(tools):
        detail: dict[str, JsonValue] = {"tool": tool, "arguments": {"path": f"{place}.md"}}
        _asks(work, writer, "approval", f"writer wants to call {tool}", detail, ALLOWING, key=f"approval:{place}")
    return work


def approving(detail: dict[str, JsonValue], options: tuple[str, ...] = ALLOWING) -> World:
    """Return the same team, where the scout may call a tool only when a person lets it."""
    work, _ = talking()
    scout = next(key for key, start in work.started.items() if work.state.agents[start.agent_id].name == "scout")
    _asks(work, scout, "approval", "scout wants to call files/write", {"tool": "files/write", **detail}, options)
    return work


def asking() -> tuple[World, dict[str, str]]:
    """Return the same team, where the scout asks a question and two tools wait to be allowed."""
    work, live = talking()
    keys = {work.state.agents[start.agent_id].name: key for key, start in work.started.items()}
    told = "Which tides are meant: of the North Sea, or of all seas?"
    _asks(work, keys["scout"], "ask", told, {}, ())
    for name, path in (("writer", "tides.md"), ("seeker", f"moon {HOSTILE}.md")):
        detail: dict[str, JsonValue] = {"tool": "files/write", "arguments": {"path": path, "text": "# Tides"}}
        _asks(work, keys[name], "approval", f"{name} wants to call files/write", detail, ALLOWING)
    work.now_ms = NOW_MS - 400
    return work, live


def _asks(
    work: World,
    attempt: tuple[str, int],
    kind: PersonKind,
    question: str,
    detail: dict[str, JsonValue],
    options: tuple[str, ...],
    key: str | None = None,
) -> None:
    work.say(
        PersonAsked(
            task_id=attempt[0],
            attempt=attempt[1],
            generation=1,
            key=key or f"{kind}:1",
            kind=kind,
            question=question,
            options=list(options),
            detail=detail,
        )
    )
