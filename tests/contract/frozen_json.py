"""The keys of what subcommands write with `--json`, line by line, such as `agents.items[].track_record{}.done`.

What a golden file of `test_cli_json.py` and its like holds whole is read from there; everything else is made here, by
the subcommand itself where it needs no engine. Below a key that takes any JSON value no key is a name.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import click
import pytest

from dashboard.cli import main
from dashboard.cli.doctor import Finding
from dashboard.cli.engines.engine import _announce
from dashboard.cli.engines.up import Launched
from dashboard.cli.printing.following import event_item
from dashboard.cli.printing.output import OutputSettings
from dashboard.cli.printing.simulation import report_body as simulation_body
from dashboard.cli.web import _LinkPrinter
from dashboard.web.gate import RequestGate
from dashboard.web.server import ServerOptions
from engine.core.commands import SupervisorSpec
from engine.core.events import Escalated
from engine.core.records.values import Usage
from engine.simulation.plan import HistoryResult, Plan, Violation
from engine.simulation.report import Cause, SimulationReport
from engine.simulation.shadow_ledger import ShadowLedger
from engine.stream.records import StreamEvent
from engine.supervisor.client import CommandReply
from tests.databases import write_database
from tests.world import World

GOLDEN = Path(__file__).parent / "golden"
ANY_VALUE = (
    "arguments", "body", "differs.now", "differs.was", "fields[].now", "fields[].was", "input", "items[].a",
    "items[].b", "output", "outputs.now", "outputs.was", "result",
)  # fmt: skip
"""Ends of paths under which any JSON may stand."""
DATA = ("faults", "labels", "left", "refusals", "runs", "simulation.agents", "tasks", "track_record", "trouble")
"""Ends of paths whose keys are data."""
TEAM = "version: 1\nsupervisor: {name: chief}\nagents: [{name: ada, script: [{output: done}]}]\n"
QUESTION = Escalated(
    escalation_id="e1", kind="approval", subject="t1", run_id=None, task_id=None, question="May it?", options=["yes"],
    default=None, due_ms=None, detail={"arguments": {"path": "a"}, "diffs": [{"path": "a", "diff": "+ b"}]},
)  # fmt: skip


def json_lines(world: World, folder: Path) -> Iterator[str]:
    """Every key that a subcommand writes."""
    for path in GOLDEN.glob("*.json"):
        yield from _keys_in(path.read_text(encoding="utf-8"))
    db = write_database(folder / "team.db", [*world.journal, QUESTION])
    (folder / "team.yaml").write_text(TEAM, encoding="utf-8")
    (folder / "faulty.yaml").write_text(TEAM + "teams: 1\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))  # other tests of this process have a list of trust too
        yield from _of_files(db, folder)
    for value in _of_engines(db):
        yield from keys_of(value)
    ctx = click.Context(click.Command("serve"), obj=OutputSettings(json=True))
    web = _LinkPrinter(ctx, ServerOptions(db=db, gate=RequestGate("localhost")))
    for write in (
        partial(web.announce_link, "link"), partial(web.announce_sign_in, "here", "link"),
        partial(_announce, ctx, db, None, "engine", ""), partial(_announce, ctx, db, None, "standby", ""),
    ):  # fmt: skip
        yield from _keys_in(_written(write))


def _of_files(db: Path, folder: Path) -> Iterator[str]:
    """What subcommands write about a database, and about team files."""
    for words in (
        ("inbox", "--db", str(db)), ("wait", "r1", "--db", str(db)), ("init", str(folder / "new")),
        ("check", str(folder / "team.yaml")), ("check", str(folder / "faulty.yaml")),
        ("trust", str(folder / "team.yaml")), ("trust", "--list"), ("trust", "--revoke", str(folder / "team.yaml")),
    ):  # fmt: skip
        yield from _keys_in(_written(partial(main, [*words, "--json"])))


def _of_engines(db: Path) -> Iterator[dict[str, Any]]:
    """What subcommands write that start engines, or take long."""
    reply = CommandReply(command_id="c1", status="applied", seq=1, result={})
    yield {"v": 1, "kind": "up", **Launched(db, 1, started=True, outcome=reply).body()}
    event = StreamEvent("step", 1, 1, "r1", "t1", None, None, "ada", 0, usage=Usage())
    yield {"v": 1, "kind": "stream", "event": event_item(event)}
    finding = Finding(level="ok", what="python", message="is there")
    yield {"v": 1, "kind": "doctor", "ok": True, "items": [asdict(finding)]}
    plan = Plan(1, SupervisorSpec(name="chief"), 1.0, ())
    past = HistoryResult(plan, Violation("law", "says", "what", 1, 1), [], {}, ShadowLedger(), "", 1.0, [], 1, [])
    report = SimulationReport(
        workers=Counter("a"), failures={("a", "b"): (Cause("a", "b", "c", 1), 1)}, counterexample=past
    )
    yield {"v": 1, "kind": "simulation", **simulation_body(report, None, "again")}


def _written(write: Callable[[], object]) -> str:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        write()
    return out.getvalue() or err.getvalue()


def _keys_in(text: str) -> Iterator[str]:
    """The keys of JSON values that follow each other."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        value, at = decoder.raw_decode(text, at)
        at += len(text[at:]) - len(text[at:].lstrip())
        yield from keys_of(value)


def keys_of(value: dict[str, Any]) -> Iterator[str]:
    """The keys of one object of a subcommand, below its kind; that of an event is its name in the journal."""
    return _paths(value, "event" if "seq" in value and "body" in value else str(value["kind"]))


def _paths(value: object, at: str) -> Iterator[str]:
    yield at
    if at.endswith(ANY_VALUE):
        return
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _paths(below, f"{at}{{}}" if at.endswith(DATA) and "." in at else f"{at}.{key}")
    elif isinstance(value, list):
        for each in value:
            yield from _paths(each, f"{at}[]")
