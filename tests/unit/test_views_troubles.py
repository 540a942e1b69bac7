"""What the journal tells below a short log."""

from dashboard.views.event_log import Entry
from dashboard.views.troubles import KINDS, troubles
from dashboard.views.words.names import Names
from tests.pilot.trouble import trouble


def test_the_newest_that_fit_are_told_whole_and_a_question_is_no_error() -> None:
    entries = [Entry(seq, 0, one.type, one) for seq, one in enumerate(trouble().journal, 1)]
    entries = [one for one in entries if one.kind in KINDS]
    newest_first = entries[::-1]
    every, few = (troubles(newest_first, Names(), width=50, height=height) for height in (100, 5))

    assert len(every) == len(entries)
    assert few
    assert few == every[-len(few) :]
    assert not any("…" in cell.text for cell in every)
    assert {cell.tone for cell in every if "a person is asked" in cell.text} == {"attention"}
