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
from engine.core.specs.guard import describe_guard
from engine.platform.patterns import FAST_TIMEOUT_S, Pattern, TooSlow

MAX_TEXT_CHARACTERS = 200_000
"""Characters of an output that are searched for a pattern, from its beginning; longer arguments need approval."""
MAX_LOOP_CHARACTERS = 10_000
"""Arguments with more characters are checked in a thread, not in the loop."""
MAX_PATTERN_S = 2.0
"""Time limit of one pattern in a thread, in seconds."""
MAX_REASON_CHARACTERS = 200
"""Characters of the reasons in a verdict; the checked output has all of them."""
_SCORE = re.compile(
    r"\bscore\b[^0-9\n-]{0,12}(-?[0-9]{1,6}(?:\.[0-9]{1,6})?)(?:[\s*_`]{0,4}(?:/|out of)[\s*_`]{0,4}([0-9]{1,4}))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CheckedOutput:
    """An output to be checked, with its task's outcome."""

    agent: str
    status: str
    output: JsonValue
    error: str | None = None


async def verdict_of(check: Check, checked_outputs: Sequence[CheckedOutput]) -> dict[str, JsonValue]:
    """Return the verdict of a check.

    Args:
        check: A check with its arguments: `score` has `until`; `approved` has `rejects`; `guards` has `guards`, and
            `all` to evaluate every guard; `items` has `most`.
        checked_outputs: The outputs, resolved.

    Returns:
        For `score`: score (the lowest; null if one is missing) and enough. For `approved`: approved and reasons. For
        `guards`: holds (numbers of the guards that hold), said (their descriptions), and failed (an unhandled error).
        For `items`: items (their number; null without a list), titles, and list if it was in a text or under a key.

    Raises:
        BadPattern: If a pattern takes too long.
    """
    if check.what == "guards":
        return await _check_guards(check, checked_outputs)
    return _CHECKS[check.what](check, checked_outputs)


def _check_score(check: Check, checked_outputs: Sequence[CheckedOutput]) -> dict[str, JsonValue]:
    scores = [score_in(checked_output.output) for checked_output in checked_outputs if checked_output.status == "done"]
    known_scores = [score for score in scores if score is not None]
    lowest = min(known_scores) if known_scores and len(known_scores) == len(scores) else None
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
    score_match = _SCORE.search(value[:MAX_TEXT_CHARACTERS]) if isinstance(value, str) else None
    if score_match is None:
        return None
    score, maximum = float(score_match[1]), float(score_match[2] or 0)
    return score / maximum if maximum else score


def _check_approval(check: Check, checked_outputs: Sequence[CheckedOutput]) -> dict[str, JsonValue]:
    words = check.args.get("rejects")
    rejects = [str(word).casefold() for word in words] if isinstance(words, list) else []
    for checked_output in checked_outputs:
        value = _value(checked_output.output)
        if isinstance(value, dict) and value.get("approved") is False:
            reasons = value.get("reasons", value.get("reason", ""))
            return {"approved": False, "reasons": _shorten(reasons)}
        start = value.lstrip(" \t\n*#_>\"'-").casefold()[:200] if isinstance(value, str) else ""
        word = next((word for word in rejects if start.startswith(word)), None)
        if word is not None and not start[len(word) : len(word) + 1].isalnum():
            return {"approved": False, "reasons": _shorten(value)}
    return {"approved": True, "reasons": ""}


def _shorten(reasons: JsonValue) -> str:
    text = "; ".join(map(str, reasons)) if isinstance(reasons, list) else str(reasons)
    return " ".join(text.split())[:MAX_REASON_CHARACTERS]


async def _check_guards(check: Check, checked_outputs: Sequence[CheckedOutput]) -> dict[str, JsonValue]:
    guards = check.args.get("guards")
    holds: list[JsonValue] = []
    phrases: list[str] = []
    for number, guard in enumerate(guards if isinstance(guards, list) else []):
        if (guard == "else" and not holds) or (guard != "else" and await holds_for(guard, checked_outputs)):
            holds.append(number)
            phrases.append(describe_guard(guard))
            if not check.args.get("all"):
                break
    verdict: dict[str, JsonValue] = {"holds": holds, "said": ", ".join(phrases)}
    failed = next((checked_output for checked_output in checked_outputs if checked_output.status == "failed"), None)
    if failed is not None and not holds:
        verdict["failed"] = f"{failed.agent}: {failed.error or 'failed'}"
    return verdict


async def holds_for(guard: JsonValue, checked_outputs: Sequence[CheckedOutput]) -> bool:
    """Return whether a guard holds for an output, `status: done` for all; raises BadPattern if it is too slow."""
    if not isinstance(guard, dict):
        return False
    if "status" in guard:
        matches = [checked_output.status == guard["status"] for checked_output in checked_outputs]
        return all(matches) if guard["status"] == "done" else any(matches)
    outputs = [checked_output.output for checked_output in checked_outputs if checked_output.output is not None]
    if "contains" in guard:
        substring = str(guard["contains"]).casefold()
        return any(substring in as_text(output).casefold() for output in outputs)
    if "names" in guard:
        return any(_names(as_text(output), str(guard["names"])) for output in outputs)
    if "matches" in guard:
        pattern = Pattern(str(guard["matches"]))
        return any([await _matches(pattern, as_text(output)[:MAX_TEXT_CHARACTERS]) for output in outputs])
    return any(json_equal(_at(output, str(guard.get("json", ""))), [guard.get("equals")]) for output in outputs)


async def requires_approval(guard: JsonValue, arguments: JsonValue) -> bool:
    """Return whether a call needs approval, by a guard over its arguments.

    It does if the guard holds for the arguments as one text (`as_text`) or for any text, key, number or boolean in
    them, and if they are too long to check or the check takes too long.
    """
    if not isinstance(guard, dict):
        return True
    if "json" in guard:
        return json_equal(_at(arguments, str(guard["json"])), [guard.get("equals")])
    text = as_text(arguments)
    if len(text) > MAX_TEXT_CHARACTERS:
        return True
    holds = partial(_holds_in, guard, list(dict.fromkeys((text, *_scalars(arguments)))))
    try:
        if len(text) <= MAX_LOOP_CHARACTERS:
            return holds(within_s=FAST_TIMEOUT_S)
    except TooSlow:
        pass  # checked again in a thread, which does not block the loop
    try:
        return await anyio.to_thread.run_sync(partial(holds, within_s=MAX_PATTERN_S))
    except TooSlow:
        return True


def _scalars(value: JsonValue) -> Iterator[str]:
    """Yield the texts, keys, numbers and booleans in a value."""
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
    """Return whether a guard holds for any of `texts`; raises TooSlow if all take longer than `within_s`."""
    kind, value = next(iter(guard.items()))
    operand = str(value)
    if kind == "contains":
        return any(operand.casefold() in text.casefold() for text in texts)
    if kind == "names":
        return any(_names(text, operand) for text in texts)
    pattern = Pattern(operand)
    end_s = thread_time() + within_s
    for text in texts:
        left_s = end_s - thread_time()
        if left_s <= 0:
            raise TooSlow(operand, within_s)
        if pattern.is_in(text, timeout_s=left_s):
            return True
    return False


def _names(text: str, name: str) -> bool:
    """Return whether a text has a name as a whole word; `_`, and `-` between letters, belong to a word."""
    return re.search(rf"(?<!\w)(?<!\w-){re.escape(name)}(?!-?\w)", text, re.IGNORECASE) is not None


async def _matches(pattern: Pattern, text: str) -> bool:
    try:
        return pattern.is_in(text)
    except TooSlow:  # again in a thread, which does not block the loop
        return await anyio.to_thread.run_sync(partial(pattern.is_in, text, timeout_s=MAX_PATTERN_S))


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


def _check_items(check: Check, checked_outputs: Sequence[CheckedOutput]) -> dict[str, JsonValue]:
    output = checked_outputs[0].output if checked_outputs else None
    value = _value(output)
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        value = value["items"]
    if not isinstance(value, list):
        return {"items": None}
    verdict: dict[str, JsonValue] = {"items": len(value)}
    max_items = check.args.get("most")
    if isinstance(max_items, int) and len(value) > max_items:
        return verdict
    verdict["titles"] = [preview(item, 60) for item in value]
    if value is not output:
        verdict["list"] = value
    return verdict


def _value(output: JsonValue) -> JsonValue:
    """Return an output, parsed if it is a text of JSON, fenced or not."""
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


_CHECKS: dict[str, Callable[[Check, Sequence[CheckedOutput]], dict[str, JsonValue]]] = {
    "score": _check_score,
    "approved": _check_approval,
    "items": _check_items,
}
