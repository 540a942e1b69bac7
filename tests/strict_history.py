"""What strict providers refuse of a conversation in OpenAI's protocol."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

NAME = re.compile("[A-Za-z0-9_-]{1,64}")
"""Of a tool."""


def fault_of(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Return why a strict provider refuses a conversation."""
    ids: set[str] = set()
    for place, message in enumerate(messages):
        calls = message.get("tool_calls") or []
        of_message = [call["id"] for call in calls]
        results = [one["tool_call_id"] for one in _results_after(messages, place)]
        if not all(of_message) or len(ids.union(of_message)) != len(ids) + len(of_message):
            return f"message {place}: ids of calls {of_message}"
        ids.update(of_message)
        if not all(NAME.fullmatch(call["function"]["name"]) for call in calls):
            return f"message {place}: a call without a name"
        if not all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls):
            return f"message {place}: arguments that are no object"
        if message["role"] != "tool" and sorted(results) != sorted(of_message):
            return f"message {place}: calls {of_message}, results {results}"
    return None


def _results_after(messages: Sequence[Mapping[str, Any]], place: int) -> Iterator[Mapping[str, Any]]:
    return takewhile(lambda message: message["role"] == "tool", messages[place + 1 :])
