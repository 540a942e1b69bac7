"""Markdown that agents wrote, made safe to show: cleaned, bounded, links and pictures as plain text.

Rule: what a parser turns back into characters after the cleaning (entities) or hides (references, HTML) is off, so that
all text that arrives is seen as it is.
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
"""The widget makes about one block of its own for three of them."""
FIRST_SECTION_CHARACTERS = 800
"""Characters of the first section at least, which fill a screen: drawing them takes a tenth of a second."""
GROWTH = 4
"""How much longer each section is than the one before: adding a section lays out all that is there once more."""
MORE_NOTE = "*… {} more; `Y` copies all of it*"


def make_parser() -> "MarkdownIt":
    """Return what reads the markdown of agents."""
    from markdown_it import MarkdownIt  # a twentieth of a start: the first frame has no markdown

    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.disable(["entity", "reference"])
    markdown.core.ruler.push("plain_links", _plain_links)
    return markdown


def clean_markdown(text: str) -> str:
    """Return markdown that can be shown: each line cleaned, and so much of it as a screen can bear."""
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
    """Return a text in parts that can be drawn one after another: each but the first begins with a heading on top."""
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
    """Return the line at which the blocks on top become too many."""
    used = 0
    for token in tokens:
        used += 1 + len(token.children or ())
        if token.level == 0 and token.map is not None:
            start = token.map[0]
        if used > MAX_TOKENS:
            return start
    return tokens[-1].map[1] if tokens and tokens[-1].map else 0


def _plain_links(state: "StateCore") -> None:
    """Write a link as its text and its address; nothing in a report can be clicked."""
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
