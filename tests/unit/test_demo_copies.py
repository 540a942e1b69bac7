from pathlib import Path

from dashboard.demo import chapters, checks

LONG = "def total(prices, limit):\n    price_sum = 0\n    for price in prices:\n        if price > limit:\n" + (
    "            price_sum += price * 2\n        else:\n            price_sum += price\n    print(prices, limit)\n"
    "    return price_sum\n"
)


def write(tmp_path: Path, **files: str) -> dict[str, object]:
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    return {"folder": str(tmp_path), "files": [f"{name}.py" for name in files]}


def test_a_function_in_two_files_is_reported_whatever_its_layout_and_name(tmp_path: Path) -> None:
    other = "# moved\n" + LONG.replace("def total", "def sum_up").replace("limit:\n", "limit:  # much\n")
    item = write(tmp_path, a=LONG, b=other, c=LONG.replace("* 2", "* 3"))

    chapter = chapters.copies(checks.digest_functions(item)["entries"], [])

    assert "| 9 | `total` | `a.py:1-9` | `b.py:2-10` |" in chapter["text"]
    assert "c.py" not in chapter["text"]


def test_short_functions_are_equal_by_chance(tmp_path: Path) -> None:
    item = write(tmp_path, a="def f(x):\n    return x\n", b="def f(x):\n    return x\n")

    assert chapters.same_functions(checks.digest_functions(item)["entries"]) == []


def test_equal_lines_of_two_files_are_reported_with_their_place(tmp_path: Path) -> None:
    item = write(tmp_path, a=LONG, b="# moved\n" + LONG.replace("def total", "def sum_up"), c="x = (\n")
    names = ["a.py", "b.py", "c.py"]

    compared = checks.compare_files({"folder": item["folder"], "lefts": names, "rights": names})

    assert compared == {"pairs": 3, "blocks": [[8, "a.py", 2, "b.py", 3]]}
    assert "| 8 | `a.py:2` | `b.py:3` |" in chapters.copies([], [compared])["text"]
