"""Everything that an import refuses: in one line, before anything is written."""

import hashlib
import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.archive import ImportRefused, export_archive, read_archive
from engine.archive.manifest import VERSION
from engine.core.encoding.strict_json import NotStrict, strict_json
from tests.databases import busy_world, write_database


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_database(tmp_path_factory.mktemp("archive") / "team.db", busy_world().journal)


@pytest.fixture(scope="session")
def archive(database: Path) -> Path:
    return export_archive(database, database.with_name("team.zip")).path


def zipped(parts: dict[str, bytes], **changes: Any) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", changes.get("method", zipfile.ZIP_DEFLATED)) as out:
        for name, body in parts.items():
            out.writestr(name, body)
    return buffer.getvalue()


def parts_of(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist() if name != "events.jsonl"}


def sealed(parts: dict[str, bytes], **claims: Any) -> bytes:
    """Zip parts with a manifest that fits them, so that only what they mean can be wrong."""
    manifest = json.loads(parts["manifest.json"])
    rest = {name: body for name, body in parts.items() if name != "manifest.json"}
    manifest["parts"] = {name: hashlib.sha256(body).hexdigest() for name, body in rest.items()}
    return zipped({"manifest.json": json.dumps(manifest | claims).encode(), **rest})


def with_state(archive: Path, change: Callable[[dict[str, Any]], Any]) -> bytes:
    parts = parts_of(archive)
    state = json.loads(parts["state.json"])
    change(state)
    kinds = ("supervisors", "agents", "specs", "runs", "tasks", "finished")
    counts = {kind: len(state.get(kind, ())) for kind in kinds} | {"texts": parts["texts.jsonl"].count(b"\n")}
    return sealed(parts | {"state.json": json.dumps(state, separators=(",", ":")).encode()}, counts=counts)


def refusal(body: bytes, folder: Path) -> str:
    """Return the line that an import of these bytes is refused with; nothing else may come of it."""
    path = folder / "mangled.zip"
    path.write_bytes(body)
    before = sorted(folder.iterdir())
    with pytest.raises(ImportRefused) as refused:
        read_archive(path)
    assert sorted(folder.iterdir()) == before
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_other_files_are_no_archives(database: Path, tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(300 * 1024 * 1024)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    for path, reason in (
        (Path("/etc/passwd"), "not an archive"), (tmp_path / "empty", "is empty"), (database, "is a database"),
        (tmp_path, "not a regular file"), (tmp_path / "pipe", "not a regular file"),
        (tmp_path / "no", "does not exist"),
        (sparse, "larger than"), (Path("/dev/zero"), "not a regular file"), (tmp_path / "a\0b", "cannot be read"),
    ):  # fmt: skip
        with pytest.raises(ImportRefused, match=reason):
            read_archive(path)


def test_a_database_that_this_process_works_on_is_not_even_opened(database: Path) -> None:
    with database.open("rb"), pytest.raises(ImportRefused, match="this engine works on"):
        read_archive(database)


def test_another_file_than_the_one_that_was_looked_at_is_refused(archive: Path) -> None:
    with pytest.raises(ImportRefused, match="since it was checked"):
        read_archive(archive, "0" * 64)


def _torn(body: bytes, *, name: bytes, at: int, value: int) -> bytes:
    """Change two bytes of the entry of a part in the zip's directory."""
    start = body.rindex(b"PK\x01\x02", 0, body.rindex(name)) + at
    return body[:start] + struct.pack("<H", value) + body[start + 2 :]


SHAPES: dict[str, tuple[Callable[[dict[str, bytes]], bytes], str]] = {
    "another zip": (lambda parts: zipped({"a.txt": b"hello"}), "another zip"),
    "a part is missing": (lambda parts: zipped({"manifest.json": parts["manifest.json"]}), "another zip"),
    "a part too many": (lambda parts: zipped(parts | {"more.json": b"{}"}), "another zip"),
    "a path out of the folder": (lambda parts: zipped(parts | {"../evil": b"{}"}), "another zip"),
    "many parts": (lambda parts: zipped({f"{number}": b"" for number in range(300)}), "another zip"),
    "cut off": (lambda parts: zipped(parts)[:-7], "truncated"),
    "added to": (lambda parts: zipped(parts) + b"more", "truncated or extended"),
    "put behind something": (lambda parts: b"#!/bin/sh\n" + zipped(parts), "not an archive"),
    "bzip2": (lambda parts: zipped(parts, method=zipfile.ZIP_BZIP2), "not allowed"),
    "encrypted": (lambda parts: _torn(zipped(parts), name=b"state.json", at=8, value=1), "not allowed"),
    "a bomb": (lambda parts: zipped(parts | {"texts.jsonl": b"\n" * 10_000_000}), "beyond the limit"),
    "a wrong checksum": (lambda parts: _torn(zipped(parts), name=b"state.json", at=16, value=7), "damaged"),
    "a wrong size": (lambda parts: _torn(zipped(parts), name=b"state.json", at=24, value=9), "damaged"),
    "a changed part": (lambda parts: zipped(parts | {"state.json": b"{}"}), "changed after it was written"),
    "a newer format": (lambda parts: sealed(parts, version=VERSION + 1), "newer quarterdeck"),
    "an older format": (lambda parts: sealed(parts, version=VERSION - 1), "older quarterdeck"),
    "another format": (lambda parts: sealed(parts, format="other"), "not an archive"),
    "a manifest that is none": (lambda parts: zipped(parts | {"manifest.json": b"[]"}), "not an object"),
    "a claim too many": (lambda parts: sealed(parts, more=1), "more"),
    "a wrong count": (lambda parts: sealed(parts, counts={}), "counts in its manifest are wrong"),
    "another state": (lambda parts: sealed(parts, state_sha256="0" * 64), "does not match its manifest"),
    "texts that are cut off": (lambda parts: sealed(parts | {"texts.jsonl": b'"a"'}), "truncated"),
    "two texts in a line": (lambda parts: sealed(parts | {"texts.jsonl": b"1,2\n"}), "not JSON"),
    "no UTF-8": (lambda parts: sealed(parts | {"texts.jsonl": b'"\xff"\n'}), "not JSON"),
    "half a character": (lambda parts: sealed(parts | {"texts.jsonl": b'"\\ud800"\n'}), "not JSON"),
    "endless depth": (lambda parts: sealed(parts | {"state.json": b"[" * 1_500}), "not JSON"),
    "a text too deep": (lambda parts: sealed(parts | {"texts.jsonl": b"[" * 150 + b"]" * 150 + b"\n"}), "deeper"),
    "no number": (lambda parts: sealed(parts | {"state.json": b'{"at_ms":NaN}'}), "not JSON"),
    "a number without end":
        (lambda parts: sealed(parts | {"state.json": b'{"at_ms":1' + b"0" * 5000 + b"}"}), "not JSON"),
    "infinity": (lambda parts: sealed(parts | {"state.json": b'{"at_ms":1e999}'}), "too large"),
    "a key twice": (lambda parts: sealed(parts | {"state.json": b'{"at_ms":1,"at_ms":2}'}), "'at_ms' twice"),
    "too many values":
        (lambda parts: sealed(parts | {"state.json": b"[" + b"1," * 9_000_000 + b"1]"}), "values|limit"),
}  # fmt: skip


@pytest.mark.parametrize("case", SHAPES)
def test_a_mangled_file_is_refused_in_one_line(case: str, archive: Path, tmp_path: Path) -> None:
    mangle, reason = SHAPES[case]

    assert re.search(reason, refusal(mangle(parts_of(archive)), tmp_path))


def test_a_part_that_stands_twice_is_refused(archive: Path, tmp_path: Path) -> None:
    parts = parts_of(archive)
    buffer = BytesIO(zipped(parts))
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(buffer, "a") as out:
        out.writestr("state.json", b"{}")

    assert "twice" in refusal(buffer.getvalue(), tmp_path)


def _of(state: dict[str, Any], kind: str, place: int = 0) -> Any:
    return list(state[kind].values())[place]


def _renamed_key(entities: dict[str, Any], old: str, new: str) -> None:
    entities[new] = entities.pop(old)


IDS = ["t1", "t2", "a1", "s1", "r1"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(IDS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
FINISHED: dict[str, Any] = {
    "id": "r5", "supervisor_id": "s1", "title": "", "request": "", "status": "done", "output": "", "error": None,
    "strategy": "", "tasks": 0, "done": 0, "failed": 0, "usage": {}, "started_ms": 0, "ended_ms": 0, "seq": 0,
}  # fmt: skip
MEANINGS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "an unknown field": lambda s: s.update(more=1),
    "an unknown field of a task": lambda s: _of(s, "tasks").update(more=1),
    "text for a number": lambda s: _of(s, "tasks").update(created_ms="1"),
    "a truth for a number": lambda s: _of(s, "tasks").update(created_ms=True),
    "an unknown status": lambda s: _of(s, "tasks", 1).update(status="resting"),
    "a task at work": lambda s: _of(s, "tasks", 2).update(status="running"),
    "an attempt":
        lambda s: _of(s, "tasks", 2).update(attempt={"number": 1, "agent_id": "a2", "generation": 1, "started_ms": 1}),
    "a seq": lambda s: s.update(seq=5),
    "trust": lambda s: s.update(trusted={"crew:ada": None}),
    "an engine": lambda s: s.update(engine={"pid": 1, "token": 1, "version": "", "started_ms": 1}),
    "outcomes of commands": lambda s: s.update(commands={"c1": {"status": "applied", "seq": 1}}),
    "an id under another": lambda s: _renamed_key(s["agents"], "a1", "a9"),
    "an id of another kind": lambda s: _of(s, "agents").update(id="t1"),
    "an agent that is nowhere": lambda s: _of(s, "supervisors")["members"].append("a7"),
    "an agent twice": lambda s: _of(s, "supervisors")["members"].append("a1"),
    "an agent that is nobody's": lambda s: _of(s, "supervisors")["members"].remove("a1"),
    "an agent of an unknown supervisor": lambda s: _of(s, "agents").update(supervisor_id="s9"),
    "two members of one name": lambda s: _of(s, "agents").update(name="bob"),
    "no name": lambda s: _of(s, "agents").update(name="[@click=app.bell]x[/]"),
    "no name of a supervisor": lambda s: _of(s, "supervisors").update(name="\x1b[2J"),
    "an unknown strategy": lambda s: _of(s, "supervisors").update(mode="guess"),
    "an unknown aggregation": lambda s: _of(s, "supervisors").update(aggregation="guess"),
    "no slots": lambda s: _of(s, "supervisors").update(max_parallel=0),
    "a supervisor under itself": lambda s: _of(s, "supervisors").update(parent_id="s1", members=["a1", "a2", "s1"]),
    "a supervisor under nobody": lambda s: _of(s, "supervisors").update(parent_id="s9"),
    "a spec under another hash": lambda s: _of(s, "specs").update(run="os:system"),
    "a spec that is not there": lambda s: _of(s, "agents").update(spec="0" * 16),
    "an unknown field of a spec": lambda s: _of(s, "specs").update(pickle="x"),
    "a registry without the spec": lambda s: s["registry"].update(ada="0" * 16),
    "generation 0": lambda s: _of(s, "agents").update(generation=0),
    "a count below 0": lambda s: _of(s, "agents").update(done=-1),
    "a time below 0": lambda s: _of(s, "tasks").update(created_ms=-1),
    "a number beyond measure": lambda s: _of(s, "tasks").update(created_ms=2**60),
    "a time after all clocks": lambda s: _of(s, "tasks", 1).update(ended_ms=2**52),
    "a cost without end": lambda s: s.update(usage={"cost_usd": "1E+999999"}),
    "more cached than given": lambda s: s.update(usage={"tokens_in": 3, "tokens_cached": 4}),
    "a track record of nothing": lambda s: _of(s, "agents").update(track_record={"research": {"done": 2**60}}),
    "a track record below 0": lambda s: _of(s, "agents").update(track_record={"x": {"done": 1}, "y": {"done": -1}}),
    "a cost that is none": lambda s: s.update(usage={"cost_usd": "NaN"}),
    "no queue of its own": lambda s: _of(s, "agents").update(queues=[]),
    "a queue of an unknown kind":
        lambda s: s["queues"].update({"x:a1": {"key": "x:a1", "supervisor_id": "s1", "agents": []}}),
    "a queue that is gone": lambda s: s["queues"].pop("agent:a2"),
    "a queue of nobody": lambda s: s["queues"]["agent:a1"].update(agents=[]),
    "a queue that is served by all": lambda s: s["queues"]["agent:a1"]["agents"].append("a2"),
    "a task of no run": lambda s: _of(s, "tasks", 1).update(run_id="r9"),
    "a task too many": lambda s: _of(s, "runs")["tasks"].update(t9=None),
    "a task too few": lambda s: _of(s, "runs")["tasks"].pop("t3"),
    "no graph": lambda s: _of(s, "runs").update(root_id="t2"),
    "a run of no supervisor": lambda s: _of(s, "runs").update(supervisor_id="s9"),
    "a wrong count of done": lambda s: _of(s, "runs").update(done=2),
    "a wrong count of all": lambda s: _of(s, "runs").update(total=7),
    "a wrong count of open": lambda s: _of(s, "tasks").update(open=0),
    "a wrong count of blockers": lambda s: _of(s, "tasks", 2).update(blockers=1),
    "a child that is not there": lambda s: _of(s, "tasks")["children"].append("t9"),
    "a child twice": lambda s: _of(s, "tasks")["children"].append("t2"),
    "a task that is its own child": lambda s: _of(s, "tasks", 1).update(parent_id="t2", children=["t2"]),
    "a circle": lambda s: (_of(s, "tasks", 1).update(after=["t3"], before=["t3"], blockers=1, status="waiting"),
                           _of(s, "tasks", 2).update(after=["t2"], before=["t2"], blockers=1)),
    "after a task elsewhere": lambda s: _of(s, "tasks", 2).update(after=["t1"], blockers=1),
    "before a task that does not wait": lambda s: _of(s, "tasks", 2).update(before=["t2"]),
    "a call of nobody": lambda s: _of(s, "tasks", 2).update(call_key="k1"),
    "a call for a task elsewhere": lambda s: _of(s, "tasks", 2).update(
        calls={"k": {"key": "k", "kind": "map", "children": ["t2"], "open": 0}}),
    "a retry without a timer": lambda s: _of(s, "tasks", 2).update(status="retrying"),
    "a timer of nobody": lambda s: s.update(
        timers={"retry:t9": {"id": "retry:t9", "due_ms": 1, "kind": "retry", "subject": "t9"}}
    ),
    "a queue that does not exist": lambda s: _of(s, "tasks", 2).update(queue="agent:a9"),
    "a text that is not there": lambda s: _of(s, "runs").update(request={"seq": 0, "path": "texts.3"}),
    "a text of another event": lambda s: _of(s, "runs").update(request={"seq": 4, "path": "texts.0"}),
    "a text by another way": lambda s: _of(s, "runs").update(request={"seq": 0, "path": "state.specs"}),
    "an output elsewhere": lambda s: _of(s, "tasks").update(outcome_id="t1"),
    "an open run that has finished": lambda s: s.update(finished=[FINISHED | {"status": "running"}]),
    "a finished run of another journal": lambda s: s.update(finished=[FINISHED | {"seq": 7}]),
    "a finished run that is open too": lambda s: s.update(finished=[FINISHED | {"id": "r1"}]),
    "too many finished runs": lambda s: s.update(finished=[FINISHED | {"id": f"r{n}"} for n in range(5, 300)]),
    "ids of an unknown kind": lambda s: s["minted"].update(z=1),
    "a graph in doubt": lambda s: _of(s, "tasks").update(status="in_doubt"),
    "a graph that was made to wait": lambda s: _of(s, "tasks").update(status="preempted"),
    "a graph that has ended in an open run": lambda s: _of(s, "tasks").update(status="done", ended_ms=5),
    "a graph under way with nothing open": lambda s: (
        _of(s, "tasks", 2).update(status="cancelled", ended_ms=5), _of(s, "tasks").update(open=0),
        _of(s, "runs").update(ended=2)),
    "an agent's task of another kind": lambda s: (_of(s, "tasks", 2).update(kind="check"),
                                                  _of(s, "runs").update(total=1)),
    "a question to nobody": lambda s: _of(s, "tasks", 2).update(escalation_id="e1"),
    "a call without a question": lambda s: _of(s, "tasks", 2).update(calling={"pay:1": "pay"}),
    "a doubt without a question": lambda s: _of(s, "tasks", 2).update(status="in_doubt"),
    "a held task without a question": lambda s: _of(s, "tasks", 2).update(held=True),
    "a held run without a question": lambda s: _of(s, "runs").update(held=True),
    "a held agent without a question": lambda s: _of(s, "agents").update(held=True),
    "a task twice before another": lambda s: _of(s, "tasks", 1).update(before=["t3", "t3"]),
    "what is worked out of a task": lambda s: _of(s, "tasks", 2).update(held_back=True),
    "what is worked out of a run": lambda s: _of(s, "runs").update(running=1),
    "what is worked out of the state": lambda s: s.update(urgent_to=0),
    "a question without answers": lambda s: _with_question(s, options=[]),
    "a question of an unknown kind": lambda s: _with_question(s, kind="guess"),
    "a question about another run": lambda s: _with_question(s, run_id=None),
    "a default that is no answer": lambda s: _with_question(s, default="maybe"),
    "an open circuit that never closes": lambda s: _of(s, "agents").update(circuit="open", cool_s=1.0),
    "an agent that was sent away with work": lambda s: _of(s, "agents", 1).update(removing="abort"),
    "a task that is cancelled and waits": lambda s: _of(s, "tasks", 2).update(cancelling=True),
    "settings that no command takes":
        lambda s: _of(s, "supervisors").update(options={"settings": {"wishes": 3}}),
    "a pattern that runs away":
        lambda s: _of(s, "tasks").update(settings={"branches": [{"when": {"matches": "(a{99}){99}"}}]}),
}  # fmt: skip


def _with_question(state: dict[str, Any], **fields: Any) -> None:
    question = {"id": "e1", "kind": "failure", "subject": "t3", "run_id": "r1", "question": "?", "options": ["retry"],
                "default": None, "due_ms": None, "asked_ms": 1}  # fmt: skip
    state["escalations"] = {"e1": question | fields}
    _of(state, "tasks", 2).update(escalation_id="e1")


@pytest.mark.parametrize("case", MEANINGS)
def test_a_state_that_contradicts_itself_is_refused_in_one_line(case: str, archive: Path, tmp_path: Path) -> None:
    line = refusal(with_state(archive, MEANINGS[case]), tmp_path)

    assert "cannot be imported" in line
    assert "manifest" not in line
    assert line.isprintable()


def test_supervisors_above_each_other_without_end_are_refused(archive: Path, tmp_path: Path) -> None:
    def tower(state: dict[str, Any]) -> None:
        for number in range(2, 80):
            state["supervisors"][f"s{number}"] = {
                "id": f"s{number}",
                "name": "n",
                "mode": "parallel",
                "parent_id": f"s{number - 1}",
            }
            state["supervisors"][f"s{number - 1}"].setdefault("members", []).append(f"s{number}")

    assert "below 64 levels" in refusal(with_state(archive, tower), tmp_path)


def test_an_archive_that_another_tool_wrote_again_is_the_same(archive: Path, tmp_path: Path) -> None:
    parts = parts_of(archive)
    blanks = {
        name: json.dumps(json.loads(body), indent=2, ensure_ascii=True).encode()
        for name, body in parts.items()
        if name != "texts.jsonl"
    }
    path = tmp_path / "again.zip"
    path.write_bytes(sealed(parts | blanks))

    assert read_archive(path).body == read_archive(archive).body


def test_an_archive_from_before_unpriced_amounts_is_read() -> None:
    found = read_archive(Path(__file__).with_name("archive_without_unpriced.zip"))

    assert found.state.agents
    assert b'"unpriced":false' in found.body


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_change_of_bytes_makes_anything_but_an_archive_or_one_refusal(
    data: st.DataObject, archive: Path, tmp_path: Path
) -> None:
    body = bytearray(archive.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))

    _is_refused_or_read(bytes(body), tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_change_of_a_value_makes_anything_but_an_archive_or_one_refusal(
    data: st.DataObject, archive: Path, tmp_path: Path
) -> None:

    def change(state: dict[str, Any]) -> None:
        entity = data.draw(st.sampled_from([each for kind in state.values() if isinstance(kind, dict)
                                            for each in kind.values() if isinstance(each, dict)]))  # fmt: skip
        entity[data.draw(st.sampled_from(sorted(entity)))] = data.draw(VALUES)

    _is_refused_or_read(with_state(archive, change), tmp_path)


def _is_refused_or_read(body: bytes, folder: Path) -> None:
    path = folder / "fuzzed.zip"
    path.write_bytes(body)
    line = ""
    try:
        read_archive(path)
    except ImportRefused as refused:
        line = str(refused)
    assert "\n" not in line


@pytest.mark.parametrize("text", ["1", '"a"', "[1,2.5]", ' {"a": [null, true]} ', '{"é":"\\u00e9"}', "-0", "1e5", "[]"])
def test_json_that_can_be_believed_is_read_as_everybody_reads_it(text: str) -> None:
    assert strict_json(text.encode()) == json.loads(text)


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_bytes_are_strict_json_or_refused(body: bytes) -> None:
    line = ""
    try:
        strict_json(body)
    except NotStrict as error:
        line = str(error)
    assert "\n" not in line


def test_a_checksum_that_fits_a_torn_part_is_still_not_enough(archive: Path, tmp_path: Path) -> None:
    parts = parts_of(archive)
    torn = parts["state.json"].replace(b'"done"', b'"dome"', 1)

    assert zlib.crc32(torn) != zlib.crc32(parts["state.json"])
    assert "changed after" in refusal(zipped(parts | {"state.json": torn}), tmp_path)
