"""A request of a category: who takes part, and who does not have to be able to work (docs/semantics/strategies.md)."""

from pathlib import Path

import pytest

from engine import CommandRefusedError, Unusable
from tests.meaning.diary import Diary, told
from tests.meaning.stages import staged

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


@pytest.mark.parametrize("stage", ["alone", "teams", "twins", "above", "attached"])
async def test_the_words_of_a_request_say_its_category_and_that_who_works_and_how(stage: str) -> None:
    diary = Diary()
    workers = [
        diary.agent("north", "research", "sources", takes_s=2),
        diary.agent("south", category="research", takes_s=2),
        diary.agent("poet", "content writing", takes_s=2),
        diary.agent("editor", category="content_tasks", takes_s=2),
        diary.agent("clerk", "filing", takes_s=2),
    ]
    strategies = {"research_tasks": "parallel", "content_tasks": "sequential"}
    asked = [
        ("Research the sources of the river", None, ["north", "south"], 2),
        ("Write content about the sea", None, ["poet", "editor"], 4),
        ("xyzzy", None, ["north", "south", "poet", "editor", "clerk"], 2),
        ("Research the sources of the river", "content", ["poet", "editor"], 4),  # what is said goes before words
    ]

    async with staged(
        stage, diary, *workers, coordination_strategies=strategies, coordination_mode="parallel"
    ) as chief:
        for text, said, who, took_s in asked:
            diary.entries.clear()
            began_s = diary.now_s()
            await told(chief, text, **({} if said is None else {"category": said}))
            assert (diary.order(), diary.now_s() - began_s) == (who, took_s)
        with pytest.raises(CommandRefusedError, match="sport"):
            await chief.arun("xyzzy", category="sport")
