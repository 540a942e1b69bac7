"""Who of several free agents gets a task, counted over many tasks (docs/reference/team-file.md, `balance`).

What is due to each is reckoned here from the documented rule alone, by fractions and whole rounds.
"""

from fractions import Fraction
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import AgentSpec, SupervisorOptions
from engine.core.specs.options import Balance
from tests.meaning.diary import Diary, told
from tests.meaning.stages import staged

TO_DIG: dict[str, Any] = {"coordination_mode": "map", "coordination_settings": {"to": "dig", "optional": True}}
NAMES = ("ada", "bob", "cyd", "dan")
places = st.sampled_from(["alone", "teams", "twins", "spent"])


def worked(stage: str, balance: Balance, requests: list[int], slots: int, *workers: AgentSpec, diary: Diary) -> None:
    """Give lists of so many items, one after the other, to workers of which so many may be at work."""

    async def main() -> None:
        options = SupervisorOptions(balance=balance, max_total=slots)
        async with staged(stage, diary, *workers, options=options, **TO_DIG) as chief:
            for items in requests:
                await told(chief, list(range(items)))

    anyio.run(main)


@given(
    places,
    st.lists(st.integers(1, 6), min_size=2, max_size=4),
    st.lists(st.integers(1, 12), min_size=4, max_size=4),
    st.integers(1, 3),
    st.data(),
)
@settings(max_examples=8)
def test_whole_rounds_are_shared_exactly_by_weight_and_nobody_is_left_behind(
    stage: str, weights: list[int], seconds: list[int], slots: int, data: st.DataObject
) -> None:
    diary = Diary()
    rounds = 2
    total = rounds * sum(weights)
    cuts = sorted(data.draw(st.sets(st.integers(1, total - 1), max_size=2), label="requests end after"))
    workers = [
        diary.agent(name, "dig", takes_s=takes_s, weight=weight, max_concurrency=slots)
        for name, weight, takes_s in zip(NAMES, weights, seconds, strict=False)
    ]

    worked(stage, "weight", [end - begin for begin, end in zip([0, *cuts], [*cuts, total], strict=True)], slots,
           *workers, diary=diary)  # fmt: skip

    order = diary.order()
    for name, weight in zip(NAMES, weights, strict=False):
        assert order.count(name) == rounds * weight
        for done in range(total):
            due = Fraction(done * weight, sum(weights))
            assert order[:done].count(name) < due + 1  # never a whole task ahead


@given(places, st.permutations([1, 3, 9, 27]), st.integers(2, 4))
@settings(max_examples=5)
def test_performance_tries_each_once_and_then_asks_the_fastest(stage: str, seconds: list[int], size: int) -> None:
    diary = Diary()
    workers = [
        diary.agent(name, "dig", takes_s=takes_s) for name, takes_s in zip(NAMES, seconds, strict=False)
    ][:size]  # fmt: skip

    worked(stage, "performance", [7, 8], 1, *workers, diary=diary)

    fastest = NAMES[seconds.index(min(seconds[:size]))]
    assert sorted(diary.order()[:size]) == sorted(NAMES[:size])
    assert diary.order()[size:] == [fastest] * (15 - size)


@pytest.mark.parametrize(("good_of_8", "preferred"), [(1, "sure"), (4, "quick"), (6, "quick")])
@pytest.mark.parametrize("stage", ["alone", "teams", "twins"])
def test_performance_weighs_time_by_the_share_of_successes(stage: str, good_of_8: int, preferred: str) -> None:
    diary, calls = Diary(), [0]

    def often(task: Any) -> Any:
        calls[0] += 1
        return "done" if calls[0] % 8 in range(1, good_of_8 + 1) else RuntimeError("no")

    workers = [diary.agent("quick", "dig", takes_s=1, says=often), diary.agent("sure", "dig", takes_s=3)]

    worked(stage, "performance", [40], 1, *workers, diary=diary)

    assert set(diary.order()[20:]) == {preferred}  # 1 s by an eighth is more than 3 s, by a half it is less
