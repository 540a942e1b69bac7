"""Where a search has hit: the words of an event around the hit, so that no row is cut before it."""

import re
from collections.abc import Sequence

from dashboard.views.drawing.lines import Span
from dashboard.views.words.filters import Filter, RequiredWord

HIT_TONE = "strong away"
_IN_SIGHT = 24
"""Characters of a row from the hit on."""
_BEFORE, _AFTER = 16, 160
"""Characters of the text before and behind the hit."""
_MIN_HEAD = 12
"""Characters of the sentence that stay before what is around the hit."""
_ESCAPE, _ESCAPED = re.compile(r"\\([^u])"), {"n": " ", "t": " ", "r": ""}


def words_of(row_filter: Filter) -> list[str]:
    """Return the words, in lower case, that rows of a filter contain."""
    return [term.test.text for term in row_filter.terms if isinstance(term.test, RequiredWord) and not term.negated]


def excerpt_around(body: bytes, words: Sequence[str]) -> str:
    """Return the text of a record around the first of some words; empty if it has none of them."""
    folded = body.lower()
    for word in words:
        place = folded.find(word.encode())
        if place >= 0:
            end = place + len(word.encode())
            before, hit, after = body[max(0, place - 2 * _BEFORE) : place], body[place:end], body[end : end + _AFTER]
            return _unescape(before)[-_BEFORE:] + hit.decode() + _unescape(after)
    return ""


def _unescape(body: bytes) -> str:
    """Return a piece of JSON as a person reads it."""
    text = body.decode("utf-8", errors="ignore")
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), text)


def mark_hits(text: str, tone: str, excerpt: str, words: Sequence[str], width: int) -> tuple[Span, ...]:
    """Return a sentence with its hits marked, and the first of them in sight.

    Args:
        text: The sentence.
        tone: Its tone.
        excerpt: Text of the event around the hit, shown where the sentence has none.
        words: What was sought, in lower case.
        width: Cells of the row; what is before the hit is left out, but for the first word, if it does not fit.
    """
    folded = text.casefold()
    places = [place for word in words if (place := folded.find(word)) >= 0]
    if not places and excerpt:
        max_head = max(_MIN_HEAD, width - _BEFORE - _IN_SIGHT)
        head = text if len(text) <= max_head else f"{text[: max_head - 1]}…"
        return (Span(f"{head}  …", tone), *_mark(excerpt, "muted", words))
    first = min(places, default=0)
    if first + _IN_SIGHT <= width or first <= _BEFORE + _MIN_HEAD:
        return _mark(text, tone, words)
    return (Span(f"{text.partition(' ')[0][:_MIN_HEAD]} …", tone), *_mark(text[first - _BEFORE :], tone, words))


def _mark(text: str, tone: str, words: Sequence[str]) -> tuple[Span, ...]:
    folded, spans, at = text.casefold(), list[Span](), 0
    if len(folded) != len(text):  # some letters are longer in lower case
        return (Span(text, tone),)
    while hits := [(place, len(word)) for word in words if word and (place := folded.find(word, at)) >= 0]:
        place, length = min(hits)
        spans += [Span(text[at:place], tone), Span(text[place : place + length], HIT_TONE)]
        at = place + length
    return tuple(span for span in (*spans, Span(text[at:], tone)) if span.text)
