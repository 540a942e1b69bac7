"""Classifies errors of litellm: their kind, and whether and when to retry.

Goes by names of classes and by status, because importing the classes would import litellm.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from engine.models.responses import BadAnswer, describe_page
from engine.platform.redaction import redact

MAX_RETRY_AFTER_S = 86_400.0
MAX_CHARACTERS = 400
_RETRYABLE = frozenset({"rate_limit", "timeout", "connection", "server", "cut"})
_BY_NAME = (
    ("MidStreamFallbackError", "cut"),
    ("CutShort", "cut"),
    ("TookTooLong", "timeout"),
    ("ContextWindowExceededError", "context"),
    ("ContentPolicyViolationError", "content"),
    ("RateLimitError", "rate_limit"),
    ("Timeout", "timeout"),
    ("APITimeoutError", "timeout"),
    ("AuthenticationError", "auth"),
    ("PermissionDeniedError", "auth"),
    ("PaymentRequiredError", "auth"),
    ("BadRequestError", "bad_request"),
    ("NotFoundError", "bad_request"),
    ("UnprocessableEntityError", "bad_request"),
)
_BY_STATUS = {401: "auth", 402: "auth", 403: "auth", 408: "timeout", 429: "rate_limit"}
_QUOTA_SPENT = re.compile(r"insufficient_quota|exceeded your current quota|credit balance is too low", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"""(?ix)
    context.length.of.only.\d+.tokens   # LM Studio
    | prompt.is.too.long                # Anthropic, through a gateway that speaks another protocol
    | context_length_exceeded           # OpenAI's code, where a gateway has other words
    | (?:maximum|max|available|model's).context.(?:length|size|window|limit)
    | exceeds?.(?:the.|its.)?(?:model.?s?.)?context.(?:length|size|window|limit)
    """
)
"""Matches errors of status 400 or 413 about a conversation that is too long, and that litellm does not recognize."""
_PAGE = re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_PREFIX = re.compile(r"^\s*(?:litellm\.)?(?:[A-Z][A-Za-z]*(?:Error|Exception|Timeout)|Timeout)\s*(?::|-)\s*")
_BYTES_LITERAL = re.compile(r"""\bb(?P<quote>['"])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)""", re.DOTALL)
"""Matches a Python bytes literal, such as `b'{"error": …}'`: the repr of a response, as litellm quotes it."""
_ORIGINAL = re.compile(r" Original exception: .*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Failure:
    """A classified error."""

    text: str
    """One line, without keys."""
    error_type: str
    retryable: bool
    retry_after_s: float | None


def failure_of(error: BaseException, secrets: Iterable[str], *, now_s: float) -> Failure:
    """Classify an error of litellm.

    Args:
        secrets: Keys that its message may contain.
        now_s: The time in seconds since the epoch, because `Retry-After` may be a date.
    """
    kind = _kind(error)
    text = error_text(error, secrets)
    return Failure(
        text=text,
        error_type=kind,
        retryable=kind in _RETRYABLE and not (kind == "rate_limit" and _QUOTA_SPENT.search(str(error))),
        retry_after_s=_retry_after_s(error, now_s),
    )


def error_text(error: BaseException, secrets: Iterable[str]) -> str:
    """Return the message of an error as one line, without keys and without the class names that wrap it."""
    if isinstance(error, MemoryError):
        return "took more memory than the provider process may have"
    # Secrets are removed first: one that is split or cut would no longer be recognized.
    text = redact(str(getattr(error, "message", None) or error), secrets)
    text = _ORIGINAL.sub("", _BYTES_LITERAL.sub(_decode_literal, text))
    while (shorter := _PREFIX.sub("", text)) != text:
        text = shorter
    if _PAGE.match(text):
        text = describe_page("text/html")
    text = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def _decode_literal(literal: re.Match[str]) -> str:
    """Return the text of a Python bytes literal as one line."""
    try:
        value = ast.literal_eval(literal[0])
    except (ValueError, SyntaxError):  # it was cut, or only looks like it
        return literal["text"]
    return " ".join(value.decode(errors="replace").split())


def _kind(error: BaseException) -> str:
    if isinstance(error, BadAnswer):
        return error.kind
    kind = _kind_of_error(error)
    is_too_long = kind == "bad_request" and _TOO_LONG.search(f"{error} {getattr(error, 'code', '')}")
    return "context" if is_too_long else kind


def _kind_of_error(error: BaseException) -> str:
    """Return the kind by the names of the error's classes, by whether a response came, and by its status."""
    names = [cls.__name__ for cls in type(error).__mro__]
    for name, kind in _BY_NAME:
        if name in names:
            return kind
    status = getattr(error, "status_code", None)
    has_response = getattr(error, "litellm_response_headers", None) is not None
    if not has_response and any(name in names for name in ("APIConnectionError", "InternalServerError")):
        return "connection"
    if isinstance(status, int) and 400 <= status < 500:
        return _BY_STATUS.get(status, "bad_request")
    return "server"


def _retry_after_s(error: BaseException, now_s: float) -> float | None:
    response = getattr(error, "response", None)
    for headers in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
        if headers:
            headers_by_name = {str(name).lower(): str(value) for name, value in headers.items()}
            delay_s = _delay_in_headers_s(headers_by_name, now_s)
            if delay_s is not None:
                return min(max(delay_s, 0.0), MAX_RETRY_AFTER_S)
    return None


def _delay_in_headers_s(headers: Mapping[str, str], now_s: float) -> float | None:
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        header = headers.get(name)
        if header is None:
            continue
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", header.strip()):
            return float(header) * unit_s
        try:
            return parsedate_to_datetime(header).timestamp() - now_s
        except ValueError:
            continue
    return None
