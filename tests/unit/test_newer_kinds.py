"""Events that a newer program has written are refused by their row, not read as something else."""

import pytest

from engine.core.codec import decode_events, encode_event
from engine.core.errors import NewerKind
from engine.core.events import EngineStopped
from engine.core.upcast import VERSIONS


@pytest.mark.parametrize("kind", ["run_dreamed", "run_dreamed.2", "engine_stopped.9"])
def test_a_kind_or_version_that_nobody_knows_yet_is_named_with_its_row(kind: str) -> None:
    with pytest.raises(NewerKind) as refused:
        decode_events([(7, kind, b"{}")])

    assert (refused.value.seq, refused.value.kind) == (7, kind)


def test_a_kind_in_its_current_version_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERSIONS, "engine_stopped", 2)
    event = EngineStopped(at_ms=3, reason="stop")

    assert decode_events([(7, "engine_stopped.2", encode_event(event))]) == [event]
