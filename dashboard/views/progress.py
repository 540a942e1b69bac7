"""What agents publish while they work: progress lines and streamed text, from the live file."""

import json
from collections.abc import Mapping


def progress(live: Mapping[str, str], task_id: str) -> str:
    """The progress of a task in a few words, such as `61/120 headers`; empty where none is published."""
    raw = live.get(f"progress:{task_id}")
    if raw is None:
        return ""
    try:
        told = json.loads(raw)
    except ValueError:
        return ""
    if not isinstance(told, dict):
        return ""
    done, total, note = told.get("done"), told.get("total"), told.get("note")
    number = f"{done}/{total}" if total is not None and done is not None else "" if done is None else f"{done}"
    return " ".join(part for part in (number, str(note) if note else "") if part)


def streamed(live: Mapping[str, str], task_id: str) -> str:
    """The text that a task has written so far."""
    return live.get(f"text:{task_id}", "")
