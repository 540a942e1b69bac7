"""What an attempt does this second, in words for a narrow column: the important word first."""

import re

from engine.core.activities.live import Live, LiveCall
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.state import Attempt, Escalation, State, StopReason, Task

MAX_WORDS = 120
"""Characters of the words of an activity; views cut them further."""
MIN_SENTENCE = 12
"""Characters from which on a sentence is shown without the one before it."""
MAX_REASON = 500
"""Characters of a reason that says what to do, so that lists in a shell keep it whole."""
_MARKDOWN = " \t|#*>-`"
_SENTENCE_END = re.compile(r"(?<=[.!?:;]) +")
_STOPS: dict[StopReason, str] = {
    "cancel": "stops: it is cancelled",
    "requeue": "stops: another takes its task",
    "preempt": "stops at its next step for urgent work",
    "migrate": "goes on with the new generation at its next step",
    "restart": "stops: it starts over",
    "limit": "stops: its limit is reached",
    "crash": "stops: it is restarted",
    "pause": "stops: a pause sets it aside",
}


def one_line(text: str, max_characters: int = MAX_WORDS) -> str:
    """Return a text on one line, cut."""
    if len(text) <= max_characters and text.isprintable():
        return text
    line = " ".join(text[: 4 * max_characters].split())
    return line if len(line) <= max_characters else f"{line[: max_characters - 1]}…"


def with_name(name: str, words: str) -> str:
    """Return what an agent, a team or a task does, with its name in front, once."""
    return one_line(words if words.startswith(f"{name} ") else f"{name}: {words}".removesuffix(": "))


def describe_work(state: State, task: Task, attempt: Attempt, live: Live | None) -> str:
    """Return what an attempt that holds a slot does; the request where its task only has the name of its agent."""
    if attempt.stopping is not None:
        return _STOPS[attempt.stopping]
    agent = state.agents.get(attempt.agent_id or "")
    title = task.title if agent is None or agent.name != task.title else state.runs[task.run_id].title
    return one_line((live is not None and _describe_live(live)) or title)


def _describe_live(live: Live) -> str:
    if live.calls:
        more = f" +{len(live.calls) - 1}" if len(live.calls) > 1 else ""
        return describe_call(live.calls[-1]) + more
    if (progress := live.progress) is not None:
        note = f" {progress.note}" if progress.note else ""
        return f"{progress.done:,} of {progress.total:,}{note}" if progress.total else f"{progress.done:,}{note}"
    step = live.steps[-1] if live.steps else None
    if step is not None and step.what == "compact":
        return "shortens its conversation"
    is_asking = step is not None and step.what == "model"
    if live.output or (live.thought and not is_asking):
        return _last_sentence(live.output or live.thought)
    if step is None:
        return ""
    if is_asking:
        return "thinks" if live.thought else f"asks its model, {step.name.replace(':', ' ')}"
    return f"runs {step.name.removeprefix('tool:')}"


def _last_sentence(text: str) -> str:
    """Return the sentence that is being written: its beginning stays in sight, so that the words do not run."""
    lines = text[-4 * MAX_WORDS :].split("\n")
    line = next((line.strip(_MARKDOWN) for line in reversed(lines) if any(map(str.isalnum, line))), "")
    *earlier, last = _SENTENCE_END.split(line)
    return f"{earlier[-1]} {last}" if earlier and len(last) < MIN_SENTENCE else last


def describe_call(call: LiveCall) -> str:
    """Return a running tool with its first argument: `fetch_page https://…`."""
    return f"{call.name} {_first_argument(call.arguments)}".rstrip()


def _first_argument(arguments: JsonValue) -> str:
    values = [*arguments.values()] if isinstance(arguments, dict) else arguments
    if isinstance(values, list):
        return as_text(values[0]) if values else ""
    return "" if values is None else as_text(values)


def describe_seconds(duration_ms: int) -> str:
    """Return a duration as `94 s`, `12 min` or `3 h`."""
    seconds = max(0, duration_ms) // 1000
    if seconds < 300:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def describe_question(question: Escalation) -> str:
    """Return what a person is asked: `asks: may it deploy?`; of an approval the call, `asks: deploy production`."""
    tool = question.detail.get("tool")
    if question.kind == "approval" and isinstance(tool, str):
        return one_line(f"asks: {tool} {_first_argument(question.detail.get('arguments'))}")
    return one_line(f"asks: {question.question}")
