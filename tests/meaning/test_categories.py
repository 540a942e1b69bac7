"""A request of a category: who takes part, and who does not have to be able to work (docs/strategies.md)."""

from pathlib import Path

import pytest

from engine import Unusable
from tests.meaning.diary import Diary, told

pytestmark = pytest.mark.anyio


async def test_a_request_is_not_refused_for_an_agent_of_another_category_whose_code_is_gone(tmp_path: Path) -> None:
    strategies = {"digging": "sequential", "singing": "sequential"}
    before, diary = Diary(), Diary()
    both = [before.agent("ada", category="digging"), before.agent("bob", category="singing")]
    async with before.supervisor("chief", *both, store=tmp_path / "a.db", coordination_strategies=strategies):
        pass

    again = diary.supervisor(
        "chief", diary.agent("ada", category="digging"), store=tmp_path / "a.db", coordination_strategies=strategies
    )
    async with again:
        result = await told(again, category="digging")
        with pytest.raises(Unusable, match="bob"):
            await told(again, category="singing")

    assert (result.status, diary.counts()) == ("done", {"ada": 1})
