"""Fresh ids for what an event brings into being."""

from engine.core.state import State


class Mint:
    """Hands out ids that the journal has not used: a letter and the next number.

    Letters: `s` supervisor, `a` agent, `r` run, `t` task.
    """

    def __init__(self, state: State) -> None:
        self._last = dict(state.minted)

    def __call__(self, letter: str) -> str:
        """Return the next id of a letter."""
        number = self._last.get(letter, 0) + 1
        self._last[letter] = number
        return f"{letter}{number}"
