"""What waits for a person: listed, counted, reached by a key, answered."""

from pathlib import Path

import pytest
from pydantic import JsonValue
from textual.containers import VerticalScroll
from textual.widgets import Button, TextArea

from dashboard.dialogs.answer import AnswerDialog
from dashboard.widgets.bar import Bar
from dashboard.widgets.lines import Lines
from engine.core.commands import Answer
from engine.core.signals import AgentUnusable
from tests.pilot.hand import Hand, opened
from tests.pilot.talking import approving, asking, choosing, choosing_and_approving
from tests.pilot.trouble import trouble

pytestmark = pytest.mark.anyio


def labels(hand: Hand) -> list[str]:
    """Return the texts of the answers."""
    return [str(button.label) for button in hand.dialog.query("#choices Button").results(Button)]


async def test_the_inbox_has_as_many_rows_as_the_header_says_need_somebody(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("8")
        assert "⚑ 4 need you" in hand.app.screen.query_one("#header", Bar).text
        assert len(hand.table.rows.keys) == 4
        assert "supervisor night failed: 1 restart in 60 s" in hand.line(1)
        assert "cannot work: no module named 'scan'" in hand.line(2)
        assert "ledger 2 failed: KeyError: 'total'" in hand.line(3)
        assert "skip in 15 min" in hand.line(3)


async def test_where_nothing_can_be_done_about_a_trouble_its_row_names_no_key_for_that(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("8")
        acting = "\n".join(map(hand.line, range(5)))
        assert all(keys in acting for keys in ("h swap · z resume", "z resume", "r retry"))
    async with opened(tmp_path, work=trouble(), readonly=True) as hand:
        await hand.press("8")
        looking = "\n".join(map(hand.line, range(5)))
        assert "cannot work: no module named 'scan'" in looking
        assert not any(keys in looking for keys in ("swap", "resume", "retry"))


async def test_the_key_for_who_is_in_need_goes_to_what_holds_back_the_most_first(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("exclamation_mark")
        assert (hand.place, hand.line(1).split()[:3]) == ("inbox", ["a", "team", "night"])
        await hand.press("exclamation_mark")
        assert hand.place == "agents"


async def test_enter_opens_what_is_in_trouble(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        for kind, place in {"supervisor": 0, "agent": 1, "task": 3}.items():
            await hand.press("8", "home", *["down"] * place, "enter")
            assert type(hand.app.screen).__name__ == f"{kind.capitalize()}Screen"
            await hand.press("escape", "escape")


async def test_an_answer_is_a_button_and_says_what_it_means(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("8", "down", "down", "enter")
        assert isinstance(hand.app.screen, AnswerDialog)
        assert labels(hand)[2] == "3  skip    skips it; tasks that wait for it go on without it  (the default)"
        await hand.press("3")
        assert hand.ordered == Answer(escalation="e1", answer="skip")


async def test_answers_that_need_no_explanation_stand_on_their_buttons_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, work=choosing("North Sea", "all seas")) as hand:
        await hand.press("8", "enter")
        assert labels(hand) == ["1  North Sea", "2  all seas"]
        await hand.press("tab", "down", "enter")
        assert hand.ordered == Answer(escalation="e1", answer="all seas")


async def test_an_output_is_written_in_an_editor(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("8", "down", "down", "enter", "4", *"two", "enter", *"lines", "ctrl+s")
        assert hand.ordered == Answer(escalation="e1", answer="use", output="two\nlines")


async def test_an_output_may_be_json_and_is_refused_where_it_is_none(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("8", "down", "down", "enter", "4", *"[1", "tab", "right", "enter")
        assert hand.problem.startswith("that is no JSON")
        await hand.press("shift+tab", "right_square_bracket", "ctrl+s")
        assert hand.ordered == Answer(escalation="e1", answer="use", output=[1])


async def test_json_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("8", "down", "down", "enter", "4", "tab", "right")
        hand.dialog.query_one(TextArea).text = "[" * 100_000
        await hand.press("enter")
        assert hand.problem.startswith("that is no JSON")


async def test_actions_in_the_inbox_are_for_what_a_question_is_about(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("8", "down", "down", "a")
        assert "Reassign “ledger 2”" in hand.dialog.title_line()
        assert hand.problem.startswith("would be refused: task t7 waits for a person")


async def test_a_line_answers_by_the_id_of_the_question(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("colon", *"answer e1 retry", "enter")
        assert hand.ordered == Answer(escalation="e1", answer="retry")
        await hand.press("colon", *"answer e1 maybe", "enter")
        assert "'maybe' is not an answer to it; choose one of retry" in hand.problem
        await hand.press("escape")
        await hand.press("colon", *"answer e9 retry", "enter")
        assert hand.said.startswith("no question waits for an answer here")


async def test_marked_questions_that_are_alike_get_one_answer_and_the_dialog_closes(tmp_path: Path) -> None:
    async with opened(tmp_path, work=asking()[0]) as hand:
        await hand.press("8", "down", "space", "space", "enter")
        assert hand.dialog.title_line() == "One answer to 2 questions"
        assert "e2          approval · " in hand.told("details")
        assert labels(hand)[0] == "1  allow once          this call may happen"
        await hand.press("5")
        assert hand.ordered == Answer(escalation="e2", answer="allow_always", also=["e3"])
        assert hand.place == "inbox"


async def test_marked_questions_that_differ_are_gone_through_by_their_digits_and_no_others(tmp_path: Path) -> None:
    now_s, sent = [0.0], list[Answer]()
    async with opened(tmp_path, work=choosing_and_approving("run", "read", "run")) as hand:
        hand.app.push_screen(AnswerDialog("e2", "e3", "e4", send=sent.append, clock=lambda: now_s[0]))
        await hand.press()
        assert hand.dialog.title_line() == "One answer to 2 questions"
        await hand.press("1", "1")
        assert hand.dialog.title_line().startswith("e3: ")
        assert "e2, e4 were answered: allow once" in hand.told("details")
        now_s[0] = 0.5
        await hand.press("6")
        assert hand.place == "network"
    assert sent == [
        Answer(escalation="e2", answer="allow_once", also=["e4"]),
        Answer(escalation="e3", answer="reject_once"),
    ]


@pytest.mark.parametrize("marks", [(), ("asterisk",)], ids=["without marks", "all marked"])
async def test_five_different_questions_take_enter_and_five_digits(
    tmp_path: Path, marks: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.dialogs.answer.CALM_S", 0)
    async with opened(tmp_path, work=choosing_and_approving("run", "read", "fetch", "write")) as hand:
        await hand.press("8", *marks)
        await hand.press("enter", "2", "1", "6", "1", "6")
        answers = [(answer.escalation, answer.answer) for answer in hand.app.orders if isinstance(answer, Answer)]
        assert answers == [
            ("e1", "all seas"),
            ("e2", "allow_once"),
            ("e3", "reject_once"),
            ("e4", "allow_once"),
            ("e5", "reject_once"),
        ]
        assert hand.place == "inbox"


async def test_who_answered_meanwhile_is_said_and_what_was_written_stays(tmp_path: Path) -> None:
    async with opened(tmp_path, work=asking()[0]) as hand:
        await hand.press("8", "enter", *"all")
        await hand.meanwhile(Answer(escalation="e1", answer="reply", output="the North Sea"))
        assert "answered by test 1 s ago with reply: the North Sea" in " ".join(hand.told("details").split())
        assert hand.problem == "what you wrote was not sent; ctrl+y copies it, esc goes back; n shows the next question"
        await hand.press("ctrl+s")
        assert not hand.app.orders
        await hand.press("ctrl+y")
        assert hand.app.clipboard == "all"


async def test_one_of_several_that_was_answered_meanwhile_is_left_out(tmp_path: Path) -> None:
    async with opened(tmp_path, work=asking()[0]) as hand:
        await hand.press("8", "down", "space", "space", "enter")
        await hand.meanwhile(Answer(escalation="e2", answer="reject_once"))
        assert "e2          answered by test" in hand.told("details")
        await hand.press("1")
        assert hand.ordered == Answer(escalation="e3", answer="allow_once")


async def test_what_was_written_is_shown_again_where_another_answer_came_first(tmp_path: Path) -> None:
    async with opened(tmp_path, work=asking()[0]) as hand:
        await hand.press("8", "enter", *"all")
        dialog = hand.app.screen
        await hand.press("ctrl+s")
        await hand.meanwhile(Answer(escalation="e1", answer="reply", output="the North Sea"))
        assert isinstance(dialog, AnswerDialog)
        hand.app.refuse("no question 'e1' waits")
        await hand.press()
        assert hand.app.screen.query_one(TextArea).text == "all"
        assert "answered by test" in hand.told("details")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_call_is_shown_whole_and_scrolls_while_its_answers_stay_in_sight(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    arguments: dict[str, JsonValue] = {f"field{place}": "x" * 500 for place in range(30)}
    arguments |= {"text": "y" * 200_000 + "EVIL", "path": "/etc/passwd"}
    diff = "\n".join(["--- a/x", "+++ b/x", "@@ -1 +1 @@", *(f"+line {number}" for number in range(9_000))])
    detail: dict[str, JsonValue] = {"arguments": arguments, "diffs": [{"path": "x", "diff": diff}]}
    async with opened(tmp_path, work=approving(detail), size=size) as hand:
        await hand.press("8", "enter")
        dialog = hand.dialog
        inside, told = dialog.query_one("#inside", VerticalScroll), hand.told("details")
        for shown in ('field0: "x', 'path: "/etc/passwd"', "EVIL", "@@ -1 +1 @@", "+line 0\n", "+line 8999"):
            assert shown in told
        assert "more characters" not in told
        buttons = [button for button in dialog.query(Button) if button.display]
        assert len(buttons) == 8
        assert all(dialog.region.contains_region(button.region) for button in buttons)
        assert "pgdn shows more" in dialog.query_one("#title", Bar).text

        inside.scroll_end(animate=False)
        await hand.press()
        assert all(dialog.region.contains_region(button.region) for button in buttons)
        assert "pgdn" not in dialog.query_one("#title", Bar).text
        await hand.press("6")
        assert hand.ordered == Answer(escalation="e1", answer="reject_once")


async def test_what_one_answer_is_for_is_shown_call_by_call(tmp_path: Path) -> None:
    async with opened(tmp_path, work=asking()[0]) as hand:
        await hand.press("8", "down", "enter", "ctrl+a")
        assert "answers     e2, and with it:" in hand.told("details")
        assert "e3          approval · seeker · may it call files/write?" in hand.told("details")
        assert 'with        path: "moon' in hand.told("details")
        await hand.press("1")
        assert hand.ordered == Answer(escalation="e2", answer="allow_once", alike=True)


async def test_enter_alone_decides_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, work=approving({"arguments": {"path": "/"}})) as hand:
        await hand.press("8", "enter", "enter")
        assert (hand.place, hand.app.orders) == ("inbox", [])


async def test_a_digit_answers_and_keys_that_come_while_the_question_changes_are_dropped(tmp_path: Path) -> None:
    now_s, sent = [0.0], list[Answer]()
    async with opened(tmp_path, work=asking()[0]) as hand:
        hand.app.push_screen(AnswerDialog("e2", send=sent.append, clock=lambda: now_s[0]))
        await hand.press("1", "1", "enter")
        assert [answer.escalation for answer in sent] == ["e2"]
        assert hand.dialog.title_line().startswith("e3: ")
        assert "e2 was answered: allow once" in hand.told("details")
        now_s[0] = 0.5
        await hand.press("6")
        assert sent[1:] == [Answer(escalation="e3", answer="reject_once")]


async def test_an_answer_for_later_calls_is_limited_to_a_time_and_to_values(tmp_path: Path) -> None:
    async with opened(tmp_path, work=approving({"arguments": {"path": "/etc", "text": "x"}})) as hand:
        await hand.press("8", "enter", "w", "4", *"30", "enter")
        limited = Answer(escalation="e1", answer="allow_always", minutes=30, scope="until", where=["path"])
        assert hand.ordered == limited


async def test_what_comes_in_above_leaves_the_cursor_on_its_row(tmp_path: Path) -> None:
    work = asking()[0]
    async with opened(tmp_path, work=work) as hand:
        await hand.press("8", "down")
        scout = next(agent.id for agent in work.state.agents.values() if agent.name == "scout")
        assert hand.table.selected == "e2"
        work.say(AgentUnusable(agent_id=scout, generation=1, error="gone"))
        await hand.meanwhile(Answer(escalation="e3", answer="allow_once"))
        assert (hand.table.rows.keys[0], hand.table.selected) == (scout, "e2")


async def test_a_row_says_who_asks_what_in_full_and_the_pane_what_was_said_and_answered_before(tmp_path: Path) -> None:
    async with opened(tmp_path, work=choosing_and_approving("run", "read"), size=(200, 60)) as hand:
        await hand.meanwhile(Answer(escalation="e2", answer="allow_once"))
        await hand.press("8", "down")
        assert hand.line(2).split()[:8] == ["approval", "writer", "may", "it", "call", "read?", "path", '"1.md"']
        pane = hand.app.screen.query_one("#below", Lines).text
        assert "may it call read?" in pane
        assert "6  reject once" in pane
        assert "run         allow once" in pane, pane
        await hand.press("up")
        pane = hand.app.screen.query_one("#below", Lines).text
        assert "SAID AND DONE" in pane
        assert "⚙ search query spring tides  limit 3" in pane
