"""Labels for jump targets: prefix-free, and as short as possible."""

LETTERS = "asdfghjklqwertyuiopzxcvbnmASDFGHJKLQWERTYUIOPZXCVBNM"
"""In the order of use: the home row first."""


def labels(number: int) -> list[str]:
    """Return `number` labels: of one letter as far as possible, the others of two."""
    size = len(LETTERS)
    if number <= size:
        return [*LETTERS[:number]]
    firsts = min(size, -(-(number - size) // (size - 1)))
    alone, before = LETTERS[: size - firsts], LETTERS[size - firsts :]
    return [*alone, *(prefix + other for prefix in before for other in LETTERS)][:number]
