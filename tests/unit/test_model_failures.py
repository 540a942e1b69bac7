"""Errors of libraries and providers, as the engine reports them: kind, words, whether and when to ask again."""

from types import SimpleNamespace
from typing import Any

import pytest

from engine.models.failures import MAX_CHARACTERS, MAX_RETRY_AFTER_S, Failure, failure_of
from engine.models.responses import BadAnswer
from engine.platform.redaction import KEY_PLACEHOLDER

RETRYABLE = {"rate_limit", "timeout", "connection", "server", "cut"}
NAMES = {
    "MidStreamFallbackError": "cut",
    "CutShort": "cut",
    "TookTooLong": "timeout",
    "ContextWindowExceededError": "context",
    "ContentPolicyViolationError": "content",
    "RateLimitError": "rate_limit",
    "Timeout": "timeout",
    "APITimeoutError": "timeout",
    "AuthenticationError": "auth",
    "PermissionDeniedError": "auth",
    "PaymentRequiredError": "auth",
    "BadRequestError": "bad_request",
    "NotFoundError": "bad_request",
    "UnprocessableEntityError": "bad_request",
    "APIConnectionError": "connection",
    "InternalServerError": "connection",
    "SomethingElse": "server",
}
STATUSES = {
    400: "bad_request", 401: "auth", 402: "auth", 403: "auth", 404: "bad_request", 408: "timeout",
    413: "bad_request", 429: "rate_limit", 499: "bad_request", 500: "server", 503: "server", 399: "server",
}  # fmt: skip
NOW_S = 784_111_777.0
"""Sun, 06 Nov 1994 08:49:37 GMT."""


def error_of(name: str, text: str = "no", base: type[Exception] = Exception, **fields: Any) -> Exception:
    """Return an error of a class of this name."""
    error: Exception = type(name, (base,), {})(text)
    for field, value in fields.items():
        setattr(error, field, value)
    return error


def failure(error: BaseException) -> Failure:
    return failure_of(error, ["sk-secret"], now_s=NOW_S)


def of_kind(kind: str, text: str = "no", retry_after_s: float | None = None) -> Failure:
    return Failure(text, kind, kind in RETRYABLE, retry_after_s)


@pytest.mark.parametrize("name", NAMES)
def test_the_class_of_an_error_says_its_kind(name: str) -> None:
    assert failure(error_of(name)) == of_kind(NAMES[name])
    below = error_of("Below", base=type(error_of(name)))
    assert failure(below) == of_kind(NAMES[name])


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("name", ["APIError", "APIConnectionError"])
def test_the_status_of_an_error_that_was_answered_says_its_kind(name: str, status: int) -> None:
    error = error_of(name, status_code=status, litellm_response_headers={})

    assert failure(error) == of_kind(STATUSES[status])


@pytest.mark.parametrize("kind", ["server", "bad_request"])
def test_an_answer_that_is_none_has_the_kind_that_its_reader_gave_it(kind: str) -> None:
    assert failure(BadAnswer("prompt is too long", kind)) == of_kind(kind, "prompt is too long")


@pytest.mark.parametrize(
    "words",
    [
        "model is loaded with context length of only 8192 tokens",
        "Prompt is too long: 209000 tokens",
        "Context_Length_Exceeded",
        *(f"the {word} context {size} is 8" for word in ("maximum", "max", "available", "model's")
          for size in ("length", "size", "window", "limit")),
        *(f"request {verb}{of} context {size}" for verb in ("exceed", "exceeds") for of in (" the", " its", "")
          for size in ("length", "size", "window", "limit")),
        "input exceeds the model's context window", "input exceeds model context size",
    ],
)  # fmt: skip
def test_a_conversation_that_is_too_long_is_known_by_the_words_of_a_refusal_alone(words: str) -> None:
    for error in (error_of("BadRequestError", words), error_of("APIError", words, status_code=413)):
        assert failure(error) == of_kind("context", words)
    assert failure(error_of("BadRequestError", code=words)) == of_kind("context")
    for name in ("RateLimitError", "AuthenticationError", "SomethingElse"):
        assert failure(error_of(name, words)) == of_kind(NAMES[name], words)


@pytest.mark.parametrize("words", ["the context is fine", "the length of a name exceeds 64", "max length of context"])
def test_other_refusals_are_not_about_the_length(words: str) -> None:
    assert failure(error_of("BadRequestError", words)) == of_kind("bad_request", words)


@pytest.mark.parametrize(
    "words", ["Insufficient_Quota", "You exceeded your current quota", "credit balance is too low"]
)
def test_a_limit_that_no_wait_helps_against_is_not_asked_again(words: str) -> None:
    assert failure(error_of("RateLimitError", words)) == Failure(words, "rate_limit", False, None)
    assert failure(error_of("Timeout", words)) == of_kind("timeout", words)


PAGE = "answered with a web page (text/html): is base_url right?"
TEXTS: dict[str, str] = {
    "litellm.BadRequestError: OpenAIException - no": "no",
    "APITimeout - litellm.Timeout: no": "no",
    "no Original exception: KeyError\nat line 3": "no",
    "\n  \n first \n second": "first",
    "a\tb\x00c": "a b c",
    "wrong key sk-secret": "wrong key ***",
    'no b\'{"error":\\n  "gone"}\' here': 'no {"error": "gone"} here',
    'no b"it\'s \\xff" here': "no it's � here",
    "no b'\\x' here": "no \\x here",
    "no b'a\x00' here": "no a  here",
    "rgb'a' stays": "rgb'a' stays",
    "<!DOCTYPE html>\n<p>": PAGE,
    "  <html lang='en'>": PAGE,
    "b'<!doctype HTML><p>'": PAGE,
    "InternalServerError: <HTML>": PAGE,
    "<htmlx> <html>": "<htmlx> <html>",
    "": "Error",
    "x" * MAX_CHARACTERS: "x" * MAX_CHARACTERS,
    "y" * (MAX_CHARACTERS + 1): "y" * (MAX_CHARACTERS - 1) + "…",
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_words_of_an_error_are_one_line_without_what_wraps_them(text: str) -> None:
    expected = of_kind("server", TEXTS[text].replace("***", KEY_PLACEHOLDER))
    assert failure(error_of("Error", text)) == expected
    if text:
        assert failure(error_of("Error", "other", message=text)) == expected


def test_an_error_of_memory_says_whose_memory() -> None:
    assert failure(MemoryError()) == of_kind("server", "took more memory than the provider process may have")


WAITS: list[tuple[dict[str, str], float | None]] = [
    ({"Retry-After": "7"}, 7.0),
    ({"retry-after": " 1.5 "}, 1.5),
    ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
    ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
    ({"retry-after": "Sun, 06 Nov 1994 08:50:37 GMT"}, 60.0),
    ({"retry-after": "Sun, 06 Nov 1994 08:48:37 GMT"}, 0.0),
    ({"retry-after": "999999999"}, MAX_RETRY_AFTER_S),
    ({"retry-after": "soon"}, None),
    ({"x": "1"}, None),
]


@pytest.mark.parametrize(("headers", "wait_s"), WAITS)
def test_a_wait_that_a_provider_asks_for_is_read_from_either_headers(
    headers: dict[str, str], wait_s: float | None
) -> None:
    expected = of_kind("rate_limit", retry_after_s=wait_s)
    response = SimpleNamespace(headers=headers)
    for first in (None, {}, {"x": "1"}):
        assert failure(error_of("RateLimitError", response=response, litellm_response_headers=first)) == expected
    other = SimpleNamespace(headers={"retry-after": "3"})
    own = failure(error_of("RateLimitError", response=other, litellm_response_headers=headers))
    assert own.retry_after_s == (3.0 if wait_s is None else wait_s)
