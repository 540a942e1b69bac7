"""Events that a newer program has written are refused by their row, not read as something else."""

import pytest

from engine.core.encoding.codec import decode_events
from engine.core.errors import NewerKind


@pytest.mark.parametrize("kind", ["run_dreamed", "run_dreamed.2", "engine_stopped.9"])
def test_a_kind_or_version_that_nobody_knows_yet_is_named_with_its_row(kind: str) -> None:
    with pytest.raises(NewerKind) as refused:
        decode_events([(7, kind, b"{}")])

    assert (refused.value.seq, refused.value.kind) == (7, kind)
