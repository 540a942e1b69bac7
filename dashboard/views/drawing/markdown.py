"""Makes agents' markdown safe to show: cleaned, bounded, links and pictures as plain text.

Rule: syntax that a parser decodes after the cleaning (entities) or hides (references, HTML) is disabled, so that the
user sees all of the text.
"""

from typing import TYPE_CHECKING

from dashboard.clean import clean_lines
from dashboard.views.words.amounts import pluralize

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

MAX_CHARACTERS = 100_000
MAX_TOKENS = 6_000
"""The Markdown widget makes about one widget for three tokens."""
FIRST_SECTION_CHARACTERS = 800
"""Minimum characters of the first section, which fill a screen: drawing them takes a tenth of a second."""
GROWTH = 4
"""Ratio of the lengths of consecutive sections: each added section lays out all previous ones again."""
MORE_NOTE = "*… {} more; `Y` copies all of it*"


def make_parser() -> "MarkdownIt":
    """Return a parser for agents' markdown."""
    from markdown_it import MarkdownIt  # slow import, not needed for the first frame

    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.disable(["entity", "reference"])
    markdown.core.ruler.push("plain_links", _plain_links)
    return markdown


def clean_markdown(text: str) -> str:
    """Return markdown with each line cleaned, cut to a size that a screen can lay out."""
    clean_text = "\n".join(clean_lines(text[:MAX_CHARACTERS]))
    tokens = make_parser().parse(clean_text)
    lines = clean_text.split("\n")
    if len(tokens) + sum(len(token.children or ()) for token in tokens) > MAX_TOKENS:
        lines = lines[: _last_fitting_line(tokens)]
    excerpt = "\n".join(lines)
    left = len(text) - len(excerpt)
    if len(text) <= MAX_CHARACTERS and len(lines) == clean_text.count("\n") + 1:
        return excerpt
    return f"{excerpt}\n\n{MORE_NOTE.format(pluralize(max(1, left), 'character'))}"


def sections(text: str) -> list[str]:
    """Split a text into parts that can be drawn separately: each but the first begins with a top-level heading."""
    if len(text) <= FIRST_SECTION_CHARACTERS:
        return [text] if text else []
    lines, parts, begun = [f"{line}\n" for line in text.split("\n")], [""], 0
    for token in make_parser().parse(text):
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        if len(before := "".join(lines[begun : token.map[0]])) >= FIRST_SECTION_CHARACTERS * GROWTH ** (len(parts) - 1):
            parts[-1] = before
            parts.append("")
            begun = token.map[0]
    parts[-1] = "".join(lines[begun:]).removesuffix("\n")
    return parts


def _last_fitting_line(tokens: "list[Token]") -> int:
    """Return the first line of the top-level block that exceeds `MAX_TOKENS`."""
    used = 0
    for token in tokens:
        used += 1 + len(token.children or ())
        if token.level == 0 and token.map is not None:
            start = token.map[0]
        if used > MAX_TOKENS:
            return start
    return tokens[-1].map[1] if tokens and tokens[-1].map else 0


def _plain_links(state: "StateCore") -> None:
    """Replace links by their text and address, so that nothing in a report can be clicked."""
    for token in state.tokens:
        if token.type == "inline" and token.children:
            token.children = list(_unlink(token.children))


def _unlink(children: "list[Token]") -> "list[Token]":
    out: list[Token] = []
    opened: list[tuple[str, int]] = []
    for child in children:
        if child.type == "link_open":
            opened.append((str(child.attrs.get("href", "")), len(out)))
        elif child.type == "link_close":
            href, start = opened.pop() if opened else ("", len(out))
            link_text = "".join(token.content for token in out[start:])
            if href and href not in (link_text, f"mailto:{link_text}"):
                out.append(_text(f" ({href})"))
        elif child.type == "image":
            out.append(_text(f"[picture: {child.content}] ({child.attrs.get('src', '')})"))
        else:
            out.append(child)
    return out


def _text(content: str) -> "Token":
    from markdown_it.token import Token

    return Token("text", "", 0, content=content)
