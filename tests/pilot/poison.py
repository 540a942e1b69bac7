"""A team whose every text is hostile: what a file may hold that a stranger made, a model spoke or a program wrote."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, cast

from engine.core.commands import RegisterSpec
from engine.core.encoding.codec import decode_events, encode_event
from engine.core.errors import CoreError
from engine.core.events import Event
from engine.core.fold import fold
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from tests.pilot.scene import audit
from tests.pilot.talking import asking
from tests.pilot.trouble import trouble
from tests.world import World

MARK = "☠"
"""Stands in every hostile text, so that one sees where they come to."""
KINDS = (
    "\x1b]0;owned\x07\x1b[2J\x1b[31m\x1bc",  # sequences with an escape
    "\x9b2J\x9d0;owned\x9c\x90q\x9c\x85",  # the same as single C1 characters
    "\u202egnp.exe\u2066\u2069\u061c\u200f",  # other directions
    "\u200b\u200d\ufeff\u2060\u00ad\u034f" * 9,  # drawn as nothing
    "z" + "\u0301\u0489\u20dd" * 40,  # marks upon marks
    "[@click=app.exit]x[/] [/x] [b red on blue]M[/]",  # markup
    "漢字カナ😀👩\u200d👩\u200d👧🇫🇷☝🏽❤\ufe0f한ﷺ",  # wide, joined, flags, a very wide one
    "\x00\t\r\n\x08\x7f\u2028\u2029\x0c\x0b next",  # ends of lines, tabs, and what deletes
    "\U000e0041\U000e007f\U0001d159\u3164\ufff9\ue000\uffff",  # tags, fillers, private and no characters
    "שלום مرحبا ܐ",  # read from the right
)
_ID = re.compile(r"[a-z]\d+")
"""What the engine makes, and nobody chooses."""
MEGABYTE = 1_000_000
MANY = 8
"""How many texts are that long: the longest of the scene, which are what somebody said."""


def hostile(place: int) -> str:
    """Return all of it in one text, which begins with another kind at each place."""
    turn = place % len(KINDS)
    return MARK + "".join((*KINDS[turn:], *KINDS[:turn]))


def worlds() -> dict[str, Callable[[], tuple[World, dict[str, str]]]]:
    """Return the scenes: a team at work, one in trouble, and one of models that talk."""
    return {"audit": lambda: (_audit(), {}), "trouble": lambda: (trouble("it said"), {}), "talking": asking}


def _audit() -> World:
    work = audit()
    spec = AgentSpec(
        name="other", run="crew:other", description="speaks", specialties=("scan",), options={"x": "two words"}
    )
    work.order(RegisterSpec(spec=spec))
    return work


def poisoned(events: Iterable[Event], *, long: bool = False) -> list[Event]:
    """Return a journal in which every text that can be another one is hostile.

    The same texts stay the same, so that what refers to something still does.
    """
    bodies: list[tuple[str, Any]] = [(type(event).type, json.loads(encode_event(event))) for event in events]
    made = partial(_made, bodies)
    free = _most(list(_free(bodies)), lambda texts: made({text: text + MARK for text in texts}) is not None)
    bad = {text: text + hostile(place) for place, text in enumerate(free)}
    taken = _most(free, lambda texts: made({text: bad[text] for text in texts}) is not None)
    chosen = {text: bad[text] for text in taken}
    for text in (text for text in free if text not in chosen):
        chosen |= next(({text: one} for one in _less(text) if made({**chosen, text: one})), {})
    for text in sorted(taken, key=len, reverse=True)[: MANY * long]:
        grown = {text: chosen[text] * (MEGABYTE // len(chosen[text]))}
        chosen |= grown if made(chosen | grown) else {}
    return cast(list[Event], made(chosen))


def _less(text: str) -> Iterator[str]:
    """Return a text with one kind of what is hostile, for rules that keep others out."""
    return (f"{text}{MARK}{kind}" for kind in KINDS)


def _made(bodies: list[tuple[str, Any]], by: dict[str, str]) -> list[Event] | None:
    """Return the journal with other texts; None where the core holds that it cannot be."""
    try:
        done = decode_events([(1, kind, _written(_changed(body, by))) for kind, body in bodies])
        fold(State(), done)
    except (CoreError, ValueError):
        return None
    return done


def _free(bodies: list[tuple[str, Any]]) -> list[str]:
    """Return the texts of a journal, in the order in which they come, that every event may hold in another form."""
    found: dict[str, bool] = {}
    for kind, body in bodies:
        for text in dict.fromkeys(_texts(body)):
            if found.get(text, True):
                found[text] = _reads(kind, _changed(body, {text: text + MARK}))
    return [text for text, free in found.items() if free and text and not _ID.fullmatch(text)]


def _reads(kind: str, body: Any) -> bool:
    try:
        decode_events([(1, kind, _written(body))])
    except CoreError:  # one of a few words
        return False
    return True


def _most(texts: list[str], holds: Callable[[list[str]], bool]) -> list[str]:
    """Return as many of them as hold together; halves of what does not are tried apart."""
    good: list[str] = []

    def add(some: list[str]) -> None:
        if holds([*good, *some]):
            good.extend(some)
        elif len(some) > 1:
            add(some[: len(some) // 2])
            add(some[len(some) // 2 :])

    add(texts)
    return good


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            if key != "type":
                yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _changed(value: Any, by: dict[str, str]) -> Any:
    if isinstance(value, str):
        return by.get(value, value)
    if isinstance(value, dict):
        return {
            key if key == "type" else by.get(key, key): one if key == "type" else _changed(one, by)
            for key, one in value.items()
        }
    return [_changed(one, by) for one in value] if isinstance(value, list) else value


def _written(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
