from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.demo import fingerprints
from dashboard.demo.fingerprints import WINDOW, WINNOW, pack, shared, tokens_of, unpack, winnowed
from dashboard.demo.source import SourceRefused

TOKENS = st.lists(st.integers(0, 2**32 - 1), max_size=60)
ENOUGH = WINDOW + WINNOW - 1


@given(st.integers(0, 2**32 - 1), TOKENS, TOKENS, TOKENS, TOKENS)
def test_files_that_share_enough_tokens_share_a_fingerprint(
    seed: int, before: list[int], after: list[int], above: list[int], below: list[int]
) -> None:
    copied = [(seed + at * at * 2654435761) % 2**32 for at in range(ENOUGH)]

    left, right = winnowed(before + copied + after), winnowed(above + copied + below)

    assert {hashed for hashed, _ in left} & {hashed for hashed, _ in right}


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))))
def test_packed_fingerprints_come_back(pairs: list[tuple[int, int]]) -> None:
    assert unpack(pack(pairs)) == pairs


@given(TOKENS, TOKENS)
def test_the_shared_passage_around_a_seed_is_the_whole_of_it(before: list[int], above: list[int]) -> None:
    copied = list(range(WINDOW + 20))
    left, right = [*before, 2**33, *copied, 2**33], [*above, 2**34, *copied, 2**34]
    at, there = len(before) + 1, len(above) + 1

    assert shared(left, right, [[at + 7, there + 7], [at + 9, there + 9]], same=False) == [(at, there, len(copied))]


def test_comments_layout_and_docstrings_do_not_count() -> None:
    plain = b"def f(a):\n    return a\n"
    dressed = b'"""Module."""\n\ndef f(a):  # why\n    """Doc."""\n\n    return a\n'

    assert [crc for crc, _ in tokens_of("a.py", plain)] == [crc for crc, _ in tokens_of("a.py", dressed)]


def test_python_that_does_not_parse_is_compared_word_by_word() -> None:
    assert [line for _, line in tokens_of("a.py", b"def f(\n  '''never closed\n")] == [1, 1, 1, 2, 2, 2, 2, 2]


def body(name: str, *, head: str) -> str:
    return (
        f"{head}\ndef {name}(a, b):\n" + "".join(f"    c{at} = a + {at} * b\n" for at in range(40)) + "    return c0\n"
    )


def test_a_copied_function_is_found_with_its_lines(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(body("f", head="import os\n\n"))
    (tmp_path / "b.py").write_text(body("g", head="x = 1"))
    (tmp_path / "c.py").write_text("y = 2\n" * 50)
    found = fingerprints.prints({"folder": str(tmp_path), "files": ["a.py", "b.py", "c.py"]})["entries"]

    pairs = [pair for pair in fingerprints.suspects(found) if pair["left"] != pair["right"]]
    judged = [fingerprints.judge({"folder": str(tmp_path), **pair}) for pair in pairs]
    summary = fingerprints.summary(found, judged)

    assert [(pair["left"], pair["right"]) for pair in pairs] == [("a.py", "b.py")]
    assert [(row["left"], row["right"]) for row in summary["items"]] == [(["a.py", 4, 45], ["b.py", 2, 43])]
    assert summary["copied_lines"] == 84


def test_text_that_repeats_itself_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"x{at % 40} = {at % 40}\n" for at in range(400)))
    found = fingerprints.prints({"folder": str(tmp_path), "files": ["a.py"]})["entries"]

    [pair] = fingerprints.suspects(found)
    passages = fingerprints.judge({"folder": str(tmp_path), **pair})["passages"]

    assert [passage["left"][1] < passage["right"][0] for passage in passages[:1]] == [True]
    assert len(passages) <= 4


def test_binary_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_bytes(b"\0\1\2")

    with pytest.raises(SourceRefused, match="binary"):
        fingerprints.prints({"folder": str(tmp_path), "files": ["a.js"]})
