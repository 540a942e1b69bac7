"""Built-in checks of outputs: the verdicts of the nodes that decide how a graph continues. Nothing here runs code.

Rule: outputs are untrusted, so they are only read as values, and no check takes longer than its limit.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import thread_time

import anyio.to_thread

from engine.core.encoding.json_values import json_equal
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text, preview
from engine.core.specs.check import Check
from engine.core.specs.guard import in_words
from engine.platform.patterns import BRIEF_S, Pattern, TooSlow

LONGEST_TEXT = 200_000
"""Characters of an output that a pattern is looked for in: its beginning; about longer arguments a person is asked."""
BRIEF_TEXT = 10_000
"""Characters of arguments that a guard is held against in the loop; longer ones in a thread."""
PATTERN_S = 2.0
"""How long one pattern may take, in seconds."""
REASONS = 200
"""Characters of the reasons that stand in a verdict; the whole is in the output that was looked at."""
_SCORE = re.compile(
    r"\bscore\b[^0-9\n-]{0,12}(-?[0-9]{1,6}(?:\.[0-9]{1,6})?)(?:[\s*_`]{0,4}(?:/|out of)[\s*_`]{0,4}([0-9]{1,4}))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CheckedOutput:
    """One output that is looked at."""

    agent: str
    status: str
    output: JsonValue
    error: str | None = None


async def verdict_of(check: Check, looked: Sequence[CheckedOutput]) -> dict[str, JsonValue]:
    """Return what a check finds.

    Args:
        check: `score`: `until`. `approved`: `rejects`. `guards`: `guards`, and `all` to look at every one. `items`:
            `most`.
        looked: What is looked at, resolved.

    Returns:
        `score`: score (the lowest; null where none was given) and enough. `approved`: approved and reasons. `guards`:
        holds (numbers of those that do), said, and failed (an unhandled error). `items`: items (how many;
        null where there is no list), titles, and list where it stood in a text or under a key.

    Raises:
        BadPattern: If a pattern takes too long.
    """
    if check.what == "guards":
        return await _guards(check, looked)
    return _WHAT[check.what](check, looked)


def _score(check: Check, looked: Sequence[CheckedOutput]) -> dict[str, JsonValue]:
    scores = [score_in(one.output) for one in looked if one.status == "done"]
    given = [score for score in scores if score is not None]
    lowest = min(given) if given and len(given) == len(scores) else None
    until = check.args.get("until")
    enough = lowest is not None and isinstance(until, int | float) and lowest >= until
    return {"score": lowest, "enough": enough}


def score_in(output: JsonValue) -> float | None:
    """Return the number under `score` of an object, also of one in a text, or after that word in a text."""
    value = _value(output)
    if isinstance(value, dict):
        score = value.get("score")
        if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) < 1e12:
            return None
        return float(score)
    found = _SCORE.search(value[:LONGEST_TEXT]) if isinstance(value, str) else None
    if found is None:
        return None
    return float(found[1]) / float(found[2]) if found[2] and float(found[2]) else float(found[1])


def _approved(check: Check, looked: Sequence[CheckedOutput]) -> dict[str, JsonValue]:
    words = check.args.get("rejects")
    rejects = [str(word).casefold() for word in words] if isinstance(words, list) else []
    for one in looked:
        value = _value(one.output)
        if isinstance(value, dict) and value.get("approved") is False:
            reasons = value.get("reasons", value.get("reason", ""))
            return {"approved": False, "reasons": _short(reasons)}
        start = value.lstrip(" \t\n*#_>\"'-").casefold()[:200] if isinstance(value, str) else ""
        word = next((word for word in rejects if start.startswith(word)), None)
        if word is not None and not start[len(word) : len(word) + 1].isalnum():
            return {"approved": False, "reasons": _short(value)}
    return {"approved": True, "reasons": ""}


def _short(reasons: JsonValue) -> str:
    text = "; ".join(map(str, reasons)) if isinstance(reasons, list) else str(reasons)
    return " ".join(text.split())[:REASONS]


async def _guards(check: Check, looked: Sequence[CheckedOutput]) -> dict[str, JsonValue]:
    guards = check.args.get("guards")
    holds: list[JsonValue] = []
    said: list[str] = []
    for number, guard in enumerate(guards if isinstance(guards, list) else []):
        if (guard == "else" and not holds) or (guard != "else" and await holds_for(guard, looked)):
            holds.append(number)
            said.append(in_words(guard))
            if not check.args.get("all"):
                break
    verdict: dict[str, JsonValue] = {"holds": holds, "said": ", ".join(said)}
    failed = next((one for one in looked if one.status == "failed"), None)
    if failed is not None and not holds:
        verdict["failed"] = f"{failed.agent}: {failed.error or 'failed'}"
    return verdict


async def holds_for(guard: JsonValue, looked: Sequence[CheckedOutput]) -> bool:
    """Return whether a guard holds for what is looked at: for one of them; `status: done` for all.

    Raises:
        BadPattern: If its pattern takes too long.
    """
    if not isinstance(guard, dict):
        return False
    if "status" in guard:
        every = [one.status == guard["status"] for one in looked]
        return all(every) if guard["status"] == "done" else any(every)
    there = [one.output for one in looked if one.output is not None]
    if "contains" in guard:
        wanted = str(guard["contains"]).casefold()
        return any(wanted in as_text(output).casefold() for output in there)
    if "names" in guard:
        return any(_names(as_text(output), str(guard["names"])) for output in there)
    if "matches" in guard:
        pattern = Pattern(str(guard["matches"]))
        return any([await _matches(pattern, as_text(output)[:LONGEST_TEXT]) for output in there])
    return any(json_equal(_at(output, str(guard.get("json", ""))), [guard.get("equals")]) for output in there)


async def asks_for(guard: JsonValue, arguments: JsonValue) -> bool:
    """Return whether a person is asked about a call, by a guard over its arguments.

    A person is where the guard holds for the arguments as one text (`as_text`), or for a text, a key, a number or a
    truth value in them by itself; and where they are too long to look at, or looking takes too long.
    """
    if not isinstance(guard, dict):
        return True
    if "json" in guard:
        return json_equal(_at(arguments, str(guard["json"])), [guard.get("equals")])
    whole = as_text(arguments)
    if len(whole) > LONGEST_TEXT:
        return True
    look = partial(_holds_in, guard, list(dict.fromkeys((whole, *_scalars(arguments)))))
    try:
        if len(whole) <= BRIEF_TEXT:
            return look(within_s=BRIEF_S)
    except TooSlow:
        pass  # once more where it holds up nothing
    try:
        return await anyio.to_thread.run_sync(partial(look, within_s=PATTERN_S))
    except TooSlow:
        return True


def _scalars(value: JsonValue) -> Iterator[str]:
    """Yield the texts, keys, numbers and truth values in a value."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    elif value is not None:
        yield as_text(value)


def _holds_in(guard: dict[str, JsonValue], texts: Sequence[str], *, within_s: float) -> bool:
    """Return whether a guard holds for one of some texts.

    Raises:
        TooSlow: If its pattern takes longer for all of them.
    """
    kind, value = next(iter(guard.items()))
    wanted = str(value)
    if kind == "contains":
        return any(wanted.casefold() in text.casefold() for text in texts)
    if kind == "names":
        return any(_names(text, wanted) for text in texts)
    pattern, end_s = Pattern(wanted), thread_time() + within_s
    for text in texts:
        left_s = end_s - thread_time()
        if left_s <= 0:
            raise TooSlow(wanted, within_s)
        if pattern.is_in(text, within_s=left_s):
            return True
    return False


def _names(text: str, name: str) -> bool:
    """Return whether a text has a name as a whole word; `_`, and `-` between letters, belong to a word."""
    return re.search(rf"(?<!\w)(?<!\w-){re.escape(name)}(?!-?\w)", text, re.IGNORECASE) is not None


async def _matches(pattern: Pattern, text: str) -> bool:
    try:
        return pattern.is_in(text)
    except TooSlow:  # once more where it holds up nothing
        return await anyio.to_thread.run_sync(partial(pattern.is_in, text, within_s=PATTERN_S))


def _at(output: JsonValue, path: str) -> list[JsonValue]:
    """Return the value at a path of names and numbers in a list of one; an empty list if there is none."""
    value = _value(output)
    for name in path.removeprefix("$").strip(".").split("."):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return []
    return [value]


def _items(check: Check, looked: Sequence[CheckedOutput]) -> dict[str, JsonValue]:
    output = looked[0].output if looked else None
    value = _value(output)
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        value = value["items"]
    if not isinstance(value, list):
        return {"items": None}
    verdict: dict[str, JsonValue] = {"items": len(value)}
    most = check.args.get("most")
    if isinstance(most, int) and len(value) > most:
        return verdict
    verdict["titles"] = [preview(item, 60) for item in value]
    if value is not output:
        verdict["list"] = value
    return verdict


def _value(output: JsonValue) -> JsonValue:
    """Return an output, or what its text says where that is JSON, in a fence or not."""
    if not isinstance(output, str):
        return output
    text = output.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].rpartition("```")[0].strip()
    if text[:1] not in ("{", "["):
        return output
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return output
    return value


_WHAT: dict[str, Callable[[Check, Sequence[CheckedOutput]], dict[str, JsonValue]]] = {
    "score": _score,
    "approved": _approved,
    "items": _items,
}
