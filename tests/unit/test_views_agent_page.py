"""The page of an agent without a terminal: steps, prompt, what it says, and what stands beside."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from dashboard.views.drawing.lines import Line, cell_width
from dashboard.views.drawing.prose import MAX_CHARACTERS, growing_prose, paragraph, prose
from dashboard.views.event_log import Entry
from dashboard.views.facts.agent import agent_facts
from dashboard.views.facts.agent_page import facts_lines, last_section, state_section
from dashboard.views.facts.agent_says import event_lines, latest_output
from dashboard.views.facts.conversation import TaskConversation
from dashboard.views.facts.ended import ended_tasks_in
from dashboard.views.facts.prompt import prompt_beginning, prompt_lines, prompt_of, prompt_text
from dashboard.views.facts.step_table import live_lines, step_lines, steps_among
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import make_digest
from dashboard.views.words.amounts import duration
from dashboard.views.words.names import JournalTexts, Names
from engine.core.activities import CurrentActivity
from engine.core.records.records import copy_with
from engine.core.state import Task
from tests.pilot.scene import NOW_MS, audit
from tests.pilot.talking import HOSTILE, talking
from tests.pilot.trouble import trouble
from tests.story import attempt, done, submitted
from tests.world import World, agent, team_world


def text(lines: list[Line]) -> list[str]:
    return ["".join(span.text for span in line.spans).rstrip() for line in lines]


def entries(work: World) -> list[Entry]:
    return [Entry(seq, one.at_ms, one.type, one) for seq, one in enumerate(work.journal, 1)]


def task_of(work: World, name: str) -> Task:
    agent = next(one for one in work.state.agents.values() if one.name == name)
    return work.state.tasks[next(iter([*agent.running, *agent.parked]))]


@pytest.mark.parametrize("width", [24, 46, 80, 120])
def test_steps_name_calls_with_their_arguments_and_results_in_any_width(width: int) -> None:
    work, live = talking()
    task = task_of(work, "scout")
    steps = steps_among(entries(work), task.id)
    unfolded = {str(one.seq) for one in steps}
    lines = step_lines(steps, width, unfolded=unfolded) + live_lines(
        live, task.id, 3, width, activity=CurrentActivity(kind="working"), now_ms=NOW_MS
    )

    assert all(cell_width(line.spans) <= width for line in lines)
    assert [line.key for line in lines if line.key] == [*(str(one.seq) for one in steps), "live"]


def test_a_folded_step_takes_one_line_and_an_unfolded_one_has_all_of_it_cleaned() -> None:
    work, _ = talking()
    steps = steps_among(entries(work), task_of(work, "scout").id)
    folded, unfolded = step_lines(steps, 80), step_lines(steps, 80, unfolded={str(steps[1].seq)})

    assert text(folded)[0].split() == ["1", "✓", "model", "asks", "for", "search", "843", "tok"]
    assert "→ 3 items" in text(folded)[1]
    shown = "\n".join(text(unfolded))
    assert "tides.org/spring" in shown
    assert "\\u001b" in shown or "\\x1b" in shown
    assert "\x1b" not in shown


def test_of_an_address_that_is_too_long_the_end_stands_which_tells_calls_apart() -> None:
    work, _ = talking()
    first = steps_among(entries(work), task_of(work, "scout").id)[0]
    url = "https://wiki.example.org/a/long/way/down/crawl/19"
    fetched = copy_with(first.event, what="tool", name="tool:fetch_page", input={"url": url}, output="a page")

    (line,) = text(step_lines([first._replace(event=fetched)], 60, unfolded=set()))

    assert "fetch_page …/" in line
    assert "crawl/19" in line


def test_of_an_ended_run_the_prompt_says_that_what_its_conversation_held_before_is_missing() -> None:
    world = team_world(agent("lead"))
    prompts = []
    for request in ("first", "second"):
        submitted(world, request, conversation="main")
        key = attempt(world, "lead")
        world.record(key, "turn:1")
        done(world, "lead", "answer")
        prompts.append(
            prompt_of(world.state, None, steps_among(entries(world), key[0]), {}, JournalTexts(), request=request)
        )

    assert [[one.text for one in prompt if one.role in ("user", "earlier")] for prompt in prompts] == [
        ["first"],
        ["what was said before in conversation main is shown while a run is open", "second"],
    ]


def test_the_prompt_is_put_together_as_it_was_sent() -> None:
    work, _ = talking()
    task = task_of(work, "scout")
    steps = steps_among(entries(work), task.id)
    parts = {"h1": "You find sources.", "h2": '[{"type": "function", "function": {"name": "search"}}]'}
    for step in steps[:1]:
        step.event.parts.extend(parts)  # type: ignore[attr-defined]
    first = prompt_of(work.state, task, steps[:1], parts, JournalTexts())
    after = prompt_of(work.state, task, steps, parts, JournalTexts())

    assert [(one.role, one.text) for one in first] == [
        ("system", "You find sources."), ("tools", "search"), ("user", "Find three sources on tides"),
    ]  # fmt: skip
    assert [one.role for one in after] == ["system", "tools", "user", "model", "tool"]
    assert after[-1].text.startswith("search → ")
    assert prompt_text(first).startswith("system: You find sources.\n\ntools: search")
    assert prompt_text([one for one in first if one.role == "user"]) == ""
    assert len(prompt_beginning(after, 40, 6)) <= 6
    assert all(cell_width(line.spans) <= 40 for line in prompt_lines(after, 40))


def test_what_an_agent_writes_is_rendered_while_it_grows() -> None:
    work, live = talking()
    task = task_of(work, "writer")
    said = latest_output(work.state, task, task.id, [], make_digest(work.state), live, width=60, now_ms=NOW_MS)

    assert said.grows
    assert text(said.lines)[-1].endswith("Ha ▍")
    assert "Tides" in text(said.lines)
    assert HOSTILE[0] not in "".join(text(said.lines))


def test_a_conversation_has_all_turns_with_the_arguments_of_calls_and_fits_into_any_width() -> None:
    work, _ = talking()
    names = Names()
    names.learn(work.journal)
    chief, scout, seeker = (task_of(work, name).id for name in ("chief", "scout", "seeker"))
    drawn = TaskConversation()

    for width in (30, 60, 120):
        for task_id in (chief, scout, seeker):
            assert all(cell_width(line.spans) <= width for line in drawn.lines(entries(work), task_id, names, width))
    said = "\n".join(text(drawn.lines(entries(work), chief, names, 100)))
    assert said.index("Three of them can work") < said.index("Let me plan.") < said.index("delegate worker scout")
    called = "\n".join(text(drawn.lines(entries(work), scout, names, 100)))
    assert "⚙ search query spring tides  limit 3" in called
    assert "tides.org/spring" in called
    assert HOSTILE[0] not in called
    assert "429: slow down" in "\n".join(text(drawn.lines(entries(work), seeker, names, 100)))


def test_facts_fit_into_any_width() -> None:
    work, live = talking()
    for shown in work.state.agents.values():
        task = work.state.tasks[next(iter([*shown.running, *shown.parked]))]
        activity, events = Activity.of(work.state, work.journal), work.journal
        counts = make_digest(work.state)
        facts = agent_facts(work.state, shown, counts, live, now_ms=NOW_MS, activity=activity, events=events)
        for width in (40, 80, 120, 200):
            lines = facts_lines(facts, shown, task, width, now_ms=NOW_MS)
            assert all(cell_width(line.spans) <= width for line in lines)
            assert shown.name in text(lines)[0]


def test_facts_go_on_in_another_line_where_one_does_not_hold_them() -> None:
    work = trouble()
    checker = next(agent for agent in work.state.agents.values() if agent.name == "checker")
    task = next(one for one in work.state.tasks.values() if one.agent_id == checker.id)
    activity = Activity.of(work.state, work.journal)
    facts = agent_facts(work.state, checker, make_digest(work.state), {}, now_ms=NOW_MS, activity=activity)
    told = "\n".join(text(facts_lines(facts, checker, task, 80, now_ms=NOW_MS)))

    assert "…" not in told
    assert [word for word in ("can check", "z closes it", "0 of 1,000 tokens", "last error") if word not in told] == []


def test_events_of_an_agent_leave_its_name_out_and_have_those_of_others() -> None:
    work = audit()
    names = Names()
    names.learn(work.journal)
    names.learn_state(work.state)
    agent = next(one for one in work.state.agents.values() if one.name == "scout-thorough")
    of_it = [one for one in entries(work) if getattr(one.event, "agent_id", None) == agent.id]
    other = next(one for one in entries(work) if one.kind == "attempt_done" and one not in of_it)
    told = [line[11:] for line in text(event_lines([*of_it, other], names, 120, agent_id=agent.id))]

    assert not any(line.startswith(agent.name) for line in told)
    assert "swapped to g2, scout-fast (drain)" in told
    assert told[-1].startswith(f"{names.of(other.event.agent_id)} finished")  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [30, 40, 60])
def test_how_long_what_happened_to_an_agent_took_is_never_cut(width: int) -> None:
    work = audit()
    names = Names()
    names.learn(work.journal)
    names.learn_state(work.state)
    ends = [one for one in entries(work) if one.kind == "attempt_done" and one.event.agent_id is not None]  # type: ignore[attr-defined]
    drawn = text(event_lines(ends, names, width))

    took = [duration(one.event.duration_ms) for one in ends]  # type: ignore[attr-defined]
    assert [line.endswith(f" {one}") for line, one in zip(drawn, took, strict=True)] == [True] * len(ends)
    assert {cell_len(line) <= width for line in drawn} == {True}


@pytest.mark.parametrize("width", [36, 44, 60])
def test_how_long_the_last_tasks_took_is_never_cut(width: int) -> None:
    work = audit()
    agent = next(one for one in work.state.agents.values() if one.name == "scout")
    of_it = [one for one in entries(work) if getattr(one.event, "agent_id", None) == agent.id]
    names = Names()
    for spent_ms, said in ((106_000, "1m46s"), (3_599_000, "59m59s"), (86_340_000, "23h59m"), (59_900, "59.9 s")):
        ended = [replace(one, duration_ms=spent_ms) for one in ended_tasks_in(of_it[::-1], names)]
        lines = text(last_section(ended, width, NOW_MS)[2])

        assert len(lines) == len(ended) > 0
        assert all(said in line and "…" not in line.split(said)[1] for line in lines)


MARKDOWN = (
    "# Title\n\nOne **two** `three`.\n\n- a\n- b\n  - c\n\n| x | y |\n|---|---|\n| 1 | 日本 |\n\n```\ncode\n\nmore\n```"
)


def test_a_paragraph_full_of_brackets_is_not_searched_for_links() -> None:
    few, many = prose("[a](b) " * 50, 80), prose("[a](b) " * 501, 80)

    assert "[a](b)" not in "".join(text(few))
    assert "".join(text(many)).count("[a](b)") == 501


def test_markdown_becomes_lines_that_fit() -> None:
    assert text(prose(MARKDOWN, 40)) == [
        "Title", "", "One two three.", "", "• a", "• b", "  ▪ c", "", "x │ y", "──┼─────", "1 │ 日本", "",
        "  code", "", "  more",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "said",
    ["word " * 5_000, "x" * 200_000, "日" * 3_000, "\x1b[31m" * 500, "|a" * 500 + "\n" + "|-" * 500, "```\n" * 99],
    ids=["words", "letters", "wide", "escapes", "table", "fences"],
)
def test_no_text_is_too_much_for_a_pane_and_a_growing_one_ends_with_its_cursor(said: str) -> None:
    lines = growing_prose(said, 50)

    assert all(cell_width(line.spans) <= 50 for line in lines)
    assert sum(len("".join(span.text for span in line.spans)) for line in lines) < 8 * MAX_CHARACTERS
    assert text(lines)[-1].endswith("▍")
    assert len(paragraph(said, 50, max_lines=20)) <= 20


def test_the_page_shows_what_an_agent_keeps_for_itself_with_its_size() -> None:
    work = team_world(agent("ada"))
    submitted(work)
    changes = {"solver": [{"$agent": "k1"}], "n": [1]}
    work.record(attempt(work, "ada"), "save", state_changes=changes, state_versions=dict.fromkeys(changes, 0))

    title, right, lines = state_section(work.state.agents["a1"], 30)

    assert (title, right) == ("STATE", "2 keys, 33 B")
    assert text(lines) == ["◆ solver  26 B", "◆ n  7 B"]
