"""The line that the audit shows of a command sends the same command, or what it lacks is said beside it."""

import shlex
import sqlite3
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dashboard.cli import main
from dashboard.views.words.shell_line import describe_omissions, shell_line, shell_line_to_send
from engine.core import commands as on
from engine.core.commands import Command
from engine.core.encoding.codec import decode_command
from engine.core.errors import BadValue
from engine.core.queries.work.excerpts import args_of
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryChange
from engine.core.specs.failure_policies import Retry
from engine.core.specs.limits import Limits
from engine.core.specs.options import Preempt, SupervisorOptions
from engine.core.validation.records import rebuild_checked
from engine.simulation.drawing import draw_valid_record
from tests.databases import write_database
from tests.unit.test_targets_everywhere import PLACES, put
from tests.world import agent, team_world

WORLD = team_world(agent("scout", "scan"), agent("twin", "scan"))
HOSTILE = (
    "-x", "--help", "--", "-", "a  b ", "it's \"so\"", "two\nlines", "a\ttab", "$(touch x) `id` $HOME", "ünï → 漢",
    "\\n", "!!",
)  # fmt: skip


def _of_text(text: str) -> list[Command]:
    """Return commands that hold a text wherever one can stand."""
    return [
        on.Steer(target="r1", text=text),
        on.Steer(target="r1", text=text, now=True),
        on.Cancel(target="r1", reason=text),
        on.Abort(target="r1", reason=text),
        on.Answer(escalation="e1", answer=text),
        on.Answer(escalation="e1", answer="use", output=text),
        on.ChangeCapabilities(agent="scout", add=[text], remove=[text]),
        on.SwitchStrategy(supervisor="chief", mode=text, settings={"guard": text}),
        on.Submit(request="Look", category=text, conversation=text),
        *([on.Submit(request=text)] if text != "-" else []),  # which is standard input
    ]


def _options(**said: object) -> on.ChangeSupervisor:
    return on.ChangeSupervisor(supervisor="chief", options=SupervisorOptions(**said))  # type: ignore[arg-type]


SAME: list[Command] = [
    *(command for text in HOSTILE for command in _of_text(text)),
    on.Submit(request="Look", after=["r1", "r2"], priority=0, deadline_s=1.5),
    on.Submit(request="Look", limits=Limits(attempts=3, tokens=5, cost_usd=Decimal("0.5"))),
    on.SetDeadline(target="r1", deadline_s=3_333_333.25),
    on.Answer(escalation="e1", answer="allow", also=["e2", "e3"]),
    on.Answer(escalation="e1", answer="use", output=""),
    on.Answer(escalation="e1", answer="use", output="[1]"),
    on.Answer(escalation="e1", answer="use", output=["a", 1]),
    on.Cancel(target="r1", reason=""),
    _options(ageing_s=30.0),
    _options(ageing_s=0.5, balance="weight", max_total=4, processes=2, track_record=True),
    _options(track_record=False),
    on.ChangeSupervisor(
        supervisor="chief",
        auto_discover=False,
        discovery=DiscoveryChange(
            modes=[AgentDiscoveryMode.RAG, AgentDiscoveryMode.MCP],
            documents=["a *.md"],
            approve="granted",
            max_new=0,
            evict=False,
        ),
    ),
    _options(preempt=Preempt(at="now")),
    _options(preempt=Preempt()),
    on.SwitchStrategy(supervisor="chief", mode="map", settings={"a": "2", "b": "true", "c": 2.0, "d": {"e": None}}),
    on.SwitchStrategy(supervisor="chief", mode="map", preserve_agent_states=False, scope="new"),
    on.SwapAgents(swaps=[on.SwapAgent(agent=one, registered="fast", mode="abort") for one in ("scout", "twin")]),
]
NOT_WHOLE: list[tuple[Command, str]] = [
    (on.Submit(request="x" * 10_000), "the journal keeps only a part of what was given"),
    (on.ChangeCapabilities(agent="scout", add=[str(one) for one in range(30)]),
     "the journal keeps only a part of what was given"),
    (on.SwapAgents(swaps=[on.SwapAgent(agent=f"a{one}", registered="fast") for one in range(30)]),
     "the journal keeps only a part of what was given"),
    (on.Submit(request={"a": 1}), "no option says a request that is no text"),
    (on.Submit(request="Look", on_failure=(Retry(1),)), "no option says on_failure"),
    (on.Submit(request="Look", limits=Limits(tokens=5, then="ask")), "no option says limits.then"),
    (on.SetDeadline(target="r1", due_ms=5), "no option says due_ms"),
    (on.Cancel(target="r1", grace_s=1.0), "no option says grace_s"),
    (on.Move(target="scout", parent="chief", place=0), "no option says place"),
    (on.Rollback(agent="scout", to="5f3a"), "no option says to"),
    (on.AddAgent(supervisor="chief", spec=agent("scout", "scan"), name="bob"), "no option says name"),
    (on.ChangeSupervisor(supervisor="chief", options=SupervisorOptions(grace_s=1.0), exactly=True),
     "no option says exactly, options.grace_s"),
    (on.SwitchStrategy(supervisor="chief", aggregation="concat"), "no option says the same strategy"),
    (on.SwapAgents(swaps=[on.SwapAgent(agent="scout", registered="a"), on.SwapAgent(agent="twin", registered="b")]),
     "no option says another spec for each agent"),
]  # fmt: skip


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_database(tmp_path_factory.mktemp("audited") / "team.db", WORLD.journal)


def line_of(command: Command) -> str:
    return shell_line(command.type, args_of(command))


def lacks_of(command: Command) -> str:
    return describe_omissions(command.type, args_of(command))


def sent_by(line: str, database: Path) -> list[Command]:
    """Return what a line, read as a shell does, leaves in the inbox of a team without an engine."""
    inbox = sqlite3.connect(f"{database}-inbox", isolation_level=None)
    try:
        last = inbox.execute("SELECT coalesce(max(place), 0) FROM commands").fetchone()[0]
    except sqlite3.OperationalError:
        last = 0
    program, word, *words = shlex.split(line)
    assert program == "quarterdeck"
    assert main(["--db", str(database), word, "--queue", *words]) == 0
    rows = inbox.execute("SELECT kind, body FROM commands WHERE place > ?", (last,)).fetchall()
    inbox.close()
    return [decode_command(kind, body.encode() if isinstance(body, str) else body) for kind, body in rows]


@pytest.mark.parametrize("command", SAME, ids=[line_of(one) for one in SAME])
def test_the_line_of_a_command_sends_the_same(command: Command, database: Path) -> None:
    assert lacks_of(command) == ""
    assert sent_by(line_of(command), database) == [command]


def _sayable(cls: Any, path: tuple[str, ...]) -> Command | None:
    """Return a command of a class that a line says whole, without a file; None where none does."""
    for seed in range(400):
        drawn = draw_valid_record(cls, Random(seed), WORLD.state, omission_share=0.7)
        if drawn is None or getattr(drawn, "spec", None) is not None or not getattr(drawn, "add", ["new"]):
            continue
        try:
            command: Command = rebuild_checked(put(drawn, path, "scout"), drawn.type)
        except BadValue:
            continue
        line = line_of(command)
        if line and ".yaml" not in line and not lacks_of(command):
            return command
    return None


NAMED = {f"{cls.__name__}.{path[0]}": (cls, path) for cls, path in PLACES if len(path) == 1}
TAKES_A_FILE = {"AddSupervisor.parent", "ReplaceTeam.supervisor"}
UNSAYABLE = TAKES_A_FILE | {"Declare.parent", "CreateAgent.maker"}
TARGETS = ("@a1", "a1", "scout", "chief/scout", "/chief/scout")


@pytest.mark.parametrize("name", [name for name in NAMED if name not in UNSAYABLE])
def test_a_line_leaves_a_target_as_it_is_written_for_the_engine_to_look_up(name: str, database: Path) -> None:
    cls, path = NAMED[name]
    command = _sayable(cls, path)
    assert command is not None

    for target in TARGETS:
        said = put(command, path, target)
        (sent,) = sent_by(line_of(said), database)
        assert getattr(sent, path[0]) == getattr(said, path[0])


def test_only_what_a_line_cannot_say_is_left_out_of_the_law_of_targets() -> None:
    assert {name for name in NAMED if _sayable(*NAMED[name]) is None} == UNSAYABLE


@pytest.mark.parametrize(("command", "lacks"), NOT_WHOLE, ids=[lacks for _, lacks in NOT_WHOLE])
def test_what_a_line_cannot_say_is_said_beside_it(command: Command, lacks: str) -> None:
    assert lacks_of(command) == lacks


def test_no_dialog_shows_a_line_that_would_do_something_else() -> None:
    said = on.Submit(request="Look", limits=Limits(tokens=5, then="ask"))

    assert shell_line_to_send(WORLD.state, said) == ""
    assert shell_line_to_send(WORLD.state, on.Submit(request="Look")) == "quarterdeck run Look"


def test_a_hand_over_is_said_as_one_and_not_as_the_start_of_an_engine() -> None:
    assert line_of(on.HandOver(grace_s=5.0)) == "quarterdeck engine --hand-over --grace 5"
    assert line_of(on.HandOver()) == "quarterdeck engine --hand-over"


def test_swaps_of_one_file_are_said_as_that_file() -> None:
    swaps = [on.SwapAgent(agent=one, spec=agent(one, "scan"), mode="abort") for one in ("scout", "twin")]

    assert line_of(on.SwapAgents(swaps=swaps)) == "quarterdeck swap scout twin --from agents.yaml --mode abort"


def test_a_spec_of_the_registry_is_added_by_python_alone() -> None:
    assert line_of(on.AddAgent(registered="fast")) == ""
    entry = on.AddAgent(catalogue="c1", spec=agent("scout"), name="bob", supervisor="chief")
    assert line_of(entry) == "quarterdeck add --catalogue c1 --as bob --under chief"
    assert describe_omissions(entry.type, args_of(entry)) == ""
