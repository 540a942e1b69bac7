"""When a picture that stands still is drawn again."""

from pathlib import Path

from dashboard.deck.playback import Playback
from dashboard.deck.view_state import make_view_state
from dashboard.reading.feed import Feed
from dashboard.views.drawing.still import MAX_REST_MS, Stillness


def drawn_at(tmp_path: Path, seconds: int, *, moves: int = 1_000, happens: int = 1_000) -> list[int]:
    """Return at which seconds a picture is drawn that changes each `moves` seconds; something happens at `happens`."""
    feed, playback = Feed(tmp_path / "team.db"), Playback(tmp_path / "team.db", on_ready=lambda: None)
    still, found, looks = Stillness(), [], 0
    for second in range(1_000, 1_000 + seconds):
        view = make_view_state(
            feed, playback, db=Path("team.db"), wall_ms=second * 1_000, readonly=False, in_browser=False
        )
        if still.is_due(view, quiet=second != 1_000 + happens):
            still.record_draw(view, moved=second // moves != looks or second == 1_000 + happens)
            looks = second // moves
            found.append(second - 1_000)
    return found


def test_what_does_not_change_is_drawn_after_as_long_as_it_has_stood_still(tmp_path: Path) -> None:
    assert drawn_at(tmp_path, 20) == [0, 1, 2, 4, 8, 12, 16]
    assert MAX_REST_MS == 4_000


def test_what_changes_each_second_is_drawn_each_second(tmp_path: Path) -> None:
    assert drawn_at(tmp_path, 6, moves=1) == [0, 1, 2, 3, 4, 5]


def test_what_happens_is_drawn_at_once(tmp_path: Path) -> None:
    assert drawn_at(tmp_path, 14, happens=10) == [0, 1, 2, 4, 8, 10, 11, 12]
