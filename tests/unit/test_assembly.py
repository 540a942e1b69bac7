"""Answers of models, assembled from chunks in the form of litellm."""

import time
from types import SimpleNamespace
from typing import Any

from engine.models.assembly import Assembly


def answered(*blocks: dict[str, Any]) -> Any:
    """Return the thinking of an answer that came in these blocks, one a chunk."""
    assembly = Assembly()
    for block in blocks:
        delta = SimpleNamespace(content=None, tool_calls=None, thinking_blocks=[block])
        choice = SimpleNamespace(finish_reason=None, delta=delta)
        assert list(assembly.add_chunk(SimpleNamespace(model="m", usage=None, choices=[choice]))) == []
    return assembly.answer("anthropic").thinking


def thought(text: str, **more: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, **more}


def test_pieces_of_a_thought_are_one_block_up_to_its_signature() -> None:
    redacted = {"type": "redacted_thinking", "data": "sealed"}

    found = answered(
        thought("The "), thought("tide."), thought("", signature="s1"), redacted, thought("Then."), thought(" Wait."),
        thought("", signature="s2"),
    )  # fmt: skip

    assert found == [thought("The tide.", signature="s1"), redacted, thought("Then. Wait.", signature="s2")]


def test_a_thought_without_a_signature_is_not_kept_as_a_block() -> None:
    assert answered(thought("The "), thought("tide.")) is None


def test_a_thought_in_many_pieces_takes_time_for_its_length_alone() -> None:
    pieces = [thought("step by step ") for _ in range(60_000)]

    began_s = time.process_time()
    (found,) = answered(*pieces, thought("", signature="s1"))

    assert len(found["thinking"]) == 60_000 * 13
    assert time.process_time() - began_s < 3
