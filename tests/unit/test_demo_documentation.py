import ast
from pathlib import Path
from typing import Any

import pytest

from dashboard.demo import chapters, documentation
from dashboard.demo.complexity import functions
from dashboard.demo.documentation import described, parameters


def read(tmp_path: Path, name: str, text: str) -> dict[str, Any]:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    entry: dict[str, Any] = documentation.read({"folder": str(tmp_path), "files": [name]})["entries"][0]
    return entry


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("[x](gone.md)", "dead link to docs/gone.md"),
        ("[x](../gone%20too.md#a)", "dead link to gone too.md"),
        ("[x](/docs/page.md)", ""),
        ("[x](page.md 'title')", ""),
        ("![x](<page.md>)", ""),
        ("[x](https://example.org/gone)", ""),
        ("[x](mailto:a@b)", ""),
        ("[x](../../outside.md)", ""),
        ("[x](#a-heading)", ""),
        ("[x](#no-heading)", "no heading for the link #no-heading"),
        ("`[x](gone.md)`", ""),
        ("```\n[x](gone.md)\n```", ""),
    ],
)
def test_links_of_this_folder_are_followed(tmp_path: Path, link: str, said: str) -> None:
    entry = read(tmp_path, "docs/page.md", f"# A heading\n\n{link}\n")

    assert [what for _, what in entry["problems"]] == ([said] if said else [])


def test_both_styles_of_docstring_are_understood() -> None:
    google = "Do.\n\nArgs:\n    a: One,\n        on two lines: yes.\n    *b (int): Two.\n\nReturns:\n    c: No."
    sphinx = "Do.\n\n:param a: One.\n:param int b: Two.\n:returns: c"

    assert described(google) == described(sphinx) == {"a", "b"}
    assert described("Args:\n\n") == set()


def test_docstrings_that_describe_what_is_not_taken_are_told(tmp_path: Path) -> None:
    code = '"""M."""\ndef f(a):\n    """Do.\n\n    Args:\n        a: One.\n        b: Gone.\n    """\ndef g(): ...\n'

    entry = read(tmp_path, "a.py", code)

    assert entry["problems"] == [(2, "f() describes b, which it does not take")]
    assert (entry["public"], entry["documented"], entry["module"]) == (2, 1, True)


def test_a_function_with_keywords_may_describe_anything() -> None:
    [(_, function)] = functions(ast.parse('def f(**options):\n    """Do.\n\n    :param depth: How deep.\n    """\n'))

    assert "depth" in parameters(function)


def test_a_summary_says_what_a_folder_lacks(tmp_path: Path) -> None:
    entry = read(tmp_path, "README.md", "# Hello\n\nsome words\n")

    text = chapters.documentation([entry], ["README.md", "sub/LICENSE"])["text"]

    assert "- 1 text with 4 words\n" in text
    assert "- Not at the top: licence, changelog\n" in text
