from pathlib import Path
from typing import Any

import pytest

from dashboard.demo import chapters, checks


def read(tmp_path: Path, name: str, text: str) -> dict[str, Any]:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    entry: dict[str, Any] = checks.read_documentation({"folder": str(tmp_path), "files": [name]})["entries"][0]
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

    assert [what for _, what in entry["dead"]] == ([said] if said else [])


def test_public_functions_with_and_without_a_docstring_are_counted(tmp_path: Path) -> None:
    code = '"""M."""\ndef f(a):\n    """Do."""\ndef g(): ...\ndef _h(): ...\n'

    entry = read(tmp_path, "a.py", code)

    assert (entry["public"], entry["documented"], entry["module"]) == (2, 1, True)


def test_a_summary_says_what_a_folder_lacks(tmp_path: Path) -> None:
    entry = read(tmp_path, "README.md", "# Hello\n\nsome words\n")

    text = chapters.documentation([entry], ["README.md", "sub/LICENSE"])["text"]

    assert "- 1 text with 4 words\n" in text
    assert "- Not at the top: licence, changelog\n" in text
