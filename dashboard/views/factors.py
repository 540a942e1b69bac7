"""What every match of an expression of `patterns` has in it, as a search that costs next to nothing.

Rule: no repeats and no choices but between whole branches, so that Python's own search has nothing to go back for.
"""

import re
from collections.abc import Callable, Iterator

_LETTERS = {"t": "\t", "n": "\n", "r": "\r"}
_ANY = "[\\s\\S]"


def factor_of(written: str) -> Callable[[str], object] | None:
    """Return a search that finds something in each text with a match, and in few others; None where there is none.

    Args:
        written: An expression that `patterns.Pattern` takes.
    """
    longest = [max(_factors(branch), key=_weight, default=()) for branch in _branches(written)]
    if not all(map(_weight, longest)):
        return None
    return re.compile("|".join("".join(one) for one in longest), re.IGNORECASE).search


def _weight(factor: tuple[str, ...]) -> int:
    """Return how many characters of a factor are known."""
    return sum(one != _ANY for one in factor)


def _pieces(written: str) -> Iterator[str]:
    """Yield an expression in pieces: a character, an escape, a set or a group as a whole."""
    at = 0
    while at < len(written):
        end = _end_of(written, at)
        yield written[at:end]
        at = end


def _end_of(written: str, at: int) -> int:
    """Return where the piece ends that begins at a place."""
    letter = written[at]
    if letter == "\\":
        return at + 2
    if letter == "[":
        at += 2 if written.startswith("[^", at) else 1
        first = True
        while first or written[at] != "]":
            at, first = at + (2 if written[at] == "\\" else 1), False
        return at + 1
    if letter == "(":
        at += 1
        while written[at] != ")":
            at = _end_of(written, at)
        return at + 1
    return at + 1


def _branches(written: str) -> list[list[str]]:
    """Return the pieces of each way that an expression may go."""
    out: list[list[str]] = [[]]
    for piece in _pieces(written):
        if piece == "|":
            out.append([])
        else:
            out[-1].append(piece)
    return out


def _factors(pieces: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield what stands in one branch without repeats or choices, each as characters that follow each other."""
    run: list[str] = []
    at = 0
    while at < len(pieces):
        found = _single(pieces[at])
        repeat = pieces[at + 1] if at + 1 < len(pieces) else ""
        if repeat in ("*", "?", "+", "{"):
            if found and repeat == "+":
                run.append(found)
            yield tuple(run)
            run = []
            at = _behind(pieces, at + 1)
        elif not found:
            yield tuple(run)
            run, at = [], at + 1
        else:
            run.append(found)
            at += 1
    yield tuple(run)


def _behind(pieces: list[str], at: int) -> int:
    """Return the place behind repeats; a brace that is none, and what is in it, is passed over with them."""
    while at < len(pieces) and pieces[at] in ("*", "?", "+", "{"):
        if pieces[at] == "{":
            if "}" not in pieces[at:]:
                return len(pieces)
            at = pieces.index("}", at)
        at += 1
    return at


def _single(piece: str) -> str:
    """Return the expression of one character; empty for what may be more, less or none."""
    if piece[0] == "\\":
        letter = piece[1]
        if letter in "dswDSW":
            return piece
        return "" if letter in "bB" else re.escape(_LETTERS.get(letter, letter))
    if piece[0] == "[" or piece == "." or not piece.isascii():  # other letters have more than two cases
        return _ANY
    if piece[0] == "(" or piece in "^$":
        return ""
    return re.escape(piece)
