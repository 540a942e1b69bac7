"""Separates thoughts from text if the server does not: in tags before the answer, and in lists of parts."""

import re
from collections.abc import Iterator
from typing import Any

TAGS = {"<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]"}
"""Opening and closing tags of a thought; they count only at the beginning of an answer."""
MAX_BLANK_CHARACTERS = 1_000
"""White space that may precede a tag, in characters."""
_UNOPENED = re.compile(r"^</think>[ \t]*$\n*", re.MULTILINE)
"""The end of a thought whose opening tag was in the prompt."""


class TaggedText:
    """Splits a streamed text into an initial thought in tags, if there is one, and the rest."""

    def __init__(self) -> None:
        self._buffer = ""
        """Text that may be part of a tag."""
        self._closing = ""
        """The tag that ends the thought; empty outside of one."""
        self._expects_tag = True
        """Whether a tag may still come."""
        self._skips_blanks = False
        """Whether only white space has followed the thought; it is dropped."""

    def feed(self, text: str) -> Iterator[tuple[bool, str]]:
        """Yield the text that is certain by now, each piece with whether it is thought."""
        if not self._expects_tag:
            text = text.lstrip() if self._skips_blanks else text
            self._skips_blanks = self._skips_blanks and not text
            yield False, text
            return
        self._buffer += text
        if not self._closing:
            start = self._buffer.lstrip()
            is_late = len(self._buffer) - len(start) > MAX_BLANK_CHARACTERS
            opening = next((tag for tag in TAGS if start.startswith(tag) and not is_late), None)
            if opening is None:
                if is_late or not any(tag.startswith(start) for tag in TAGS):
                    yield from self.flush()
                return
            self._closing, self._buffer = TAGS[opening], start[len(opening) :]
        thought, tag, after = self._buffer.partition(self._closing)
        if tag:
            self._expects_tag = False
            self._skips_blanks = True
            self._closing = ""
            self._buffer = ""
            yield True, thought
            yield from self.feed(after)
        else:
            certain = max(len(thought) - len(self._closing) + 1, 0)
            self._buffer = thought[certain:]
            yield True, thought[:certain]

    def flush(self) -> Iterator[tuple[bool, str]]:
        """Yield the buffered text at the end of the stream."""
        text = self._buffer
        self._buffer = ""
        self._expects_tag = False
        yield bool(self._closing), text


def split_unopened_thought(text: str) -> tuple[str, str]:
    """Return the thought before a line with only a closing tag, and the text after it.

    After an opening tag, or in a block of code, such a line belongs to an answer about tags.
    """
    closing = _UNOPENED.search(text)
    thought = "" if closing is None else text[: closing.start()]
    if closing is None or any(tag in thought for tag in TAGS) or thought.count("```") % 2:
        return "", text
    return thought, text[closing.end() :]


def split_content(content: Any) -> tuple[str, str]:
    """Return the thought and the text of a message's content, which may be a list of parts."""
    if isinstance(content, str):
        return "", content
    if not isinstance(content, list):
        return "", ""
    parts = [part if isinstance(part, dict) else {"text": part} for part in content]
    thoughts = [part.get("thinking") or part.get("reasoning") for part in parts]
    # Mistral nests the texts of a thought in a list of parts.
    thought = "".join("".join(split_content(value)) for value in thoughts)
    return thought, "".join(text for part in parts if isinstance(text := part.get("text"), str))
