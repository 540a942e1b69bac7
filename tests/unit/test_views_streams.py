"""What `--follow` writes: whole lines with their agent's name, whoever else speaks meanwhile."""

from itertools import groupby
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.views.streams import MAX_WAITING_CHARACTERS, Transcript
from engine.stream.records import StreamEvent
from tests.depth import examples


def event(kind: Any, task: str, text: str = "", **fields: Any) -> StreamEvent:
    """Return something that an agent called after its task did."""
    return StreamEvent(
        kind=kind, at_ms=0, seq=None, run_id="r1", task_id=task, parent_id=None, agent_id=task, agent=task, depth=1,
        text=text, **fields,
    )  # fmt: skip


def written(*events: StreamEvent) -> str:
    """Return all that is written of these events."""
    transcript = Transcript()
    return "".join(map(transcript.render, events)) + transcript.end()


def test_text_is_written_as_it_comes_and_others_wait_for_the_end_of_the_line() -> None:
    transcript = Transcript()

    assert transcript.render(event("text", "ada", "Look")) == "ada  Look"
    assert transcript.render(event("text", "bob", "Dear ")) == ""
    assert transcript.render(event("text", "ada", "ing\n")) == "ing\nbob  Dear "
    assert transcript.render(event("text", "bob", "reader")) == "reader"


def test_what_happens_stands_on_a_line_of_its_own_after_what_was_said() -> None:
    told = written(
        event("task_started", "ada", name="Look up tides"),
        event("thought", "ada", "Where?"),
        event("text", "ada", "Looking"),
        event("tool_started", "ada", name="search", arguments={"q": "tides"}),
        event("tool_ended", "ada", name="search", result=["a", "b"]),
        event("task_ended", "ada", "no pages", status="failed"),
    )

    assert told.splitlines() == [
        "ada  ▸ Look up tides",
        "ada  … Where?",
        "ada  Looking",
        'ada  ⚙ search {"q": "tides"}',
        'ada  ⚙ search → ["a", "b"]',
        "ada  ✕ failed: no pages",
    ]


def test_nothing_that_an_agent_says_controls_the_terminal() -> None:
    told = written(
        event("text", "ada", "\x1b[31mred\x1b["), event("text", "ada", "0m\r\n"), event("asked", "a\x1b", "\x07?")
    )

    assert "\x1b" not in told
    assert "\r" not in told
    assert "\x07" not in told


SAID = st.tuples(
    st.sampled_from(["text", "text", "thought", "task_started", "step", "task_ended"]),
    st.sampled_from(["ada", "bob", "cyd"]),
    st.sampled_from(["a", "b", "c", "d", "e\n", "\nf", "g\nh", "\n", "i" * 900]),
)


@settings(max_examples=examples(30))
@given(st.lists(SAID, min_size=20, max_size=40))
def test_every_text_is_written_once_and_in_the_order_of_its_agent_whatever_happens_meanwhile(said: list[Any]) -> None:
    told = written(*(event(kind, task, text, name="it", status="done") for kind, task, text in said))

    for agent in ("ada", "bob", "cyd"):
        lines = [line.removeprefix(f"{agent}  ") for line in told.splitlines() if line.startswith(f"{agent}  ")]
        spoken = [line for line in lines if not line.startswith(("▸", "·", "✓"))]
        expected = [(kind, text) for kind, task, text in said if task == agent and kind in ("text", "thought")]
        whole = "".join(text for _, text in expected)
        assert "".join(line.removeprefix("… ") for line in spoken) == whole.replace("\n", "")
        marks = [line.startswith("… ") for line in spoken if line.removeprefix("… ")]
        kinds = [kind == "thought" for kind, text in expected if text.strip()]
        assert [is_thought for is_thought, _ in groupby(marks)] == [is_thought for is_thought, _ in groupby(kinds)]


def test_what_one_said_while_another_held_the_line_comes_before_what_it_says_next() -> None:
    transcript = Transcript()
    transcript.render(event("text", "ada", "one\ntwo"))
    transcript.render(event("thought", "bob", "Where"))
    transcript.render(event("text", "bob", "Here"))
    transcript.render(event("text", "cyd", "No"))

    assert transcript.render(event("text", "ada", "\n")) == "\nbob  … Where\nbob  Here"
    assert transcript.render(event("text", "bob", "!\n")) == "!\ncyd  No"
    assert transcript.render(event("text", "bob", "More")) == ""
    assert transcript.end() == "\nbob  More\n"


def test_an_event_of_the_task_that_holds_the_line_gives_it_to_the_one_that_waits_longest() -> None:
    transcript = Transcript()
    for task, text in (("ada", "Look"), ("cyd", "first"), ("bob", "second"), ("cyd", " in line")):
        transcript.render(event("text", task, text))

    assert transcript.render(event("task_ended", "ada", status="done", result="x")) == (
        "\nada  ✓ done\ncyd  first in line"
    )
    assert transcript.render(event("task_ended", "cyd", status="done", result="x")) == "\ncyd  ✓ done\nbob  second"


def test_an_event_of_another_task_comes_after_all_that_this_one_said() -> None:
    transcript = Transcript()
    for task, text in (("ada", "Look"), ("cyd", "first"), ("bob", "second")):
        transcript.render(event("text", task, text))

    assert transcript.render(event("task_ended", "bob", status="done", result="x")) == (
        "\nbob  second\nbob  ✓ done\ncyd  first"
    )


def test_who_waits_too_long_to_be_remembered_is_written_with_all_others_that_wait() -> None:
    transcript = Transcript()
    for task, text in (("ada", "Look"), ("cyd", "first")):
        transcript.render(event("text", task, text))

    assert transcript.render(event("text", "bob", "x" * MAX_WAITING_CHARACTERS)) == ""
    assert (
        transcript.render(event("thought", "bob", "y"))
        == f"\ncyd  first\nbob  {'x' * MAX_WAITING_CHARACTERS}\nbob  … y\n"
    )
    assert transcript.end() == ""


def test_all_whose_lines_are_whole_are_written_until_one_holds_the_line() -> None:
    transcript = Transcript()
    for task, text in (("ada", "Look"), ("bob", "second\n"), ("cyd", "third\n"), ("dan", "fourth"), ("eve", "fifth")):
        transcript.render(event("text", task, text))

    assert transcript.render(event("text", "ada", "!\n")) == "!\nbob  second\ncyd  third\ndan  fourth"
