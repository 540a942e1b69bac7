"""Scripted models: give the answers that a team file has under `replies`, for trials, demonstrations and tests.

    models:
      fake:
        replies:
          - match: tides             # a regular expression that is searched in the last message
            calls: [{name: delegate, arguments: {worker: scout, instructions: "Look: {text}"}}]
          - text: "Done: {text}"

Each turn of a conversation uses the first matching reply that no earlier turn has used, so the same conversation always
gets the same answers, also after a restart; only failures with `times` are counted by the process. If no reply is left,
the model repeats the last message. In every text,
`{text}` is the last message, `{request}` the first, and `{name}` a named group of the match.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, TypeAlias

from pydantic import Field, ValidationError, model_validator

from engine.core.records.records import JsonValue
from engine.core.records.values import NO_USAGE, Usage
from engine.core.specs.model_spec import ModelSpec, Price
from engine.core.specs.spec import digest
from engine.errors import Unusable
from engine.models.costs import usage_at
from engine.models.records import Call, Chunk, Message, ModelAnswer, ModelError, ModelRequest, Sleep
from engine.platform.patterns import SLOW_TIMEOUT_S, Pattern, TooSlow
from engine.runtimes.options import first_fault
from engine.scripts import Expression, ScriptPart, fill_placeholders

PIECE_CHARACTERS = 24
"""Characters of a streamed piece."""


class ScriptedCall(ScriptPart):
    """A tool that the reply calls."""

    name: str
    arguments: JsonValue = Field(default_factory=dict)
    invalid: str | None = None
    """Text that it writes instead of a JSON object."""


class Reply(ScriptPart):
    """One answer."""

    match: Expression | None = None
    text: str = ""
    thought: str = ""
    calls: list[ScriptedCall] = Field(default_factory=list)
    delay_s: Annotated[float, Field(ge=0, le=86_400)] = 0.0
    """Delay before the first piece."""
    every_s: Annotated[float, Field(ge=0, le=3_600)] = 0.0
    """Delay between two pieces."""
    silent_s: Annotated[float, Field(ge=0, le=86_400)] = 0.0
    """Silence in the middle of the pieces."""
    fail: str | None = None
    """The kind of error, one of `ModelError.error_type`."""
    times: Annotated[int, Field(ge=1, le=1_000)] | None = None
    """How often a request fails; then the next matching reply answers it. None fails every time."""
    retry_after_s: float | None = None
    tokens_in: Annotated[int, Field(ge=0, le=10**9)] | None = None
    """By default estimated from the texts, at four characters a token."""
    tokens_out: Annotated[int, Field(ge=0, le=10**9)] | None = None

    @model_validator(mode="after")
    def _check_times(self) -> "Reply":
        if self.times is not None and self.fail is None:
            raise ValueError("'times' counts failures: say 'fail' too")
        return self


def replies_of(name: str, model: ModelSpec) -> list[Reply]:
    """Return the replies of a model; raises Unusable, with the place, if one is invalid."""
    replies = []
    for index, reply in enumerate(model.replies):
        try:
            replies.append(Reply.model_validate(reply))
        except ValidationError as error:
            raise Unusable(first_fault(error, "models", name, "replies", index)) from error
    return replies


Failures: TypeAlias = Counter[tuple[str, int, str]]
"""How often replies with `times` have failed: by model, place of the reply, and conversation."""


async def answer(
    request: ModelRequest, on_chunk: Callable[[Chunk], None], sleep: Sleep, failures: Failures
) -> ModelAnswer:
    """Return the next reply of the conversation; raises ModelError if the reply is a failure, or invalid."""
    try:
        replies = replies_of(request.name, request.model)
    except Unusable as unusable:
        raise ModelError(unusable.reason, model=request.name, error_type="bad_request", retryable=False) from unusable
    variables = {"text": _last_text(request.messages), "request": _first_text(request.messages)}
    try:
        reply, index = _next_reply(replies, request, failures)
        variables |= _match_groups(reply.match, variables["text"]) or {}
    except TooSlow as slow:
        raise ModelError(str(slow), model=request.name, error_type="bad_request", retryable=False) from slow
    if reply.delay_s:
        await sleep(reply.delay_s)
    if reply.fail is not None:
        if reply.times is not None:
            failures[_failure_key(index, request)] += 1
        raise ModelError(
            f"{request.name}: the script says {reply.fail}",
            model=request.name,
            error_type=reply.fail,
            retryable=reply.fail not in ("auth", "bad_request", "context", "content"),
            retry_after_s=reply.retry_after_s,
        )
    text, thought = fill_placeholders(reply.text, variables), fill_placeholders(reply.thought, variables)
    chunks = [*_pieces("thought", thought), *_pieces("text", text)]
    for place, chunk in enumerate(chunks):
        on_chunk(chunk)
        pause_s = reply.every_s + reply.silent_s * (place == len(chunks) // 2)
        if pause_s:
            await sleep(pause_s)
    turn = sum(message.role == "assistant" for message in request.messages)
    calls = tuple(
        Call(
            id=f"call_{turn}_{index}",
            name=call.name,
            arguments=None if call.invalid else fill_placeholders(call.arguments, variables),
            invalid=call.invalid,
        )
        for index, call in enumerate(reply.calls)
    )
    usage = _usage(request, reply, text)
    return ModelAnswer(
        text=text,
        calls=calls,
        thinking=thought or None,
        finish="calls" if calls else "stop" if text else "empty",
        model=request.name,
        provider="scripted",
        usage=usage,
    )


def scripted_usage(request: ModelRequest, failures: Failures) -> Usage:
    """Return the usage of the next reply; no usage if it is invalid."""
    try:
        reply, _ = _next_reply(replies_of(request.name, request.model), request, failures)
    except (Unusable, TooSlow):
        return NO_USAGE
    variables = {"text": _last_text(request.messages), "request": _first_text(request.messages)}
    return _usage(request, reply, fill_placeholders(reply.text, variables))


def _next_reply(replies: Sequence[Reply], request: ModelRequest, failures: Failures) -> tuple[Reply, int]:
    """Return the reply of this turn and its place, after determining the replies that earlier turns have used."""
    messages, unused = request.messages, dict(enumerate(replies))
    reply, used_index = Reply(text="{text}"), -1
    turns = [place for place, message in enumerate(messages) if message.role == "assistant"]
    for place in [*turns, len(messages)]:
        text, reply = _last_text(messages[:place]), Reply(text="{text}")
        for index in [index for index, each in unused.items() if _match_groups(each.match, text) is not None]:
            candidate = unused.pop(index)
            # A turn that has an answer did not get it from a failure that comes a number of times.
            is_last = place == len(messages)
            if candidate.times is None or (is_last and failures[_failure_key(index, request)] < candidate.times):
                reply, used_index = candidate, index
                break
    return reply, used_index


def _failure_key(index: int, request: ModelRequest) -> tuple[str, int, str]:
    return request.name, index, digest(request.messages)


def _match_groups(match: str | None, text: str) -> dict[str, str] | None:
    """Return the named groups of an expression in a text; None if it does not match."""
    return {} if match is None else Pattern(match).groups_in(text, timeout_s=SLOW_TIMEOUT_S)


def _last_text(messages: Sequence[Message]) -> str:
    """Return the last message of a user, or all tool results since the last answer."""
    texts: list[str] = []
    for message in reversed(messages):
        if message.role == "assistant" or (texts and message.role != "tool"):
            break
        texts.insert(0, message.text)
        if message.role == "user":
            break
    return "\n".join(texts)


def _first_text(messages: Sequence[Message]) -> str:
    return next((message.text for message in messages if message.role == "user"), "")


def _pieces(kind: Any, text: str) -> Iterator[Chunk]:
    return (Chunk(kind, text[at : at + PIECE_CHARACTERS]) for at in range(0, len(text), PIECE_CHARACTERS))


def _usage(request: ModelRequest, reply: Reply, text: str) -> Usage:
    characters = sum(len(message.text) for message in request.messages)
    tokens_in = characters // 4 + 1 if reply.tokens_in is None else reply.tokens_in
    tokens_out = len(text) // 4 + 1 if reply.tokens_out is None else reply.tokens_out
    return usage_at(request.model.price or Price(), tokens_in=tokens_in, tokens_out=tokens_out)
