"""The settings of a user: what is right in the file counts, and what is wrong is said in one line."""

import errno
import os
from pathlib import Path

import pytest

from dashboard.user.habits import Habits
from dashboard.user.settings import Settings, read_settings, settings_file
from engine.platform.folders import NoHome, data_folder

ACTIONS = {"swap": "h", "undo": "u", "abort": "", "help": "question_mark,f1"}


def read(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    return read_settings(file, ACTIONS)


def test_without_a_file_there_are_defaults(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "none.toml", ACTIONS) == Settings()
    assert read_settings(None, ACTIONS) == Settings()


def test_where_the_file_cannot_even_be_looked_for_that_is_said_and_there_are_defaults(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 300) / "settings.toml"  # unreadable for root too

    assert read_settings(file, ACTIONS) == Settings(problem=f"{file} is ignored: {os.strerror(errno.ENAMETOOLONG)}")


def test_everything_can_be_chosen(tmp_path: Path) -> None:
    found = read(tmp_path, 'theme = "light"\nmotion = "reduced"\ncall = "off"\n[keys]\nswap = "w"\n')

    assert found == Settings("light", "reduced", "off", {"swap": "w"})
    assert found.is_reduced


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('theme = "pink"', "theme is one of dark, light, contrast, colorblind, not 'pink'"),
        ("motion = 3", "motion is one of full, reduced, not 3"),
        ('colour = "red"', "there is no setting 'colour'; there are theme, motion, call, keys"),
        ('keys = "w"', "keys is a table of actions with their keys"),
        ('[keys]\nfly = "w"', "there is no action 'fly' to give a key; ctrl+p names them"),
        ('[keys]\nswap = ""', "the key of 'swap' is ''"),
        ('[keys]\nswap = "w"\nundo = "w"', "the key of 'undo' is 'w'"),
        ('[keys]\nswap = "blah"', "the key of 'swap' is 'blah': a name such as w"),
        ('[keys]\nswap = "ctrl+W"', "the key of 'swap' is 'ctrl+W': a name such as w"),
        ('[keys]\nswap = ":"', "the key of 'swap' is ':': colon stays what it is"),
        ('[keys]\nswap = "x, j"', "j stays what it is"),
        ('[keys]\nswap = "u"', "u is the key of 'swap' now, and 'undo' has none; give it one too"),
        ('theme = "pink"\nmotion = 3', "not 'pink', and 1 more"),
        ("this is no toml", "is ignored"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_the_rest_counts(tmp_path: Path, text: str, says: str) -> None:
    found = read(tmp_path, 'call = "desktop"\n' + text)

    assert says in found.problem
    assert "\n" not in found.problem
    assert found.theme == "dark"
    if "is ignored" not in says:
        assert found.call == "desktop"


def test_a_file_that_is_no_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_bytes(b"\xff\xfe\x00")

    assert "is ignored" in read_settings(tmp_path / "settings.toml", ACTIONS).problem


def test_little_moves_where_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    assert Settings().is_reduced


def test_the_file_is_where_configuration_lives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert settings_file() == tmp_path / "quarterdeck" / "settings.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert settings_file() == tmp_path / "home" / ".config" / "quarterdeck" / "settings.toml"


@pytest.mark.parametrize("home", ["", "home"])
def test_without_a_home_folder_nothing_is_kept_in_the_root_or_wherever_one_is(
    monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setenv("HOME", home)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)

    assert settings_file() is None
    with pytest.raises(NoHome):
        data_folder()


@pytest.mark.parametrize(
    "key", ["w", "W", "é", "ctrl+w", "alt+x", "f5", "shift+f5", "left_square_bracket", "delete", "+"]
)
def test_keys_are_letters_signs_and_names(tmp_path: Path, key: str) -> None:
    found = read(tmp_path, f'[keys]\nabort = "{key}"')

    assert found.problem == ""
    assert found.keys["abort"] in (key, "plus")


def test_an_action_has_no_key_that_another_one_took(tmp_path: Path) -> None:
    found = read(tmp_path, '[keys]\nswap = "u"\nabort = "f1"')

    assert found.keys == {"swap": "u", "abort": "f1", "undo": "", "help": "question_mark"}
    changed = read(tmp_path, '[keys]\nswap = "u"\nundo = "h"')
    assert (changed.keys, changed.problem) == ({"swap": "u", "undo": "h"}, "")


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("settings.toml", "dashboard.json"):
        os.mkfifo(tmp_path / name)

    assert "it is not a regular file" in read_settings(tmp_path / "settings.toml", ACTIONS).problem
    assert not Habits(tmp_path / "dashboard.json").toured
