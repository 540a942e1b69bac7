"""Labels for jump targets: prefix-free, and as short as possible."""

LETTERS = "asdfghjklqwertyuiopzxcvbnmASDFGHJKLQWERTYUIOPZXCVBNM"
"""In the order in which they are given: the home row first."""


def labels(number: int) -> list[str]:
    """Return so many labels, of one letter each as far as they go, the others of two."""
    size = len(LETTERS)
    if number <= size:
        return [*LETTERS[:number]]
    firsts = min(size, -(-(number - size) // (size - 1)))
    alone, before = LETTERS[: size - firsts], LETTERS[size - firsts :]
    return [*alone, *(prefix + other for prefix in before for other in LETTERS)][:number]
