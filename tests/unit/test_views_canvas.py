"""A canvas joins lines where they meet, and keeps what is written on it."""

import unicodedata
from itertools import product

import pytest

from dashboard.views.drawing.canvas import _JOINED, EAST, HEAVY, NORTH, SOUTH, WEST, Canvas

_SIDES = {"UP": NORTH, "RIGHT": EAST, "DOWN": SOUTH, "LEFT": WEST}


def drawn(canvas: Canvas) -> list[str]:
    return ["".join(span.text for span in line.spans).rstrip() for line in canvas.lines()]


@pytest.mark.parametrize("arms", [arms for arms in product(range(3), repeat=4) if sum(map(bool, arms)) > 1])
def test_each_join_has_the_character_of_its_arms(arms: tuple[int, int, int, int]) -> None:
    char = _JOINED[sum(side * arm for side, arm in zip(_SIDES.values(), arms, strict=True))]

    assert arms_of(unicodedata.name(char)) == arms


def arms_of(name: str) -> tuple[int, ...]:
    """Read the arms of a box drawing character off its name."""
    both = {"HORIZONTAL": ("LEFT", "RIGHT"), "VERTICAL": ("UP", "DOWN")}
    found = dict.fromkeys(_SIDES, 0)
    words = name.removeprefix("BOX DRAWINGS ").replace(" AND ", " ").split()
    before = words[0] in ("LIGHT", "HEAVY")
    weight, waiting = 0, list[str]()
    for word in words:
        if word in ("LIGHT", "HEAVY"):
            weight = 1 if word == "LIGHT" else 2
            for side in waiting if not before else ():
                found[side] = weight
            waiting = []
        else:
            sides = both.get(word, (word,))
            waiting += sides
            if before:
                found.update(dict.fromkeys(sides, weight))
    return tuple(found.values())


def test_lines_that_meet_are_joined_and_the_heavier_arm_stays() -> None:
    canvas = Canvas(5, 3)

    canvas.draw_across(1, 0, 2, "cold")
    canvas.draw_down(2, 0, 2, "cold")
    canvas.draw_across(1, 2, 4, "hot", weight=HEAVY)

    assert drawn(canvas) == ["  ╷", "╶─┾━╸", "  ╵"]


def test_what_is_planned_is_dashed_until_something_flows_there() -> None:
    canvas = Canvas(4, 1)

    canvas.draw_across(0, 0, 3, "line", dashed=True)

    assert drawn(canvas) == ["╶╌╌╴"]
    canvas.draw_across(0, 0, 3, "hot")
    assert drawn(canvas) == ["╶──╴"]


def test_only_the_part_that_is_looked_at_is_drawn() -> None:
    canvas = Canvas(3, 1, left=10, top=5)

    canvas.draw_across(5, 0, 100, "line")
    canvas.draw_across(4, 0, 100, "line")
    canvas.text(11, 5, "ab")

    assert drawn(canvas) == ["─ab"]


def test_wide_characters_take_two_cells() -> None:
    canvas = Canvas(4, 1)

    end = canvas.text(0, 0, "日本x")

    assert drawn(canvas) == ["日本"]
    assert end == 5
