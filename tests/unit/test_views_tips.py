"""Suggestions in the demo: each once, only while it applies, gone when it is done or dismissed."""

from collections.abc import Sequence
from dataclasses import replace

from dashboard.views.words.tips import (
    KILL_FROM_MS,
    MIN_TASKS,
    PAUSE_MS,
    REQUEST_FROM_MS,
    SERVE_FROM_MS,
    SHOWN_MS,
    TIPS,
    SwapOutcome,
    Tip,
    TipContext,
    Tips,
    followable_tips,
    slow_agent,
)
from engine.core.commands import Abort, Submit, SupervisorSpec
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, Escalation, State
from tests.world import World, agent, team_world

PID = 4711


def crew() -> World:
    """A survey, then an inspection with a slow and a fast parser, then a writer, on one request."""
    parsers = [agent("slow", "parse", timeout_s=9.0), agent("fast", "parse")]
    work = team_world(
        SupervisorSpec(name="survey", mode="parallel", members=[agent("mapper", "map")]),
        SupervisorSpec(name="inspection", mode="parallel", members=[agent("lead", "lead"), *parsers]),
        agent("writer", "write"),
    )
    work.order(Submit(request="audit", supervisor="chief"))
    return work


def inspected(*, slow_ms: int = 90, fast_ms: int = 15) -> World:
    """The inspection at work; both parsers have done some files, and the slow one is at another."""
    work = crew()
    work.succeed(next(iter(work.started)))
    lead = next(key for key, started in work.started.items() if started.agent == "lead")
    work.ask(lead, "parse", [f"{number}.py" for number in range(4 * MIN_TASKS)])
    while min(len(named(work, name).at_work_ms) for name in ("slow", "fast")) < MIN_TASKS:
        key, started = next((key, one) for key, one in work.started.items() if one.agent in ("slow", "fast"))
        took_ms = slow_ms if started.agent == "slow" else fast_ms
        work.succeed(key, {}, took_ms=took_ms)
    return work


def named(work: World, name: str) -> Agent:
    return next(one for one in work.state.agents.values() if one.name == name)


def seen(state: State | None = None, *done: str, at_ms: int = 0, **said: object) -> TipContext:
    return replace(TipContext(state or crew().state, at_ms, 0, done, PID), **said)  # type: ignore[arg-type]


def every_tip(state: State, at_ms: int = 0, left: Sequence[Tip] = TIPS, /, **said: object) -> list[str]:
    """Dismiss one after the other, and return what each suggested."""
    tips, found = Tips([*left]), []
    while text := tips.of(seen(state, at_ms=at_ms, **said)).text:
        found.append(text)
        tips.dismiss(at_ms)
        at_ms += PAUSE_MS
    return found


def test_a_tip_stays_until_it_is_done_and_after_a_pause_the_next_one_comes() -> None:
    tips, state = Tips(), crew().state

    first = tips.of(seen(state)).text
    assert first == tips.of(seen(state, at_ms=SHOWN_MS // 3 - 1)).text
    assert "enter" in first

    assert tips.of(seen(state, "agent", at_ms=5_000)).text == ""
    assert tips.of(seen(state, "agent", at_ms=5_000 + PAUSE_MS)).text.startswith("S on chief")


def test_a_tip_that_nobody_follows_makes_way_and_does_not_come_again() -> None:
    tips, state = Tips(), crew().state

    shown = [tips.of(seen(state, at_ms=at_ms)).text for at_ms in range(0, 20 * SHOWN_MS, 1_000)]

    kept = [text for place, text in enumerate(shown) if text and text != (shown[place - 1] if place else "")]
    assert len(kept) == len(set(kept)) >= 5


def test_the_invitation_is_still_there_for_who_was_away_when_the_report_was_shown() -> None:
    tips, state = Tips(), crew().state

    shown = [tips.of(seen(state, "report", at_ms=at_ms)).text for at_ms in range(0, 90 * SHOWN_MS, 1_000)]

    assert "quarterdeck init my-team" in shown[1]
    assert "quarterdeck init my-team" not in shown[5 * SHOWN_MS // 1_000]
    assert all("quarterdeck init my-team" in text for text in shown[-60:])
    assert every_tip(state, done=("report",)).count(shown[1]) == 1


def test_what_was_done_before_its_turn_is_not_suggested() -> None:
    tips = Tips()

    assert tips.of(seen(None, "agent", "strategy_switched")).text.startswith("2:")


def test_a_browser_is_told_nothing_of_terminals_and_a_viewer_nothing_that_changes_the_team() -> None:
    late_ms = max(KILL_FROM_MS, SERVE_FROM_MS, REQUEST_FROM_MS)

    def told(*, viewer: bool) -> list[str]:
        left = followable_tips(in_browser=True, viewer=viewer)
        return every_tip(inspected().state, late_ms, left, done=("attempt_failed",), undoable=not viewer)

    assert not any("terminal" in text for text in told(viewer=False))
    assert any("h on slow" in text for text in told(viewer=False))
    looks = ["↑ ↓", "[ goes back", "2: the graph", "5: every task"]
    assert [text[: len(look)] for text, look in zip(told(viewer=True), looks, strict=True)] == looks


def test_undo_is_suggested_only_where_something_can_be_taken_back_and_then_at_once() -> None:
    tips, state = Tips(), crew().state
    assert not any("u: " in text or "undo" in text for text in every_tip(state))

    tips.of(seen(state))
    swap = SwapOutcome("slow", 90.0, 14.0)

    assert tips.of(seen(state, undoable=True)).text == "u: take that change back"
    told = "slow: 90 ms a task before, 14 ms now · u undoes it"
    assert tips.of(seen(state, undoable=True, swap=swap)).text == told
    assert tips.of(seen(state, "command_undone", at_ms=1, undoable=True)).text == ""


def test_the_slowest_of_two_agents_that_can_do_the_same_is_worth_a_swap_while_it_works() -> None:
    work = inspected()

    pair = slow_agent(work.state)
    assert pair is not None
    assert [one.name for one in pair] == ["slow", "fast"]
    assert any("h on slow" in text and "90 ms" in text for text in every_tip(work.state))

    assert slow_agent(inspected(slow_ms=20, fast_ms=15).state) is None


def test_a_team_whose_turn_has_come_needs_no_other_strategy() -> None:
    assert any("parallel_then_synthesis" in text for text in every_tip(crew().state))
    assert not any("parallel_then_synthesis" in text for text in every_tip(inspected().state))


def asked(kind: str, number: int = 1) -> Escalation:
    return Escalation(
        id=f"e{number}", kind=kind, subject="t1", run_id="r1", question="Read them?", options=["yes"], default=None,
        due_ms=None, asked_ms=0,
    )  # fmt: skip


def test_a_question_comes_before_everything_and_goes_with_its_answer() -> None:
    tips, work = Tips(), crew()
    tips.of(seen(work.state))

    work.state.escalations["e1"] = asked("ask")
    assert tips.of(seen(work.state, at_ms=1)).text == "! then enter answers what an agent asks you"

    del work.state.escalations["e1"]
    assert tips.of(seen(work.state, at_ms=2)).text == ""


def test_of_several_failures_it_says_that_one_answer_is_enough() -> None:
    work = crew()
    work.state.escalations.update({"e1": asked("failure"), "e2": asked("failure", 2)})

    assert "2 failed tasks you decide about, ctrl+a" in Tips().of(seen(work.state)).text


def test_in_the_past_only_what_can_be_done_there_is_suggested() -> None:
    tips = Tips()
    tips.of(seen())

    assert tips.of(seen(in_past=True)).text.startswith("F forks here")
    assert tips.of(seen(None, "fork", at_ms=1, in_past=True)).text == ""


def test_going_back_is_suggested_once_something_failed() -> None:
    assert not any("[ goes back" in text for text in every_tip(crew().state))
    assert any("[ goes back" in text for text in every_tip(crew().state, done=("attempt_failed",)))


def test_the_engine_is_named_by_its_process_and_nothing_is_suggested_without_one() -> None:
    late_ms = max(KILL_FROM_MS, SERVE_FROM_MS, REQUEST_FROM_MS)

    words = " ".join(every_tip(crew().state, late_ms))
    assert f"kill -9 {PID} in another terminal, then E" in words
    assert "quarterdeck serve" in words
    assert "n: give" in words

    assert every_tip(crew().state, late_ms, pid=None) == []


def test_a_demo_that_ended_before_it_was_opened_points_to_its_report() -> None:
    work = crew()
    work.settle()
    opened_ms = work.now_ms + 60_000

    assert "the report is ready" in Tips().of(seen(work.state, at_ms=opened_ms, since_ms=opened_ms)).text
    work.order(Submit(request="audit again", supervisor="chief"))
    assert "the report" not in Tips().of(seen(work.state, at_ms=opened_ms, since_ms=opened_ms)).text


def test_a_report_is_pointed_to_only_where_its_keys_open_it() -> None:
    work = crew()
    work.settle()
    work.order(Submit(request="audit again", supervisor="chief"))
    assert "the report" not in Tips().of(seen(work.state, at_ms=work.now_ms)).text

    work.order(Abort(target=next(iter(work.state.runs))))
    work.settle()
    assert not work.state.runs
    assert "the report" not in Tips().of(seen(work.state, at_ms=work.now_ms)).text


def test_every_tip_is_read_to_its_end_in_a_window_of_80() -> None:
    late_ms = max(KILL_FROM_MS, SERVE_FROM_MS, REQUEST_FROM_MS)
    work, over = inspected(slow_ms=61_000, fast_ms=60_000 // 2), crew()
    over.settle()
    questions = crew()
    questions.state.escalations.update({"e1": asked("failure"), "e2": asked("failure", 2), "e3": asked("ask", 3)})
    swap = SwapOutcome("parser-thorough", 190_000.0, 190_000.0)
    said = {"done": ("attempt_failed", "report"), "undoable": True, "swap": swap, "pid": 4_194_304}

    options = SupervisorOptions(models={"fake": ModelSpec(replies=[{"text": "so"}])})
    scripted = team_world(AgentSpec(name="ada", agent_type="SimpleAgent", model="fake"), options=options)

    states = (crew().state, work.state, questions.state, scripted.state)
    told = [text for state in states for text in every_tip(state, late_ms, **said)]
    told += [*every_tip(over.state, over.now_ms), *every_tip(crew().state, in_past=True)]

    assert len(set(told)) >= len({tip.words for tip in TIPS})
    assert [text for text in told if len(f" try  {text}") > 80] == []


def test_a_run_that_is_done_has_a_report_and_whoever_has_seen_it_is_invited() -> None:
    work = crew()
    work.settle()
    assert work.state.finished

    tips = Tips()
    assert "the report is ready" in tips.of(seen(work.state, at_ms=work.now_ms)).text
    assert tips.of(seen(work.state, "report", "agent", "run_submitted", at_ms=work.now_ms)).text == ""
    after = seen(work.state, "report", "agent", "run_submitted", at_ms=work.now_ms + PAUSE_MS)
    assert "quarterdeck init my-team" in tips.of(after).text
