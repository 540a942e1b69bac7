import json
import re
import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dashboard.demo import chapters
from dashboard.demo.markdown import code, table
from dashboard.demo.report import report, sections_in

HOSTILE = st.text(st.sampled_from("ab/.|`*_[]<>#\\\n\r\x1b\x07\u202e\u200b\ud800é"), min_size=1, max_size=12)


def findings(name: str) -> dict[str, dict[str, Any]]:
    """Every section, as the leads make it, with one text wherever a text from the folder can stand."""
    function = {"name": name, "line": 3, "lines": 70, "complexity": 12}
    parsed: dict[str, Any] = {
        "file": name, "functions": 1, "classes": 0, "hard": 1, "top": [function], "guessed": True,
    }  # fmt: skip
    scanned = {"file": name, "kind": name, "encoding": name, "bytes": 2000, "lines": 90, "sha": "0"}
    prose = {"file": name, "kind": "prose", "words": 1}
    python = {"file": name, "kind": "python", "public": 1, "documented": 0, "bare": [[20, 1, name]]}
    sections: dict[str, dict[str, Any]] = {
        "map": chapters.what_is_here([scanned, {**scanned, "file": f"{name}2"}], [name]) | {"under": name},
        "metrics": chapters.hot_spots([parsed], [name]),
        "names": chapters.used_names(
            [{"file": name, "names": [{"name": name, "line": 1, "files": n} for n in (1, 9)]}]
        ),
        "documentation": chapters.documentation([prose, python]),
        "history": chapters.history([f"2023-01-01 {name}"] * 5, [name, f"{name}2"] * 5),
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


def test_the_first_lines_say_what_matters_most() -> None:
    head = report(findings("a.py")).splitlines()[2:7]

    assert [line[:12] for line in head] == [
        "1. **Refacto",
        "2. **Mention",
        "3. **To know",
        "4. Changes m",
        "5. **Read:**",
    ]
    assert "`a.py:3`" in head[0]
    assert "5 commits" in head[3]


def test_a_chapter_without_a_result_says_so_and_the_rest_is_written() -> None:
    everything = findings("a.py")
    for gone in everything:
        text = report({name: found for name, found in everything.items() if name != gone})

        assert f"does this ({gone})" in text

    assert report({}).count("No result came") == 5


def test_a_folder_without_anything_to_find_makes_a_report_too() -> None:
    empty: dict[str, dict[str, Any]] = {
        "map": chapters.what_is_here([], []),
        "metrics": chapters.hot_spots([]),
        "names": chapters.used_names([]),
        "documentation": chapters.documentation([]),
        "history": chapters.history([], []),
    }
    text = report({name: {**found, "section": name} for name, found in empty.items()})

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


def test_numbers_are_aligned_to_the_right() -> None:
    assert table(("A", "B"), [("x", 1)]) == "| A | B |\n| --- | ---: |\n| x | 1 |\n"
