"""Copied code: `prints` boils a file down to fingerprints, `judge` measures what two files share.

Fingerprints are the winnowed rolling hashes of token windows: two files that share WINDOW + WINNOW - 1 tokens in a row
share at least one, whatever else changed. Comments, blank lines and layout do not count.

Source: S. Schleimer, D. Wilkerson, A. Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003.
"""

import base64
import io
import re
import struct
import tokenize
import zlib
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any

from dashboard.demo.source import SourceRefused, decode_python, over_files, read_bytes

WINDOW = 50
"""Tokens under one hash."""
WINNOW = 50
"""Hashes in a row of which one is kept."""

_BASE, _PRIME = 1_000_003, (1 << 61) - 1
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_WORD = re.compile(r"\w+|[^\w\s]")
_LONGEST_LINE = 5_000


def prints(value: dict[str, Any]) -> dict[str, Any]:
    """Fingerprints of each file of a work item, packed by `pack`; binary files are refused."""

    def look(folder: str, name: str) -> dict[str, Any]:
        data = read_bytes(folder, name)
        if b"\0" in data:
            raise SourceRefused(name, "binary content")
        tokens = tokens_of(name, data)
        return {"file": name, "tokens": len(tokens), "prints": pack(winnowed([crc for crc, _ in tokens]))}

    return over_files(value, look)


def judge(value: dict[str, Any]) -> dict[str, Any]:
    """Measure the passages that two files share.

    `value` is `{"folder", "left", "right", "seeds": [[i, j], ...]}`, token indices of equal fingerprints.

    Returns:
        `{"left", "right", "passages": [{"tokens", "left": [first, last line], "right": [...]}]}`, the longest first.
    """
    left = tokens_of(value["left"], read_bytes(value["folder"], value["left"]))
    same = value["left"] == value["right"]
    right = left if same else tokens_of(value["right"], read_bytes(value["folder"], value["right"]))
    passages: list[dict[str, Any]] = [
        {"tokens": n, "left": [left[i][1], left[i + n - 1][1]], "right": [right[j][1], right[j + n - 1][1]]}
        for i, j, n in shared([crc for crc, _ in left], [crc for crc, _ in right], value["seeds"], same=same)
    ]
    passages.sort(key=lambda passage: (-passage["tokens"], passage["left"]))
    return {"left": value["left"], "right": value["right"], "passages": _apart(passages)[:10]}


def _apart(passages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop what lies inside a longer passage on either side: text that repeats itself matches in every shift."""
    kept: list[dict[str, Any]] = []
    for passage in passages:
        sides = [(passage[side], other[side]) for other in kept for side in ("left", "right")]
        if not any(one[0] < other[1] and other[0] < one[1] for one, other in sides):
            kept.append(passage)
    return kept


def pack(pairs: list[tuple[int, int]]) -> str:
    """Fingerprints (hash of 32 bits, index of the window's first token) as short text; they fill most of a result."""
    return base64.b64encode(b"".join(struct.pack(">II", *pair) for pair in pairs)).decode("ascii")


def unpack(text: str) -> list[tuple[int, int]]:
    """What `pack` packed."""
    return list(struct.iter_unpack(">II", base64.b64decode(text)))


def tokens_of(name: str, data: bytes) -> list[tuple[int, int]]:
    """The tokens of a file as (CRC of the text, line); Python by its own tokenizer, the rest by words and signs."""
    if name.endswith(".py"):
        text = decode_python(name, data, guess=True)[0]
        try:
            return [(zlib.crc32(token.string.encode()), token.start[0]) for token in _python_tokens(text)]
        except (tokenize.TokenError, SyntaxError):
            return list(_words(text))
    return list(_words(data.decode("utf-8", "replace")))


def _python_tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Without layout and docstrings: a string that is a line of its own says something to people only."""
    previous = tokenize.NEWLINE
    held: tokenize.TokenInfo | None = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if held is not None:
            if token.type not in (tokenize.NEWLINE, tokenize.COMMENT):
                yield held
            held = None
        if token.type == tokenize.STRING and previous in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            held = token
        elif token.type not in _LAYOUT:
            yield token
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            previous = token.type


def _words(text: str) -> Iterator[tuple[int, int]]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) <= _LONGEST_LINE and not line.lstrip().startswith(("#", "//", "*", "/*", "--")):
            for match in _WORD.finditer(line):
                yield zlib.crc32(match[0].encode("utf-8", "replace")), number


def winnowed(tokens: Sequence[int]) -> list[tuple[int, int]]:
    """The kept fingerprints of a token sequence as (hash, index), in order of the index."""
    hashes = _rolling(tokens)
    kept: list[tuple[int, int]] = []
    best: deque[int] = deque()
    for at, here in enumerate(hashes):
        while best and hashes[best[-1]] >= here:
            best.pop()
        best.append(at)
        if best[0] <= at - WINNOW:
            best.popleft()
        if at >= WINNOW - 1 and (not kept or kept[-1][1] != best[0]):
            kept.append((hashes[best[0]], best[0]))
    if hashes and len(hashes) < WINNOW:
        kept.append((hashes[best[0]], best[0]))
    return [(full & 0xFFFFFFFF, at) for full, at in kept]


def _rolling(tokens: Sequence[int]) -> list[int]:
    """The polynomial hash of each window of WINDOW tokens."""
    if len(tokens) < WINDOW:
        return []
    out = pow(_BASE, WINDOW, _PRIME)
    hashed = 0
    for token in tokens[:WINDOW]:
        hashed = (hashed * _BASE + token) % _PRIME
    hashes = [hashed]
    for at in range(WINDOW, len(tokens)):
        hashed = (hashed * _BASE + tokens[at] - out * tokens[at - WINDOW]) % _PRIME
        hashes.append(hashed)
    return hashes


def shared(
    left: Sequence[int], right: Sequence[int], seeds: Sequence[Sequence[int]], *, same: bool
) -> list[tuple[int, int, int]]:
    """Longest equal runs of token hashes around the seeds as (start left, start right, length); each run once.

    Of `same` files a run never overlaps itself.
    """
    runs: list[tuple[int, int, int]] = []
    for i, j in sorted((seed[0], seed[1]) for seed in seeds):
        if i >= len(left) or j >= len(right) or any(a <= i < a + n and j - i == b - a for a, b, n in runs):
            continue
        start = 0
        while i - start > 0 and j - start > 0 and left[i - start - 1] == right[j - start - 1]:
            start += 1
        length, room = 0, min(len(left) - i, len(right) - j)
        while length < room and left[i + length] == right[j + length]:
            length += 1
        total = min(start + length, abs(j - i)) if same else start + length
        if total >= WINDOW and length:
            runs.append((i - start, j - start, total))
    return runs


MAX_PAIRS = 120
"""Pairs of files that are compared token by token: those that share the most fingerprints."""
MIN_TOKENS = 100
"""Shorter copies are not worth a line in a report."""

_CROWD = 8
_SEEDS = 40


def suspects(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pairs of files that share fingerprints, most first; of a fingerprint in many places, neighbours only."""
    places: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: str(entry["file"])):
        for hashed, at in unpack(entry["prints"]):
            places[hashed].append((entry["file"], at))
    seeds: dict[tuple[str, str], list[list[int]]] = defaultdict(list)
    for group in places.values():
        reach = len(group) if len(group) <= _CROWD else 2
        for at, (left, i) in enumerate(group):
            for right, j in group[at + 1 : at + reach]:
                seeds[left, right].append([i, j])
    ranked = sorted(seeds.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {"left": left, "right": right, "seeds": pairs[:: max(1, len(pairs) // _SEEDS)][:_SEEDS]}  # from all over them
        for (left, right), pairs in ranked[:MAX_PAIRS]
    ]


def summary(entries: list[dict[str, Any]], judged: list[dict[str, Any]]) -> dict[str, Any]:
    """Copies of at least MIN_TOKENS tokens, the longest first, and how much code is copied in all."""
    rows = [
        {"tokens": passage["tokens"], **{side: [pair[side], *passage[side]] for side in ("left", "right")}}
        for pair in judged
        for passage in pair["passages"]
        if passage["tokens"] >= MIN_TOKENS
    ]
    rows.sort(key=lambda row: (-row["tokens"], row["left"], row["right"]))
    lines: set[tuple[str, int]] = set()
    for row in rows:
        for file, first, last in (row["left"], row["right"]):
            lines.update((file, line) for line in range(first, last + 1))
    return {
        "files": len(entries),
        "compared": len(judged),
        "copies": len(rows),
        "copied_lines": len(lines),
        "items": rows[:20],
    }
