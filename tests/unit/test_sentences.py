"""How events read: one sentence each."""

from decimal import Decimal
from string import Formatter
from typing import Any

import pytest
from msgspec import Raw

from dashboard.views.event_log import Entry
from dashboard.views.tail import ScreenTail, to_tail_line
from dashboard.views.words.names import Names
from dashboard.views.words.sentences import SENTENCES, sentence
from engine.core import events as on
from engine.core.commands import Pause, SupervisorSpec, Undo
from engine.core.events.run import RunFigures
from engine.core.events.task import ChildPlan
from engine.core.records.records import JsonValue, copy_with
from engine.core.records.values import Usage
from engine.core.specs.spec import AgentSpec
from engine.core.state import RunStatus
from tests.story import only
from tests.world import agent, load, team_world

TASK: dict[str, Any] = {"subject": "t1", "run_id": "r1", "task_id": "t1"}


@pytest.mark.parametrize(
    ("what", "name", "given", "output", "said"),
    [
        (
            "model",
            "turn:1",
            {"model": "fast", "messages": 2},
            {"text": "", "calls": [{"id": "a", "name": "delegate"}, {"id": "b", "name": "search"}]},
            "a1 got 2 calls (delegate, search) from fast for t1 in 20 ms",
        ),
        (
            "model",
            "turn:2",
            {"model": "fast"},
            {"text": "High at noon.\nOr so."},
            "the answer “High at noon.” from fast",
        ),
        ("model", "turn:2", {"model": "fast"}, {"finish": "empty"}, "got an empty answer from fast"),
        ("model", "turn:2", {"model": "fast"}, {"calls": 5}, "got an empty answer from fast"),
        ("tool", "tool:search", {"words": "tides"}, "x", 'a1 called search {"words": "tides"} for t1 in 20 ms'),
        ("code", "read", [], "x", "a1 finished step read of t1 in 20 ms"),
    ],
)
def test_a_step_says_what_a_model_answered_and_which_tool_was_called(
    what: str, name: str, given: object, output: object, said: str
) -> None:
    event = on.StepRecorded(
        task_id="t1",
        attempt=1,
        agent_id="a1",
        what=what,  # type: ignore[arg-type]
        name=name,
        key=name,
        input=given,  # type: ignore[arg-type]
        output=output,  # type: ignore[arg-type]
        duration_ms=20,
    )

    assert said in sentence(event, Names()).text


@pytest.mark.parametrize(("by_itself", "tone"), [(True, "warn"), (False, "accent")])
def test_a_rollback_warns_only_where_nobody_asked_for_it(by_itself: bool, tone: str) -> None:
    event = on.SwapRolledBack(
        agent_id="a1", generation=3, spec=AgentSpec(name="scout", run="crew:scout"), mode="drain", why="ann wants it",
        by_itself=by_itself,
    )  # fmt: skip

    assert sentence(event, Names()).tone == tone
    assert to_tail_line(Entry(1, 0, event.type, event), Names()).tone == tone


@pytest.mark.parametrize(("status", "glyph"), [("done", "✓"), ("failed", "✕"), ("cancelled", "■"), ("skipped", "–")])
def test_the_tail_shows_by_its_sign_how_a_run_ended(status: str, glyph: str) -> None:
    figures = RunFigures(
        supervisor_id="s1", title="audit", request="audit", strategy="parallel", tasks=1, done=1, failed=0,
        usage=Usage(), started_ms=0, longest_ms=0,
    )  # fmt: skip
    event = on.RunFinished(run_id="r1", status=RunStatus(status), output=None, figures=figures)

    assert to_tail_line(Entry(7, 0, event.type, event), Names()).glyph == glyph


@pytest.mark.parametrize(
    ("state", "texts", "said"),
    [
        ('{"specs":{"x":{}},"pools":{},"leaving":{},"limited":{},"undoable":{},"usage":{"time_ms":4}}', [], "1 spec"),
        ('{"registry":{"a":"x","b":"y"},"runs":{"r1":{}},"usage":{}}', [], "2 registered specs, 1 run"),
        ('{"limited":{"s1":{}},"usage":{"time_ms":4}}', ["a", "b"], "2 texts"),
        ('{"usage":{"time_ms":4}}', [], "its totals"),
    ],
)
def test_a_part_of_an_archive_is_told_by_what_is_in_it(state: str, texts: list[JsonValue], said: str) -> None:
    event = on.PartImported(state=Raw(state.encode()), texts=texts)

    assert sentence(event, Names()).text == f"part of an archive was imported: {said}"


@pytest.mark.parametrize(("then", "when"), [("stop", " at its next step"), ("ask", " at its next step"), ("fail", "")])
def test_a_reached_budget_says_when_what_is_at_work_stops(then: Any, when: str) -> None:
    event = on.BudgetReached(
        **TASK, agent_id=None, amount="tokens", spent=Decimal(1_200), limit=Decimal(1_000), then=then,
        stopping=["t1"], reporter=None, grace_ms=0,
    )  # fmt: skip

    assert sentence(event, Names()).text == f"t1 has spent 1,200 of 1,000 tokens; what is at work stops{when}"


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (on.GraceEnded(run_id="r1", task_id="t1", stopping=[]), " has stopped after its deadline"),
        (
            on.GraceEnded(run_id="r1", task_id="t1", stopping=["t1"]),
            ": 1 attempt ended where it was",
        ),
        (
            on.GraceEnded(run_id="r1", task_id="t1", stopping=["t1", "t2"]),
            ": 2 attempts ended where they were",
        ),
        (
            on.BudgetExtended(**TASK, agent_id=None, amount=None, granted=0, limit=None),
            " continues: its budget was changed",
        ),
        (
            on.BudgetExtended(**TASK, agent_id=None, amount="tokens", granted=1, limit=Decimal(2_000)),
            ": it may spend 2,000 tokens in all",
        ),
        (on.BudgetTimed(**TASK, due_ms=None), " spends no time now"),
        (on.BudgetTimed(**TASK, due_ms=5_000, at_ms=2_000), " has spent its time in 3.0 s, as it works now"),
    ],
)
def test_what_becomes_of_limits_is_told_by_what_has_come_of_them(event: Any, said: str) -> None:
    assert sentence(event, Names()).text.endswith(said)


def test_the_start_of_an_engine_has_its_process_in_the_column_of_who() -> None:
    told = to_tail_line(Entry(1, 0, "engine_started", on.EngineStarted(pid=7, version="1.0", token=2)), Names())

    assert (told.actor, told.text) == ("engine 7", "started (version 1.0, token 2)")


def test_what_is_delegated_is_counted_apart_from_what_its_title_counts() -> None:
    child = {"kind": "agent", "title": "a.py and 4 more", "queue": "q", "worker_id": None, "supervisor_id": "s1"}
    children = [ChildPlan(task_id=f"t{number}", input=None, **child) for number in range(6)]  # type: ignore[arg-type]
    event = on.Delegated(task_id="t1", agent_id="a1", attempt=1, call_key="k", call_kind="delegate", children=children)

    assert sentence(event, Names()).text == "a1 delegated a.py and 4 more, and 5 other tasks"
    assert to_tail_line(Entry(1, 0, event.type, event), Names()).text == "delegated a.py and 4 more, and 5 other tasks"


def test_every_sentence_names_fields_that_its_event_has() -> None:
    missing = {
        (kind.__name__, name)
        for kind, (told, _) in SENTENCES.items()
        for _, name, _, _ in (Formatter().parse(told) if isinstance(told, str) else ())
        if name is not None and name != "work" and not hasattr(kind, name.partition(".")[0])
    }

    assert missing == set()


def test_an_undo_says_what_was_undone_in_the_words_of_what_was_done() -> None:
    world = team_world(agent("ada"))
    world.order(Pause(target="ada"))
    taken_back, repeated = ([one for one in world.order(Undo()) if isinstance(one, on.CommandUndone)] for _ in range(2))

    (first,), (second,) = taken_back, repeated
    assert sentence(first, Names()).text == "undone: paused ada"
    assert sentence(second, Names()).text == "undone: resumed ada"
    of_before = copy_with(first, summary="")  # a journal of before has no words
    assert sentence(of_before, Names()).text == f"undone: pause {first.command_id}"


def test_a_member_that_was_renamed_is_called_by_its_present_name() -> None:
    world = team_world(agent("ada", "parse"))
    world.order(load(SupervisorSpec(name="chief", members=[copy_with(agent("ada", "parse"), name="grace")])))
    renamed = only(world.journal, "member_renamed")
    names = Names()

    names.learn_state(world.state)
    names.learn(world.journal)  # as where what came before is read later

    assert names.of(renamed.member_id) == "grace"
    assert names.ids_of("grace") == [renamed.member_id]
    assert sentence(renamed, names).text.startswith("ada was renamed to grace")
    world.order(load(SupervisorSpec(name="chief", members=[copy_with(agent("ada", "parse"), name="hopper")])))
    assert sentence(renamed, names).text.startswith("ada was renamed to grace")


def test_what_the_tail_kept_is_said_again_where_a_member_got_another_name() -> None:
    world, names, tail = team_world(agent("ada", "parse")), Names(), ScreenTail()
    world.order(Pause(target="ada"))
    paused = only(world.journal, "agent_paused")
    entries = [Entry(1, paused.at_ms, paused.type, paused)]
    names.learn_state(world.state)
    names.learn(world.journal)
    before = str(tail.lines(entries, names, 80, 4, events_per_s=1))

    names.learn(
        world.order(load(SupervisorSpec(name="chief", members=[copy_with(agent("ada", "parse"), name="grace")])))
    )

    after = str(tail.lines(entries, names, 80, 4, events_per_s=1))
    assert "ada" in before
    assert "grace" in after
    assert "ada" not in after


def test_an_import_is_told_by_the_name_of_its_archive_and_not_by_the_folder_that_it_was_sent_to() -> None:
    began = on.ImportBegan(command_id="c1", path="/tmp/tab-1/upload-2/team.zip", sha256="", above={}, last={})

    assert sentence(began, Names()).text == "the import of team.zip began"
