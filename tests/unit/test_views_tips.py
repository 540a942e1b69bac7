"""Suggestions in the demo: each once, gone when it is done."""

from dashboard.views.news import SHOWN_MS, TIPS, Tips


def shown(tips: Tips, *happened: str, now_ms: int = 0, pid: int | None = 7) -> str:
    cell = tips.of(set(happened), now_ms, pid=pid)
    return cell.text if cell is not None else ""


def test_the_first_tip_stays_until_it_is_done_and_then_the_next_is_shown() -> None:
    tips = Tips()

    assert shown(tips) == shown(tips, "attempt_done", now_ms=SHOWN_MS - 1) == TIPS[0].words
    assert shown(tips, "agent_swapped") == TIPS[1].words


def test_each_tip_is_shown_once_and_then_there_is_none() -> None:
    tips = Tips()

    seen = [shown(tips, now_ms=turn * SHOWN_MS) for turn in range(len(TIPS) + 1)]

    assert seen == [*(tip.words.format(pid=7) for tip in TIPS), ""]


def test_what_was_done_before_its_turn_is_not_suggested() -> None:
    tips = Tips()
    shown(tips, "strategy_switched", "run_submitted")

    seen = {shown(tips, now_ms=turn * SHOWN_MS) for turn in range(len(TIPS))}

    assert not any(words.startswith(("S on", "n:")) for words in seen)


def test_without_an_engine_nothing_is_suggested() -> None:
    assert shown(Tips(), pid=None) == ""
