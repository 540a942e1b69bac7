"""The table of actions: one row for each thing that an operator can do."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from dashboard.actions import ACTIONS, BY_NAME, WORDS
from dashboard.actions.command_line import InvalidCommandLine, hint, parse_line
from dashboard.actions.help import help_lines
from dashboard.actions.team import _describe_stopped
from dashboard.deck.places import keys, pages, places, screen_class_of, tabs
from dashboard.frame.frame import overridden_keys
from dashboard.views.drawing.rows import Column
from dashboard.views.words import help
from dashboard.views.words.help import SHARED_KEYS
from engine.core.entities.work import Run
from engine.core.state import State


def test_no_key_and_no_name_stands_for_two_actions() -> None:
    keys = Counter(key for action in ACTIONS for key in action.key.split(",") if key)
    names = Counter(action.name for action in ACTIONS)

    assert [one for one, times in (keys + names).items() if times > 1] == []


def test_every_screen_is_one_key_away() -> None:
    assert [place for place in places() if not BY_NAME[place].key] == []


def test_no_screen_takes_a_key_that_goes_to_another_one() -> None:
    going = {*keys().values()}

    assert {
        place: found for place in places() if (found := going & overridden_keys(screen_class_of("screens", place)))
    } == {}
    assert {page: found for page in pages() if (found := going & overridden_keys(screen_class_of("pages", page)))} == {}


def test_the_help_names_the_screens_that_have_a_function_key_of_which_the_first_never_change() -> None:
    told = {cell.lead.strip(): cell.text for cell in help_lines((), ())}
    far = {name: key for name, key in keys().items() if name not in tabs()}

    assert list(far.items())[:4] == [("audit", "f4"), ("engines", "f7"), ("log", "f8"), ("teams", "f9")]
    assert {key: told[key] for key in far.values()} == {key: f"go to {name.capitalize()}" for name, key in far.items()}


def test_every_action_can_be_called_by_a_key_or_a_word_and_the_help_says_so() -> None:
    told = "\n".join(cell.lead + cell.text for cell in help_lines((), ()))

    assert [action.name for action in ACTIONS if not action.key and not action.about] == []
    assert [word for word in WORDS if f": {word}" not in told or not hint(word).startswith(word)] == []


def test_the_help_keeps_the_words_of_the_line_apart_from_what_they_do() -> None:
    leads = [cell.lead for cell in help_lines((), ()) if cell.lead.startswith(": ")]

    assert leads
    assert [lead for lead in leads if not lead.endswith("  ")] == []


def test_the_help_explains_every_column_of_every_table() -> None:
    folders = [Path(help.__file__).parents[1], Path(help.__file__).parents[2] / "screens"]
    calls = [
        call
        for folder in folders
        for file in folder.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Column"
    ]
    titles = [(ast.literal_eval(call.args[0]), {word.arg for word in call.keywords}) for call in calls]

    assert len(titles) > 80
    assert [title for title, words in titles if title and "meaning" not in words] == []


def test_the_help_says_in_a_sentence_what_each_key_of_a_screen_does() -> None:
    shown = [screen_class_of("screens", place) for place in places()] + [
        screen_class_of("pages", page) for page in pages()
    ]
    own = [(*said, "")[:3] for one in shown for said in one.KEYS if isinstance(said, tuple) and said[0] not in BY_NAME]

    def told(key: str, does: str, says: str) -> str:
        return next((one.text for one in help_lines([(key, does, says)], ()) if one.lead.strip() == key), "")

    elsewhere = {"back", "copy", "describe", "filter", "mark", "open", "sort", "JSON"}
    assert {does for key, does, says in own if told(key, does, says) in {"", does}} - elsewhere == set()
    assert SHARED_KEYS.keys() - {does for _, does, says in own if not says} == set()


def test_a_column_that_one_screen_has_is_explained_where_it_is_declared() -> None:
    told = [(one.lead.strip(), one.text) for one in help_lines((), [Column("LETTERS", meaning="of its name")])]

    assert ("LETTERS", "of its name") in told


def test_the_help_says_what_a_key_does_here_and_how_else_to_do_what_it_does_elsewhere() -> None:
    for place, key, word in (("graph", "t", ":freeze"), ("metrics", "w", ":replay")):
        screen = screen_class_of("screens", place)
        assert key in overridden_keys(screen), place
        own = [one for one in screen.KEYS if len(one) == 3]
        here = next(says for sign, _, says in own if sign == key)
        told = [(cell.lead.strip(), cell.text) for cell in help_lines(own, (), overridden_keys=overridden_keys(screen))]
        assert (key, here) in told
        assert any(lead == word for lead, _ in told), place
        assert not any(lead == key and text != here for lead, text in told), place


def test_what_a_cancellation_stops_is_counted_without_tasks_that_were_skipped() -> None:
    run = Run(
        id="r1", supervisor_id="s1", request="x", title="x", root_id="t1", total=5, done=2, failed=1, ended=4,
        running=1, started_ms=0,
    )  # fmt: skip

    assert (
        _describe_stopped("r1", State(runs={"r1": run}))[0]
        == "1 attempt stops at the next step; 1 of 5 tasks has not ended"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("costs foo", "costs stands alone; 'foo' means nothing after it"),
        ("pauze r1", "no command 'pauze'; did you mean pause"),
        ("xyzzy", "no command 'xyzzy'; ? lists them"),
    ],
)
def test_a_line_that_means_nothing_is_refused_in_a_few_words(line: str, said: str) -> None:
    with pytest.raises(InvalidCommandLine) as refusal:
        parse_line(line)

    assert str(refusal.value).startswith(said)
