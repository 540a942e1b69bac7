"""A lease: an engine is sure of it for a moment, and asks the file after it stood still."""

from pathlib import Path

from store import Deposed, FileLost, StoreError
from store.leadership.lease import CHECK_VALID_MS, Lease


class Held:
    """A lease on a clock that is moved by hand, and the file that it asks."""

    def __init__(self) -> None:
        self.now_ms = 1_000
        self.asked = 0
        self.loss: StoreError | None = None
        self.lease = Lease(1, self._ask, lambda: self.now_ms)
        self.lease.tick(0)

    def _ask(self) -> StoreError | None:
        self.asked += 1
        return self.loss

    def beat(self) -> None:
        """Let the heart beat, and the loop turn."""
        self.lease.record_check(self.now_ms)
        self.lease.tick(0)


def test_while_the_heart_beats_and_the_loop_turns_nothing_is_asked() -> None:
    held = Held()
    for _ in range(10):
        held.now_ms += CHECK_VALID_MS
        held.beat()

        assert held.lease.is_held()
    assert held.asked == 0


def test_an_engine_that_stood_still_asks_once_and_goes_on() -> None:
    held = Held()
    held.now_ms += CHECK_VALID_MS + 1

    assert held.lease.is_held()
    held.beat()
    assert held.lease.is_held()
    assert held.asked <= 2


def test_an_engine_that_was_deposed_while_it_stood_still_may_not_act_and_knows_why() -> None:
    held = Held()
    held.loss = Deposed(1, 2)
    held.now_ms += CHECK_VALID_MS + 1

    assert not held.lease.is_held()
    assert held.lease.loss is held.loss
    assert not held.lease.is_held()
    assert held.asked == 1


def test_an_error_of_a_store_is_explained_by_the_loss_that_caused_it() -> None:
    held = Held()
    missed, bug = StoreError("team.db-inbox: SQLite says disk I/O error"), ValueError("a bug")

    assert held.lease.explain(missed) is missed
    held.loss = FileLost(Path("team.db"), "was deleted or moved away")
    assert held.lease.explain(missed) is held.loss
    assert held.lease.explain(bug) is bug


def test_a_heart_that_beat_beside_a_loop_that_hung_is_not_believed() -> None:
    held = Held()
    held.loss = Deposed(1, 2)
    held.now_ms += 5_000
    held.lease.record_check(held.now_ms - 10)
    held.lease.tick(0)

    assert not held.lease.is_held()
