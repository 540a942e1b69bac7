"""Agents from the catalogue of the engine's user: added by their id, and kept without the catalogue afterwards."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from engine.archive import export_archive, read_archive
from engine.catalogue.entries import Pack
from engine.catalogue.writer import CatalogueWriter
from engine.core.commands import AddAgent
from engine.core.events import AgentAdded
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.core.state import Origin
from engine.errors import CommandRefusedError
from engine.reading.folding import events_of
from engine.supervisor.client import Client, CommandReply
from engine.trusted_code.trust import TrustList, grant
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, running
from tests.world import agent

pytestmark = pytest.mark.anyio

SCOUT = AgentSpec(name="scout", agent_type="llm", model="openai/gpt-4o", specialties=("survey",))
CODER = AgentSpec(name="coder", run="os:system")


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "catalogue.db"
    monkeypatch.setenv("QUARTERDECK_CATALOGUE", str(path))
    return path


def add_pack(path: Path, *specs: AgentSpec, approve: bool = True) -> list[str]:
    """Add specs to a catalogue and return the ids of their entries."""
    with CatalogueWriter(path, by="tester") as writer:
        (addition,) = writer.add([Pack(name="crew", agents=specs)])
        ids = [*addition.added, *addition.changed]
        if approve:
            writer.approve(ids)
    return ids


async def send(db: Path, command: AddAgent) -> CommandReply:
    """Send a command through the inbox, as another process does, and return its outcome."""
    client = Client(db, sender="tester")
    return await anyio.to_thread.run_sync(partial(client.perform, command, PATIENCE_S))


async def origins(engine: Engine) -> list[Origin | None]:
    """Return the origins of the agents that were added, from the journal."""
    events = events_of(await engine.journal("agent_added"))
    return [event.origin for event in events if isinstance(event, AgentAdded)]


async def test_an_entry_joins_through_the_inbox_and_its_origin_outlives_the_catalogue(
    catalogue: Path, tmp_path: Path
) -> None:
    (entry_id,) = add_pack(catalogue, SCOUT)
    origin = Origin(kind="catalogue", id=entry_id, hash=spec_hash(SCOUT))
    db = tmp_path / "team.db"

    async with running(agent("ada"), path=db) as engine:
        reply = await send(db, AddAgent(catalogue=entry_id, name="guide"))

        assert (reply.status, reply.summary) == ("applied", "added guide under team")
        assert await origins(engine) == [None, origin]
        await engine.host.stop()
    await anyio.Path(catalogue).unlink()

    async with running(path=db) as engine:
        (guide,) = (member for member in engine.state.agents.values() if member.name == "guide")
        assert (engine.state.spec_of(guide), guide.origin) == (SCOUT, origin)
    members = read_archive(export_archive(db, tmp_path / "team.zip").path).state.agents.values()
    assert [member.origin for member in members if member.name == "guide"] == [origin]


def unknown(path: Path) -> str:
    return "c0123456789abcdef"


def unapproved(path: Path) -> str:
    return add_pack(path, SCOUT, approve=False)[0]


def removed(path: Path) -> str:
    (entry_id,) = add_pack(path, SCOUT)
    with CatalogueWriter(path) as writer:
        writer.remove([entry_id])
    return entry_id


def changed(path: Path) -> str:
    add_pack(path, SCOUT)
    (entry_id,) = add_pack(path, AgentSpec(name="scout", agent_type="llm", model="openai/gpt-5"), approve=False)
    return entry_id


def damaged(path: Path) -> str:
    (entry_id,) = add_pack(path, SCOUT)
    path.write_bytes(b"no database" * 1_000)
    return entry_id


CASES = [
    (unknown, "unknown_entry", "no entry 'c0123456789abcdef'"),
    (unapproved, "not_approved", "is not approved; look at it, then: quarterdeck catalogue approve c"),
    (removed, "entry_removed", "was removed from the catalogue"),
    (changed, "not_approved", "is not approved"),
    (damaged, "unusable_catalogue", "the catalogue cannot be used"),
]


@pytest.mark.parametrize(("make", "code", "reason"), CASES, ids=lambda value: getattr(value, "__name__", None))
async def test_what_may_not_be_used_is_refused_in_one_line_to_programs_and_other_processes(
    catalogue: Path, tmp_path: Path, make: Callable[[Path], str], code: str, reason: str
) -> None:
    command = AddAgent(catalogue=make(catalogue))
    db = tmp_path / "team.db"

    async with running(agent("ada"), path=db) as engine:
        with pytest.raises(CommandRefusedError) as refused:
            await engine.host.order(command)
        reply = await send(db, command)

        assert (refused.value.code, reply.code) == (code, code)
        assert reason in refused.value.reason
        assert reply.reason == refused.value.reason
        assert "\n" not in refused.value.reason
        assert [member.name for member in engine.state.agents.values()] == ["ada"]


async def test_a_command_cannot_bring_a_spec_of_its_own_under_the_id_of_an_entry(
    catalogue: Path, tmp_path: Path
) -> None:
    (entry_id,) = add_pack(catalogue, SCOUT)
    db = tmp_path / "team.db"

    async with running(agent("ada"), path=db) as engine:
        reply = await send(db, AddAgent(catalogue=entry_id, spec=CODER))

        assert "by its id alone" in (reply.reason or "")
        assert await origins(engine) == [None]


async def test_code_of_an_approved_entry_is_granted_for_each_database_anew_also_to_a_program(
    catalogue: Path, tmp_path: Path
) -> None:
    (entry_id,) = add_pack(catalogue, CODER)
    allowed = TrustList(tmp_path / "trust.json")
    db = tmp_path / "team.db"

    async with running(agent("ada"), path=db, host={"allowed": allowed, "is_program": True}) as engine:
        with pytest.raises(CommandRefusedError, match=f"os:system; .* add --catalogue {entry_id} --trust"):
            await engine.host.order(AddAgent(catalogue=entry_id))
        grant(allowed, ["os:system"], engine.state, db=db, path=catalogue, sha256=spec_hash(CODER))
        await engine.host.order(AddAgent(catalogue=entry_id))
        assert "os:system" in engine.state.trusted

    async with running(agent("ada"), path=tmp_path / "other.db", host={"allowed": allowed}) as engine:
        with pytest.raises(CommandRefusedError, match="not trusted: os:system"):
            await engine.host.order(AddAgent(catalogue=entry_id))
