"""Which rows are wanted: all of them, or those that `--row` names; a subject asks before it measures."""

_words: list[str] = []


def choose(words: list[str]) -> None:
    """Want only rows whose name has all the words of one of these."""
    _words[:] = words


def is_chosen(what: str) -> bool:
    """Return whether a row is wanted."""
    return not _words or any(all(word in what for word in wanted.split()) for wanted in _words)
