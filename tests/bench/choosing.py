"""Who answers a request, among a thousand agents and ten thousand."""

import random
from collections.abc import Iterator

from engine.core.discovery.candidate import Candidate
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import choose
from tests.bench.measure import Series, interleaved, settle
from tests.bench.report import Row

_DRAWS = random.Random(1)
_VERBS = tuple(f"verb{number}" for number in range(50))
_SUBJECTS = tuple(f"subject{number}" for number in range(500))


def _word(among: tuple[str, ...]) -> str:
    """Draw a word as often as words are in a language: the second half as often as the first, and so on."""
    return _DRAWS.choices(among, [1 / (1 + place) for place in range(len(among))])[0]


def rows(quick: bool) -> Iterator[Row]:
    """Measure searches, and adding and removing one."""
    for specs, budget_ms in ((1_000, 1.0), (10_000, 20.0)):
        if quick and specs > 1_000:
            break
        candidates = [_candidate(number) for number in range(specs)]
        index = CapabilityIndex(candidates)
        yield _search(index, candidates, specs, budget_ms, 100 if quick else 400)
        yield _change(index, specs, 100)


def _candidate(number: int) -> Candidate:
    verb, subject = _word(_VERBS), _word(_SUBJECTS)
    return Candidate(
        id=f"a{number}",
        name=f"agent-{number}",
        specialties=(f"{verb} {subject}", f"topic{number}"),
        description=f"can {verb} every {subject} and {_word(_SUBJECTS)} of department {number % 97}",
    )


def _search(index: CapabilityIndex, candidates: list[Candidate], specs: int, budget_ms: float, rounds: int) -> Row:
    texts = [
        f"{_word(_VERBS)} the {_word(_SUBJECTS)} about topic{_DRAWS.randrange(specs)}, then "
        f"{_word(_VERBS)} it for department {_DRAWS.randrange(97)}"
        for _ in range(rounds)
    ]
    by_word: dict[str, set[str]] = {}
    for candidate in candidates:
        for word in " ".join((*candidate.specialties, candidate.description)).split():
            by_word.setdefault(word, set()).add(candidate.id)
    took, floor = Series(), Series()
    settle()
    for text in texts:
        with floor.timing():
            _looked_up(by_word, text)
        with took.timing():
            choose(text, index)
    return Row(
        what=f"choose agents among {specs:,}",
        took=took,
        floor=floor,
        floor_is="look each word up in a dict of sets, and unite them",
        budget=budget_ms,
        at_p95=True,
        computes=True,
    )


def _looked_up(by_word: dict[str, set[str]], text: str) -> set[str]:
    return set().union(*(by_word.get(word, ()) for word in text.split()))


def _change(index: CapabilityIndex, specs: int, times: int) -> Row:
    newcomers = [_candidate(specs + number) for number in range(times)]

    def change() -> None:
        for one in newcomers:
            index.add(one)
        for one in newcomers:
            index.remove(one.id)

    def bare() -> None:
        for one in newcomers:
            known[one.id] = set(one.description.split())
        for one in newcomers:
            del known[one.id]

    known: dict[str, set[str]] = {}
    took, floor = interleaved(change, bare, 5)
    return Row(
        what=f"add or remove one of {specs:,}",
        took=took.per(2 * times),
        floor=floor.per(2 * times),
        floor_is="split its description into a set",
        budget=1.0,
        computes=True,
    )
