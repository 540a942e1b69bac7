"""From a state to its document and its texts, and the hash that is the same for the same state in any file."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from engine.core.codec import decode_state, encode_state
from engine.core.context import Context
from engine.core.events import AttemptLost, RunPaused
from engine.core.fact import JsonValue
from engine.core.fold import fold
from engine.core.signals import EngineBegan
from engine.core.state import State, Task, TaskStatus
from engine.core.step import step
from engine.core.transfer.document import (
    CLOCK_AND_PAUSE,
    DERIVED,
    INDEXES,
    OF_ONE_FILE,
    Document,
    entities,
    text_places,
)
from engine.core.transfer.part import part_of
from engine.core.values import TextRef


def document_of(
    state: State, resolve: Callable[[TextRef], JsonValue], *, keep: bool = True, only: str | None = None
) -> tuple[Document, list[JsonValue]]:
    """Return the document of a state, and the texts that it refers to.

    What is at work is as it would be after the engine was lost: attempts begin again, their finished steps are kept.

    Args:
        state: Any state that stands between two messages.
        resolve: Returns what a reference stands for.
        keep: False lets `state` be used up, which saves a copy of it where work is under way.
        only: A supervisor, of which alone it is to be with everything under it; None is all there is.
    """
    paused = {run.id for run in state.runs.values() if run.paused}
    whole = state if only is None else part_of(state, only)
    document = _document(at_rest(whole, keep=keep and only is None), paused)
    texts: list[JsonValue] = []
    lines: dict[tuple[int, str], int] = {}
    for entity, name in text_places(document):
        ref = entity[name]
        place = lines.setdefault((ref["seq"], ref["path"]), len(texts))
        if place == len(texts):
            texts.append(resolve(TextRef(seq=ref["seq"], path=ref["path"])))
        entity[name] = {"seq": 0, "path": f"texts.{place}"}
    return document, texts


def at_rest(state: State, *, keep: bool = True) -> State:
    """Return the state as it would be with every attempt lost and nothing begun anew."""
    if not any(_is_for_the_engine(task) for task in state.tasks.values()):
        return state
    resting = decode_state(encode_state(state)) if keep else state
    now = Context(now_ms=resting.at_ms, jitter=0.0)
    pauses = [RunPaused(at_ms=now.now_ms, run_id=run.id) for run in resting.runs.values() if not run.paused]
    fold(resting, pauses)
    step(resting, EngineBegan(pid=0, token=0, version=""), now)
    # Joins are the engine's own work, which a pause does not hold back.
    begun = [
        AttemptLost(at_ms=now.now_ms, run_id=task.run_id, task_id=task.id, attempt=task.attempt.number, agent_id=None)
        for task in resting.tasks.values()
        if task.attempt is not None
    ]
    fold(resting, begun)
    return resting


def _is_for_the_engine(task: Task) -> bool:
    """Tell whether a task is at work, or one that an engine would begin at once: a graph to plan, results to join."""
    return task.attempt is not None or (
        task.kind != "agent" and task.status is TaskStatus.WAITING and not task.blockers
    )


def _document(resting: State, paused: set[str]) -> Document:
    found: Any = msgspec.json.decode(encode_state(resting))
    used = {key for agent in resting.agents.values() for key in (agent.spec, agent.previous)}
    used.update(resting.registry.values())
    for key in resting.specs.keys() - used:
        del found["specs"][key]
    document: Document = found
    for name in (*OF_ONE_FILE, *INDEXES):
        document.pop(name, None)
    for kind, names in DERIVED.items():
        for entity in entities(document, kind):
            for name in names:
                entity.pop(name, None)
    for run in entities(document, "runs"):
        # At rest every run is paused; the document says which were.
        if run["id"] not in paused:
            run.pop("paused", None)
    for task in entities(document, "tasks"):
        # The engine's own work begins anew wherever it is: how often it has begun says nothing.
        if task["kind"] in ("join", "check") and "ended_ms" not in task:
            task.pop("attempts", None)
            task.pop("started_ms", None)
    _drop_pool_timers(document)
    for timer in entities(document, "timers"):
        timer["due_ms"] = max(0, timer["due_ms"] - resting.at_ms)
    for summary in entities(document, "finished"):
        summary["seq"] = 0
    return document


def _drop_pool_timers(document: Document) -> None:
    """Whoever has nothing to do at rest has it from the import on."""
    timers: Any = document.get("timers", {})
    left = {key: timer for key, timer in timers.items() if timer["kind"] != "pool"}
    if left:
        document["timers"] = left
    else:
        document.pop("timers", None)


def state_sha256(document: Document, texts: list[JsonValue]) -> str:
    """Return the hash of a document in canonical form, 64 hex digits; the same after a round trip through an archive.

    The canonical form is JSON in UTF-8 without blanks, fields in the order of `state.py` and entities in the order in
    which they came to be, without the clock and every pause; then the SHA-256 of each text, in the order in which the
    document refers to them.
    """
    canonical = {name: value for name, value in document.items() if name not in ("at_ms", "minted")}
    for kind, names in CLOCK_AND_PAUSE.items():
        if kind in document:
            canonical[kind] = [
                {name: value for name, value in entity.items() if name not in names}
                for entity in entities(document, kind)
            ]
    digest = hashlib.sha256(msgspec.json.encode(canonical))
    for text in texts:
        digest.update(hashlib.sha256(msgspec.json.encode(text)).digest())
    return digest.hexdigest()


def encoded(document: Document) -> bytes:
    """Return a document as the bytes that stand in an archive."""
    return msgspec.json.encode(document)
