"""The states of a team's members in one row: a bar of their marks, and the most urgent of them in words."""

from collections import Counter

from dashboard.views.drawing.lines import Span
from dashboard.views.facts.agent import asks_person
from dashboard.views.measures.digest import Digest
from dashboard.views.words.glyphs import AGENT, ASKS, Mark, agent_mark
from engine.core.queries.team.tree import agents_of
from engine.core.state import Agent, AgentStatus, State, Supervisor

_STUCK = Mark("◐", "stuck", "draining")
_URGENT: tuple[tuple[Mark, str], ...] = (
    (ASKS, "wait for you"),
    (AGENT[AgentStatus.ERROR], "in error"),
    (_STUCK, "stuck"),
    (AGENT[AgentStatus.PAUSED], "paused"),
)
"""Marks that an operator must see, the most urgent first, and their words for several members."""


def count_marks(state: State, supervisor: Supervisor, counts: Digest) -> list[tuple[Mark, int]]:
    """Return how many agents below a supervisor have each mark: urgent ones first, idle ones last."""
    numbers = Counter(_mark(state, agent, counts) for agent in agents_of(state, supervisor.id))
    urgent = [mark for mark, _ in _URGENT]
    places = {mark: place for place, mark in enumerate((*urgent, AGENT[AgentStatus.BUSY]))}
    places[AGENT[AgentStatus.IDLE]] = 99
    return sorted(numbers.items(), key=lambda item: (places.get(item[0], len(places)), item[0].word))


def _mark(state: State, agent: Agent, counts: Digest) -> Mark:
    if agent.is_stuck:
        return _STUCK
    if counts.working and agent.parked and asks_person(state, agent):
        return ASKS
    return agent_mark(agent, working=counts.working)


def bar_of_marks(numbers: list[tuple[Mark, int]], width: int) -> tuple[Span, ...]:
    """Return one mark for each member; if there is no room for all, in proportion, with each mark at least once."""
    total = sum(number for _, number in numbers)
    cells = [number for _, number in numbers]
    if total > width:
        cells = [max(1, number * width // total) for number in cells]
        while sum(cells) > max(width, len(cells)):
            cells[cells.index(max(cells))] -= 1
    return tuple(Span(mark.glyph * count, mark.tone) for (mark, _), count in zip(numbers, cells, strict=True))


def urgent_words(numbers: list[tuple[Mark, int]], width: int) -> tuple[str, str]:
    """Return as many urgent states as fit into `width`, such as `3 wait for you, 1 stuck`, and the tone of the first.

    Both are empty if nothing is urgent.
    """
    number_of = dict(numbers)
    urgent = [(mark, number_of[mark], words) for mark, words in _URGENT if mark in number_of]
    text = ""
    for mark, number, words in urgent:
        said = f"{number:,} {'waits for you' if mark is ASKS and number == 1 else words}"
        longer = f"{text}, {said}" if text else said
        if text and len(longer) > width:
            break
        text = longer
    return text, urgent[0][0].tone if urgent else ""
