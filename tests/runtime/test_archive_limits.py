"""Archives that are large, hostile or for a team at work: a child pays for them, and nobody waits for them."""

import hashlib
import json
import random
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine.archive import ImportRefused, export_archive, plan_import
from engine.archive.cutting import PIECE_BYTES
from engine.archive.importing import Allowance, open_pieces
from engine.archive.manifest import MAX_BYTES, MAX_COUNTS, MAX_COUNTS_AT_WORK, limit_exceeded
from engine.archive.reading import Contents
from engine.core.commands import ImportState, Ping, Submit
from engine.core.documents.document import MAX_FLAT_VALUES
from engine.core.encoding.codec import encode_command
from engine.core.encoding.strict_json import MAX_FOREIGN_VALUES, NotStrict, check_values
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.errors import CommandRefusedError
from engine.trusted_code.trust import TrustList, grant
from store import CommandRow, InboxClient
from tests.databases import write_database
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, running, soon
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio

HOST: dict[str, Any] = {}
RUNS = 300


async def echo(text: str) -> str:
    return text


ECHO = AgentSpec(name="echo", run=echo)


@pytest.fixture(autouse=True)
def _trusted(archive: Path, tmp_path: Path) -> None:
    """Let the engines of a test import what the archive names."""
    HOST.update(allowed=TrustList(tmp_path / "trust.json"), folder=tmp_path)
    references = ["crew:ada", "crew:bob"]
    grant(HOST["allowed"], references, State(), db=tmp_path / "there.db", path=archive, sha256="")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A team with many open runs, some with long requests, in an archive of several parts."""
    world = team_world(agent("ada", "parse"), agent("bob", "write"))
    for number in range(RUNS):
        world.order(Submit(request=f"request {number} " + "in many words " * (number % 40)))
    database = write_database(tmp_path_factory.mktemp("large") / "team.db", world.journal)
    return export_archive(database, database.with_name("team.zip")).path


def command(archive: Path) -> ImportState:
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    return ImportState(path=str(archive), sha256=sha256)


def resealed(archive: Path, target: Path, *, counts: dict[str, int] | None = None, **parts: bytes) -> Path:
    """Write an archive anew with other parts, or another claim of how much it holds."""
    with zipfile.ZipFile(archive) as opened_zip:
        found = {name: opened_zip.read(name) for name in opened_zip.namelist()} | {
            name.replace("_", "."): body for name, body in parts.items()
        }
    manifest = json.loads(found.pop("manifest.json"))
    manifest["parts"] = {name: hashlib.sha256(body).hexdigest() for name, body in found.items()}
    manifest["counts"] |= counts or {}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("manifest.json", json.dumps(manifest))
        for name, body in found.items():
            out.writestr(name, body)
    return target


def refusal(path: Path, *, at_work: bool = False, **allowed: Any) -> str:
    with (
        pytest.raises(ImportRefused) as refused,
        open_pieces(path, None, at_work=at_work, allowance=Allowance(**allowed)) as pieces,
    ):
        next(pieces)
    return str(refused.value)


async def asked(engine: Engine) -> int:
    """Let the engine answer once, and return the seq of the answer."""
    return (await engine.host.order(Ping())).seq


async def test_a_team_at_work_takes_an_archive_in_between_other_commands(archive: Path, tmp_path: Path) -> None:
    answers: list[int] = []
    async with running(ECHO, path=tmp_path / "there.db", host=HOST) as there:

        async def ask_at_every_part() -> None:
            with there.host.subscribe() as events:
                async for _, event in events:
                    if event.type == "part_imported":
                        answers.append(await asked(there))
                    elif event.type == "state_imported":
                        return

        async with anyio.create_task_group() as group:
            group.start_soon(ask_at_every_part)
            await anyio.wait_all_tasks_blocked()
            applied = await there.host.order(command(archive))
        journal = await there.journal()

    parts = [record for record in journal if record.kind == "part_imported"]
    (whole,) = (record for record in journal if record.kind == "state_imported")
    assert applied.result["runs"] == RUNS
    assert len(parts) > 5
    assert max(len(part.body) for part in parts) < 2 * PIECE_BYTES
    assert sum(seq < whole.seq for seq in answers) >= len(parts) - 1


async def test_what_comes_in_by_parts_has_its_texts_and_goes_on(archive: Path, tmp_path: Path) -> None:
    async with running(ECHO, path=tmp_path / "there.db", host=HOST) as there:
        await there.host.order(command(archive))

        requests = [str(await there.host.text(run.request)) for run in there.state.runs.values()]

        assert sorted(requests) == sorted(
            f"request {number} " + "in many words " * (number % 40) for number in range(RUNS)
        )
        assert {root.name for root in there.state.roots} == {"team", "chief"}


async def test_an_engine_that_ends_in_the_middle_leaves_nothing_and_the_next_one_takes_it_in(
    archive: Path, tmp_path: Path
) -> None:
    path = tmp_path / "there.db"
    async with running(ECHO, path=path, host=HOST) as there:
        with InboxClient(path) as inbox:
            wanted = command(archive)
            inbox.put(CommandRow("import", "import_state", encode_command(wanted), "test", "operator", 1))
        await there.until(lambda state: state.incoming is not None and bool(state.incoming.state.tasks))

    async with running(path=path, host=HOST) as after:
        assert after.state.supervisors.keys() == {"s1"}
        await after.until(lambda state: "import" in state.commands)

        assert len(after.state.runs) == RUNS
        assert after.state.commands["import"].status == "applied"


async def test_a_refusal_is_in_the_journal_and_the_next_engine_does_not_read_the_archive_again(
    archive: Path, tmp_path: Path
) -> None:
    path = tmp_path / "there.db"
    large = resealed(archive, tmp_path / "large.zip", counts={"tasks": MAX_COUNTS["tasks"] + 1})
    async with running(ECHO, path=path, host=HOST) as there:
        with InboxClient(path) as inbox:
            inbox.put(CommandRow("import", "import_state", encode_command(command(large)), "test", "operator", 1))
        await there.until(lambda state: "import" in state.commands)

        (refused,) = [json.loads(one.body) for one in await there.journal("command_refused")]
        assert refused["code"] == "import_refused"
        assert "an archive holds up to" in refused["reason"]

    async with running(path=path, host=HOST) as after:
        assert after.state.commands["import"].status == "refused"
        assert not await after.journal("import_began")


async def test_a_team_at_work_refuses_more_than_it_takes_in_and_says_where_it_can_go(
    archive: Path, tmp_path: Path
) -> None:
    claims = resealed(archive, tmp_path / "large.zip", counts={"runs": MAX_COUNTS_AT_WORK["runs"] + 1})
    async with running(ECHO, path=tmp_path / "there.db", host=HOST) as there:
        with pytest.raises(CommandRefusedError, match="import it into a file of its own: quarterdeck import FILE --db"):
            await there.host.order(command(claims))


@pytest.mark.parametrize("kind", MAX_COUNTS_AT_WORK)
def test_so_much_of_each_kind_is_taken_in_and_no_more(kind: str) -> None:
    most = MAX_COUNTS_AT_WORK[kind]

    assert limit_exceeded({kind: most}, at_work=True) is None
    assert limit_exceeded({kind: most + 1}, at_work=False) is None
    said = limit_exceeded({kind: most + 1}, at_work=True)
    assert said is not None
    assert f"holds {most + 1:,} {kind}" in said


def test_what_is_claimed_is_refused_before_anything_is_parsed(archive: Path, tmp_path: Path) -> None:
    claims = resealed(
        archive, tmp_path / "a.zip", counts={"tasks": MAX_COUNTS["tasks"] + 1}, state_json=b"not even JSON"
    )

    assert f"holds {MAX_COUNTS['tasks'] + 1:,} tasks" in refusal(claims)


def test_values_are_counted_over_all_parts(archive: Path, tmp_path: Path) -> None:
    half = b"[" + b'"~%d",' * 2_100_000 % tuple(range(2_100_000)) + b"0]"
    both = resealed(archive, tmp_path / "a.zip", state_json=half, texts_jsonl=half + b"\n")

    assert "more than 4,000,000 values" in refusal(both)


def test_texts_and_foreign_writing_hold_fewer_values(archive: Path, tmp_path: Path) -> None:
    many = b"[" + b"".join(b"[%d]," % number for number in range(MAX_FOREIGN_VALUES // 2)) + b"[]]"
    texts = resealed(archive, tmp_path / "texts.zip", texts_jsonl=many + b"\n")
    spaced = resealed(archive, tmp_path / "spaced.zip", state_json=many.replace(b",", b", ", 1))

    for path in (texts, spaced):
        assert f"more than {MAX_FOREIGN_VALUES:,} values" in refusal(path)


def test_a_text_is_one_value_whatever_it_holds() -> None:
    prose = b'"' + b"well, [so] {it} goes, " * (MAX_FOREIGN_VALUES // 2) + b'"\n'

    check_values((), MAX_FOREIGN_VALUES, texts=prose * 2)
    with pytest.raises(NotStrict, match="values"):
        check_values((), MAX_FOREIGN_VALUES, texts=prose * 2 + prose.strip(b'"'))


def test_a_plain_map_of_a_state_is_counted_before_it_is_built(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as opened_zip:
        state = json.loads(opened_zip.read("state.json"))
    state["registry"] = {f"agent {number}": "x" for number in range(MAX_FLAT_VALUES + 1)}
    large = resealed(archive, tmp_path / "large.zip", state_json=json.dumps(state).encode())

    assert f"its registry holds more than {MAX_FLAT_VALUES:,} values" in refusal(large)


def test_no_more_than_a_hundred_megabytes_are_unpacked(archive: Path, tmp_path: Path) -> None:
    sparse = b"".join(random.randbytes(100) + bytes(9_900) for _ in range(10_001))
    large = resealed(archive, tmp_path / "a.zip", texts_jsonl=sparse)

    assert large.stat().st_size < MAX_BYTES
    assert "unpacks to more than 100 MB" in refusal(large)


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        ({"memory_bytes": 60_000_000}, "needs more than 60 MB of memory"),
        ({"cpu_s": 0}, "needs more than 0 s of work"),
        ({"longest_s": 0.0}, "was not read within 0 s"),
    ],
)
def test_a_child_that_needs_too_much_is_ended_and_says_so_in_one_line(
    allowed: dict[str, Any], said: str, archive: Path
) -> None:
    line = refusal(archive, at_work=True, **allowed)

    assert said in line
    assert "\n" not in line


async def test_an_import_that_is_given_up_leaves_no_process_behind(archive: Path) -> None:
    with open_pieces(archive, None, at_work=True) as pieces:
        held = next(pieces)
        assert isinstance(held, Contents)
        assert held.counts["runs"] == RUNS
        children = children_of_this_process()

    assert await soon(lambda: gone(children))


def test_a_child_ends_where_its_reader_is_gone_although_it_could_go_on(archive: Path) -> None:
    program = [sys.executable, "-P", "-m", "engine.archive.child", "1000000000", "60", str(archive), "", "yes"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.read(1)  # then it waits: there is more than a pipe holds
        child.stdin.close()
        assert child.wait(PATIENCE_S) == 1


def children_of_this_process() -> set[str]:
    return {path.parent.name for path in Path("/proc").glob("[0-9]*/stat") if _is_reading(path)}


async def gone(children: set[str]) -> bool:
    return not any(_is_reading(Path("/proc") / child / "stat") for child in children)


def _is_reading(stat: Path) -> bool:
    try:
        return b"engine.archive.child" in (stat.parent / "cmdline").read_bytes()
    except OSError:
        return False


def test_a_plan_for_a_team_at_work_says_where_too_much_can_go(archive: Path, tmp_path: Path) -> None:
    here = write_database(tmp_path / "here.db", team_world(agent("ada", "other")).journal)
    claims = resealed(archive, tmp_path / "large.zip", counts={"agents": MAX_COUNTS_AT_WORK["agents"] + 1})

    with pytest.raises(ImportRefused, match="into a file of its own"):
        plan_import(claims, here)
