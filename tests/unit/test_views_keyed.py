"""Keys in texts are those of the user; where the user has given none, those that the actions have."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.keys import _character_to_key

import dashboard
from dashboard.actions import OWN_KEYS, give_keys
from dashboard.user.key_labels import key_at, label_of, textual_name_of
from dashboard.user.settings import Settings
from dashboard.views.changes.outcomes import UNDO_HINT
from dashboard.views.past import ALREADY_LIVE, play_keys
from dashboard.views.words.keyed import KEY, fill_keys

TEXTS = [path.read_text(encoding="utf-8") for path in Path(dashboard.__file__).parent.rglob("*.py")]
WRITTEN = sorted({found for text in TEXTS for found in KEY.findall(text)})


@pytest.fixture(autouse=True)
def own_keys() -> Iterator[None]:
    yield
    give_keys({})


def test_texts_have_the_usual_keys_of_actions() -> None:
    assert len(WRITTEN) > 15
    assert {name: key for name, key in WRITTEN if name in OWN_KEYS} == {
        name: label_of(OWN_KEYS[name]) for name, _ in WRITTEN
    }


def test_a_text_says_the_key_that_the_user_gave_and_the_word_of_an_action_without_one() -> None:
    settings = Settings(keys={"undo": "W", "mark before": "left_parenthesis", "minute before": ""})
    give_keys(settings.keys, settings.key_signs)

    assert fill_keys(UNDO_HINT) == " · W undo"
    assert fill_keys(ALREADY_LIVE).endswith("( goes back to the last mark, :minute before by a minute")


def test_the_last_line_of_the_past_says_them_too_and_a_click_on_one_of_two_is_that_key() -> None:
    settings = Settings(keys={"next mark": "ctrl+g", "live": "V"})
    give_keys(settings.keys, settings.key_signs)
    labels = [key for key, _ in play_keys(4)]

    assert {"V", "[ ctrl+g", "{ }", "( )"} <= {*labels}
    assert [key_at("[ ctrl+g", x) for x in (0, 4, 40)] == ["left_square_bracket", "ctrl+g", "left_square_bracket"]
    assert [key_at("{ }", x) for x in (0, 2)] == ["left_curly_bracket", "right_curly_bracket"]


def test_a_text_says_the_usual_keys_otherwise() -> None:
    assert fill_keys(ALREADY_LIVE).endswith("[ goes back to the last mark, { by a minute")


def test_keys_of_characters_have_the_names_that_textual_gives_them() -> None:
    characters = [*map(chr, range(32, 0x250)), "€", "→", "語"]

    assert [textual_name_of(character) for character in characters] == [*map(_character_to_key, characters)]
