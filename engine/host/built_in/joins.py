"""Built-in joins: combine the results of a graph without a model.

Pure functions over resolved outputs, in the order of the plan.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from engine.core.encoding.json_values import canonical_json
from engine.core.records.records import JsonValue
from engine.core.specs.check import Joining


@dataclass(frozen=True, slots=True)
class Result:
    """One output that takes part in a join."""

    agent: str
    """Name of the member that made it."""
    title: str
    output: JsonValue
    ended_ms: int | None = None


def join(aggregation: Joining, results: Sequence[Result]) -> JsonValue:
    """Return the combined result.

    Args:
        aggregation: `concat`: all outputs, in order. `vote`: the most frequent answer, with the counts. `best`: the
            output with the highest `score`. `first`: the output that was finished first. `list`: a list of the outputs,
            in order. `synthesis` is an agent's work; here it is `concat`.
        results: The results, in the order of the plan.

    Returns:
        None when there is nothing to join.
    """
    if aggregation == "list":
        return [result.output for result in results]
    if not results:
        return None
    if aggregation == "vote":
        return vote(results)
    if aggregation == "best":
        return max(results, key=lambda result: _score(result.output)).output
    if aggregation == "first":
        return min(results, key=lambda result: float("inf") if result.ended_ms is None else result.ended_ms).output
    return concat(results)


def concat(results: Sequence[Result]) -> JsonValue:
    """Return the texts under the names of their agents; a list of objects if an output is not a text."""
    if len(results) == 1:
        return results[0].output
    if all(isinstance(result.output, str) for result in results):
        return "\n\n".join(f"## {result.agent}\n\n{result.output}" for result in results)
    return [{"agent": result.agent, "output": result.output} for result in results]


def vote(results: Sequence[Result]) -> JsonValue:
    """Return the most frequent answer, in the wording of its first occurrence, and the count of each answer.

    Answers that differ only in case, spaces and closing punctuation are equal. In a tie the earlier answer wins.
    """
    keys = [_normalize(result.output) for result in results]
    first: dict[str, JsonValue] = {}
    for key, result in zip(keys, results, strict=True):
        first.setdefault(key, result.output)
    counts = Counter(keys).most_common()
    winner, votes = counts[0]
    return {
        "answer": first[winner],
        "votes": votes,
        "of": len(results),
        "counts": [{"answer": first[key], "votes": count} for key, count in counts],
    }


def _normalize(output: JsonValue) -> str:
    if isinstance(output, str):
        return re.sub(r"\s+", " ", output).strip().rstrip(".!?;,").casefold()
    return canonical_json(output).decode()


def _score(output: JsonValue) -> float:
    """Return the number under `score`, also in a text of JSON; minus infinity if there is none."""
    if isinstance(output, str) and output.lstrip().startswith("{"):
        try:
            output = json.loads(output)
        except ValueError:
            return float("-inf")
    score = output.get("score") if isinstance(output, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float) or score != score:
        return float("-inf")
    return float(score)
