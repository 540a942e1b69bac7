"""What is shown of steps and of what goes on now: as it is, cut, and never more than asked for."""

import json

from dashboard.views.facts.steps import calls_of, cut, last_line, latest_steps, live_cells, step_cells
from dashboard.views.measures.usage import is_metered
from engine.core.events import AttemptStarted, ModelFailed, StepRecorded
from tests.pilot.scene import audit
from tests.pilot.talking import talking


def step(name: str, what: str = "code", **fields: object) -> StepRecorded:
    """Return a step."""
    said = {"input": None, "output": "out", **fields}
    return StepRecorded(
        task_id="t1", attempt=1, agent_id="a1", what=what, name=name, key=name, duration_ms=41, **said  # type: ignore[arg-type]
    )  # fmt: skip


def texts(*events: object) -> list[str]:
    """Return the lines of steps."""
    return [(cell.lead + cell.text).rstrip() for cell in step_cells(events)]  # type: ignore[arg-type]


def test_the_step_of_a_model_shows_its_thoughts_its_text_and_the_calls_that_it_asks_for() -> None:
    answer = {
        "text": "Hm.",
        "thinking": "Where?",
        "calls": [{"name": "search", "arguments": {"q": 1}}],
        "finish": "length",
    }
    lines = texts(step("turn:1", "model", input={"model": "fast"}, output=answer))

    assert lines[0].startswith("✦ fast")
    assert lines[1:] == ["  … Where?", "  → Hm.", '  ⚙ search {"q": 1}', "    ended by length"]


def test_a_tool_shows_what_it_was_given_and_what_it_found_and_a_failed_model_why() -> None:
    failed = ModelFailed(task_id="t1", attempt=1, agent_id="a1", model="fast", error="no", error_type="auth")
    lines = texts(step("tool:search", "tool", input={"q": 1}, output="two"), failed, step("plain"))

    assert [line.split("  ")[0] for line in lines] == ["⚙ search", "", "", "✕ fast failed", "", "· plain", ""]
    assert lines[1:3] == ['  ← {"q": 1}', "  → two"]
    assert "auth: no" in lines[4]


def test_long_texts_are_cut_and_say_how_much_is_left_out() -> None:
    assert cut("x" * 30, 10) == "x" * 10 + "… (and 20 characters more)"
    assert len(latest_steps([step(str(number)) for number in range(30)], 6)) == 6
    assert latest_steps([AttemptStarted(task_id="t1", attempt=1, agent_id="a1", generation=1)]) == []


def test_the_text_that_grows_ends_in_a_mark_and_only_its_end_is_shown() -> None:
    (cell,) = live_cells({"output:t1": "one two " * 1_000}, "t1", 0, max_characters=40)

    assert cell.text.startswith("… ")
    assert cell.text.endswith("one two ▍")
    assert len(cell.text) < 50


def test_a_row_shows_the_running_tool_before_the_last_line_that_was_written() -> None:
    call = json.dumps([{"name": "search", "arguments": {"q": 1}, "since_ms": 5}])
    live = {
        "output:t1": "first\nsecond\n\n",
        "call:t2": call,
        "output:t2": "said",
        "thought:t3": "hm",
        "call:t4": "{no",
    }

    assert [last_line(live, task) for task in ("t1", "t2", "t3", "t4")] == ["second", '⚙ search {"q": 1}', "hm", ""]
    assert calls_of(live, "t2") == [("search", '{"q": 1}', 5)]
    assert calls_of({"call:t5": "7"}, "t5") == []


def test_tokens_and_money_have_columns_only_where_any_are_known() -> None:
    assert is_metered(talking()[0].state)
    assert not is_metered(audit().state)
