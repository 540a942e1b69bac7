"""JSON that can be believed: no key twice, no number beyond measure, no endless depth, text in UTF-8.

A parser alone is not enough: the usual ones take the last of two equal keys, and make infinity of 1e999. So what was
read is written again, and only where the bytes differ, as with another tool's blanks, is it read a second time by one
that looks at every key and number. Depth (200) and digits (4,300) are bounded by the first one.
"""

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

import msgspec

MOST_VALUES = 4_000_000
"""Values in all parts of an archive; more would take more memory than any team."""


MOST_LEVELS = 200
"""How deep values nest at most: as deep as the first parser goes."""


class NotStrict(ValueError):
    """Bytes are not JSON that every parser reads alike; one line says why."""


def check_values(bodies: Iterable[bytes]) -> None:
    """Return when parts together hold no more values than an archive may.

    Raises:
        NotStrict: If they hold more.
    """
    signs = (b",", b"[", b"{", b"\n")
    if sum(body.count(sign) for body in bodies for sign in signs) > MOST_VALUES:
        raise NotStrict(f"it holds more than {MOST_VALUES:,} values")


def strict_json(body: bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        NotStrict: If it is not one, or one that reads differently in different programs.
    """
    from pydantic_core import from_json  # 10 ms that only who reads archives needs

    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise NotStrict(f"is not JSON ({_first_line(error)})") from error
    if msgspec.json.encode(value) == body:
        return value
    return _read_again(body)


def strict_lines(body: bytes) -> list[Any]:
    """Return the values of JSON texts, each in a line that ends.

    Raises:
        NotStrict: As `strict_json`; or if the last line does not end.
    """
    if body and not body.endswith(b"\n"):
        raise NotStrict("its texts are cut off")
    try:
        values = msgspec.json.Decoder(str).decode_lines(body)
        if msgspec.json.Encoder().encode_lines(values) == body:
            return list(values)
    except ValueError:  # something else than texts, or what is wrong is said below
        pass
    return [strict_json(line) for line in body.split(b"\n")[:-1]]


def _read_again(body: bytes) -> Any:
    try:
        return json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=_number,
            parse_constant=_constant,
        )
    except RecursionError as error:
        raise NotStrict("is nested too deeply") from error
    except NotStrict:
        raise
    except ValueError as error:
        raise NotStrict(f"is not JSON ({_first_line(error)})") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise NotStrict(f"has the key {twice[:40]!a} twice")
    return found


def _number(digits: str) -> float:
    if len(digits) > 100 or not math.isfinite(float(digits)):
        raise NotStrict(f"holds the number {digits[:20]}, which is too large")
    return float(digits)


def _constant(name: str) -> NoReturn:
    raise NotStrict(f"holds {name}, which is no number")


def _first_line(error: ValueError) -> str:
    return (str(error).splitlines() or [""])[0][:120]
