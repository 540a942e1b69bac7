"""Strict parsing of JSON: no duplicate keys, no infinite numbers, bounded depth, valid UTF-8.

The usual parsers take the last of two equal keys, and read 1e999 as infinity. The fast path parses and encodes again:
equal bytes prove that nothing was lost. Otherwise, as with the whitespace of other tools, a slow parser checks every
key and number. The first parser bounds depth (200) and digits (4,300).
"""

import json
import math
from collections.abc import Collection
from typing import Any, NoReturn

import msgspec

MAX_VALUES = 4_000_000
"""Limit on the values in all parts of an archive together; enough for 30 for each of 100,000 tasks."""
MAX_FOREIGN_VALUES = 1_000_000
"""Limit on the values in JSON that this program has not written, which is parsed twice, and in the texts of an archive.
"""

MAX_LEVELS = 200
"""Deepest nesting: the limit of the first parser."""


class NotStrict(ValueError):
    """Parsers may read these bytes differently, or they are not JSON; the message is one line, a whole clause."""


def check_values(bodies: Collection[bytes], max_values: int = MAX_VALUES, *, texts: bytes = b"") -> None:
    """Check the number of values in parts of an archive.

    Args:
        bodies: Parts of the archive.
        max_values: Limit on the values in all of them together.
        texts: A part of JSON lines; a line that is a string counts as one value.

    Raises:
        NotStrict: If there are more.
    """
    # Every value takes a byte: most archives are so small that counting is not necessary.
    if sum(map(len, bodies)) + len(texts) <= max_values:
        return
    if sum(map(_max_values_in, bodies)) + sum(map(_max_values_in, texts.split(b"\n"))) > max_values:
        raise NotStrict(f"it holds more than {max_values:,} values")


def _max_values_in(body: bytes) -> int:
    """Return an upper bound of the values in JSON, by its signs: parsing them would already take the memory."""
    return 1 if body.startswith(b'"') else 1 + sum(map(body.count, (b",", b"[", b"{")))


def strict_json(body: bytes, *, max_values: int = MAX_FOREIGN_VALUES) -> Any:
    """Return the value of a JSON text.

    Args:
        body: The text.
        max_values: Limit on its values, if this program has not written it.

    Raises:
        NotStrict: If it is not JSON, or parsers may read it differently.
    """
    from pydantic_core import from_json  # The import takes 10 ms, and most processes never need it.

    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise NotStrict(f"it is not JSON ({_first_line(error)})") from error
    if msgspec.json.encode(value) == body:
        return value
    del value  # two of them would take twice the memory
    check_values((body,), max_values)
    return _read_again(body)


def strict_lines(body: bytes) -> list[Any]:
    """Return the values of JSON lines; raises NotStrict as `strict_json`, or if the last line has no newline."""
    if body and not body.endswith(b"\n"):
        raise NotStrict("its texts are truncated")
    try:
        values = msgspec.json.Decoder(str).decode_lines(body)
        if msgspec.json.Encoder().encode_lines(values) == body:
            return list(values)
    except ValueError:  # Not only texts, or invalid: the loop below reports it.
        pass
    return [strict_json(line) for line in body.split(b"\n")[:-1]]


def _read_again(body: bytes) -> Any:
    try:
        return json.loads(
            body.decode("utf-8"), object_pairs_hook=_object, parse_float=_number, parse_constant=_constant
        )
    except RecursionError as error:
        raise NotStrict("it is nested too deeply") from error
    except NotStrict:
        raise
    except ValueError as error:
        raise NotStrict(f"it is not JSON ({_first_line(error)})") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        keys = [key for key, _ in pairs]
        duplicate_key = next(key for key in keys if keys.count(key) > 1)
        raise NotStrict(f"it has the key {duplicate_key[:40]!a} twice")
    return values


def _number(digits: str) -> float:
    if len(digits) > 100 or not math.isfinite(float(digits)):
        raise NotStrict(f"it holds the number {digits[:20]}, which is too large")
    return float(digits)


def _constant(name: str) -> NoReturn:
    raise NotStrict(f"it holds {name}, which is not a number")


def _first_line(error: ValueError) -> str:
    return (str(error).splitlines() or [""])[0][:120]
