"""What a user set by hand is found again, and a file that cannot be read or written is no trouble."""

from pathlib import Path

import pytest

from dashboard.user.habits import Habits, habits_file


def test_what_was_set_is_found_again(tmp_path: Path) -> None:
    file = tmp_path / "state" / "dashboard.json"
    first = Habits(file)
    assert not first.toured
    first.remember_offer()
    first.size("network.side", 50)
    first.remember_theme("light")
    first.size("network.tail", 9)
    first.size("network.tail", None)

    again = Habits(file)

    assert again.toured
    assert again.panes == {"network.side": 50}
    assert again.theme == "light"
    assert [one.name for one in file.parent.iterdir()] == ["dashboard.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"panes": 3}',
        '{"toured": "yes", "panes": {"a": true, "b": 9999}}',
        '{"theme": "mauve"}',
        '{"theme": []}',
    ],
)
def test_a_file_that_says_something_else_counts_as_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "dashboard.json"
    file.write_text(text)

    found = Habits(file)

    assert not found.toured
    assert found.panes == {}
    assert found.theme == ""


def test_where_nothing_can_be_written_it_holds_until_the_dashboard_is_left(tmp_path: Path) -> None:
    (tmp_path / "no").write_text("a file, not a folder")
    found = Habits(tmp_path / "no" / "dashboard.json")
    found.size("network.side", 50)

    assert found.panes == {"network.side": 50}


def test_without_a_file_no_tour_is_offered() -> None:
    assert Habits().toured


def test_it_lies_in_the_state_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert habits_file() == tmp_path / "quarterdeck" / "dashboard.json"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert habits_file() == tmp_path / ".local" / "state" / "quarterdeck" / "dashboard.json"
