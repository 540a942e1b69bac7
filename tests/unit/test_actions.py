"""The table of actions: one row for each thing that an operator can do."""

from collections import Counter

from dashboard.actions import ACTIONS, WORDS, help_lines, hint


def test_no_key_and_no_name_stands_for_two_actions() -> None:
    keys = Counter(key for action in ACTIONS for key in action.key.split(",") if key)
    names = Counter(action.name for action in ACTIONS)

    assert [one for one, times in (keys + names).items() if times > 1] == []


def test_every_action_can_be_called_by_a_key_or_a_word_and_the_help_says_so() -> None:
    told = "\n".join(cell.lead + cell.text for cell in help_lines((), ()))

    assert [action.name for action in ACTIONS if not action.key and not action.says] == []
    assert [word for word in WORDS if f": {word}" not in told or not hint(word).startswith(word)] == []
