import json
import re
import unicodedata
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dashboard.demo import chapters, history
from dashboard.demo.files import AuditedFiles
from dashboard.demo.markdown import code, size, table
from dashboard.demo.report import report, sections_in

HOSTILE = st.text(st.sampled_from("ab/.|`*_[]<>#\\\n\r\x1b\x07\u202e\u200b\ud800é"), min_size=1, max_size=12)


def findings(name: str) -> dict[str, dict[str, Any]]:
    """Every section, as the leads make it, with one text wherever a text from the folder can stand."""
    function = {"name": name, "line": 3, "lines": 70, "complexity": 12, "nesting": 2}
    parsed: dict[str, Any] = {
        "file": name, "depth": "thorough", "functions": 1, "classes": 0,
        "hard": 1, "top": [function], "guessed": True,
    }  # fmt: skip
    scanned = {
        "file": name, "language": "Python", "encoding": "UTF-8", "bytes": 2000, "notes": [name], "lines": 90,
        "comments": 2, "sha": "0",
    }  # fmt: skip
    touched = Counter({name: 5, f"{name}2": 5})
    digested = [{"file": file, "functions": [["0", name, 1, 9]]} for file in (name, f"{name}2")]
    imported: dict[str, Any] = {"file": "a.py", "always": ["b", name], "later": []}
    cycle = [imported, {"file": "b.py", "always": ["a"], "later": []}]
    prose = {"file": name, "kind": "prose", "words": 1, "dead": [[1, name]]}
    python = {
        "file": name, "kind": "python", "module": True, "public": 1, "documented": 0,
        "bare": [[20, name, 1]],
    }  # fmt: skip
    listing = AuditedFiles([name], [(name, name), (f"{name}2", name)])
    sections: dict[str, dict[str, Any]] = {
        "map": chapters.what_is_here([scanned, {**scanned, "file": f"{name}2"}], listing) | {"under": name},
        "metrics": chapters.hot_spots([parsed], [name]),
        "hazards": chapters.hazards([{"file": name, "counts": {name: 1}, "findings": [[name, 1, name]]}]),
        "duplicates": chapters.copies(digested, [{"pairs": 1, "blocks": [[9, name, 1, name, 2]]}]),
        "dependencies": chapters.dependencies(cycle),
        "documentation": chapters.documentation([prose, python], [name]),
        "history": {**history.summary([f"2023-01-01 {name}"] * 5, touched)},
    }
    for section, values in sections.items():
        values.update(section=section, cut_short=False, failures=[{"file": name, "error": f"{name}: {name}"}])
    return sections


@given(HOSTILE)
def test_nothing_from_the_folder_reaches_a_terminal_as_a_control_sequence(name: str) -> None:
    text = report(findings(name))

    unsafe = {character for character in text if unicodedata.category(character) in ("Cc", "Cf", "Cs")}
    assert unsafe == {"\n"}


@given(HOSTILE)
def test_a_hostile_name_breaks_no_table_and_makes_no_heading(name: str) -> None:
    text, tame = report(findings(name)), report(findings("tame"))

    def shape(of: str) -> list[int]:
        rows = [line for line in of.splitlines() if line.startswith("| ")]
        # As GitHub reads a row: a backslash and what it escapes first, then the cell borders.
        return sorted(re.sub(r"\\[!-/:-@\[-`{-~]", "", row).count("|") for row in rows)

    assert shape(text) == shape(tame)
    assert [line for line in text.splitlines() if line.startswith("##")] == [
        line for line in tame.splitlines() if line.startswith("##")
    ]


def test_the_first_five_lines_say_what_matters_most() -> None:
    text = report(findings("a.py"))

    head = text.splitlines()[2:7]
    assert [line[:12] for line in head] == [
        "1. **Hazards",
        "2. **Refacto",
        "3. **Copied ",
        "4. **To know",
        "5. **Read:**",
    ]
    assert "`a.py:3`" in head[1]
    assert "5 commits" in head[1]


def test_a_chapter_without_a_result_says_so_and_the_rest_is_written() -> None:
    everything = findings("a.py")
    for gone in everything:
        text = report({name: found for name, found in everything.items() if name != gone})

        assert f"does this ({gone})" in text

    assert report({}).count("No result came") == 8


def test_a_folder_without_anything_to_find_makes_a_report_too() -> None:
    empty: dict[str, dict[str, Any]] = {
        "map": chapters.what_is_here([], AuditedFiles()),
        "metrics": chapters.hot_spots([]),
        "hazards": chapters.hazards([]),
        "duplicates": chapters.copies([], []),
        "dependencies": chapters.dependencies([]),
        "documentation": chapters.documentation([], []),
        "history": {"headline": "", "text": "No commit."},
    }
    text = report({name: {**found, "section": name} for name, found in empty.items()})

    assert "Nothing was skipped." in text
    assert "Nothing failed." in text


SECTIONS = {"map": {"section": "map", "n": 1}, "metrics": {"section": "metrics", "text": 'a "section" {in} [words]'}}


def test_sections_are_found_however_outputs_were_joined() -> None:
    one, two = SECTIONS.values()
    texts = [json.dumps(one), json.dumps(two)]

    for joined in (
        [one, two],
        [{"agent": "a", "output": one}, {"agent": "b", "output": {"more": [two]}}],
        "\n\n".join(texts),
        f"mapper: {texts[0]}\n[x] {{not json}} metrician: {texts[1]}.",
        [json.dumps([{"output": texts[0]}]), texts[1]],
    ):
        assert sections_in(joined) == SECTIONS


@given(st.text())
def test_text_in_a_code_span_is_one_printable_line(text: str) -> None:
    assert len(code(text).splitlines()) <= 1
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in code(text))


def test_names_with_backticks_get_a_longer_fence() -> None:
    assert code("a`b``c") == "``` a`b``c ```"
    assert code("\x1b[31m") == r"`\x1b[31m`"


def test_numbers_read_well() -> None:
    assert (size(640), size(12_300), size(4_500_000)) == ("640 B", "12.3 kB", "4.5 MB")
    assert table(("A", "B"), [("x", 1)]) == "| A | B |\n| --- | ---: |\n| x | 1 |\n"
