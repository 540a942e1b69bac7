"""What earlier programs wrote is read as it was: journals, a database, commands and archives of `corpus/`.

Each journal is folded, and its state compared at every 25th event (`corpus/states.txt`) and at its end, where the whole
state is kept (`NAME.state.gz`). With UPDATE_GOLDEN=1 these states are written anew, which is right only where the fold
is meant to make another state of an old journal; the journals, commands and archives themselves never change.
"""

import gzip
import json
import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from engine.archive import read_archive
from engine.core.commands import COMMAND_KINDS
from engine.core.encoding.codec import (
    decode_command,
    decode_events,
    decode_state,
    encode_command,
    encode_event,
    encode_state,
)
from engine.core.events import KINDS
from engine.core.fold import fold
from engine.core.specs.spec import spec_hash
from engine.core.state import State
from engine.reading.folding import fold_file
from store.journals.verification import verify
from tests.contract.corpus.reading import FOLDER, commands_in, journals, kind_of_row

EVERY = 25
"""Events between two states that are compared."""
STATES = FOLDER / "states.txt"
MOST_SHOWN = 12


def test_every_kind_of_event_is_in_a_journal() -> None:
    kinds = {kind_of_row(row) for rows in journals().values() for row in rows}

    assert kinds == set(KINDS), "run tests/contract/corpus/make.py"


@pytest.mark.parametrize("name", journals())
def test_a_journal_of_an_earlier_program_makes_the_same_states(name: str) -> None:
    rows = [(seq, kind_of_row(row), row[-1].encode()) for seq, row in enumerate(journals()[name], 1)]
    events, state, states = decode_events(rows), State(), []
    for seq, event in enumerate(events, 1):
        fold(state, [event])
        if seq % EVERY == 0:
            states.append(f"{name} {seq} {digest(encode_state(state))}")

    changed = [body for event, (*_, body) in zip(events, rows, strict=True) if not says_all(encode_event(event), body)]
    assert not changed
    assert [spec_hash(spec) for spec in state.specs.values()] == [*state.specs]
    check_state(name, state)
    check_digests(name, states)


def test_the_database_of_an_earlier_demo_is_opened_and_has_the_same_state(tmp_path: Path) -> None:
    path = tmp_path / "demo.db"
    path.write_bytes(gzip.decompress((FOLDER / "demo.db.gz").read_bytes()))

    assert verify(path).ok
    check_state("demo", fold_file(path))


@pytest.mark.parametrize("kind", sorted(COMMAND_KINDS))
def test_a_command_of_an_earlier_program_is_read_whole(kind: str) -> None:
    bodies = [body for other, body in commands_in() if other == kind]

    assert bodies, "run tests/contract/corpus/make.py"
    assert all(says_all(encode_command(decode_command(kind, body.encode())), body.encode()) for body in bodies)


@pytest.mark.parametrize("name", ["team", "history"])
def test_an_archive_of_an_earlier_program_is_believed_and_has_the_same_state(name: str) -> None:
    archive = read_archive(FOLDER / f"{name}.zip")

    check_state(f"archive-{name}", archive.state)


def says_all(body: bytes, earlier: bytes) -> bool:
    """Return whether a record says what an earlier program wrote; fields that are new since may stand beside it."""
    return body == earlier or _has_all(json.loads(body), json.loads(earlier))


def _has_all(value: Any, earlier: Any) -> bool:
    if isinstance(value, dict) and isinstance(earlier, dict):
        return all(key in value and _has_all(value[key], part) for key, part in earlier.items())
    if isinstance(value, list) and isinstance(earlier, list):
        return len(value) == len(earlier) and all(map(_has_all, value, earlier))
    return type(value) is type(earlier) and bool(value == earlier)


def digest(state: bytes) -> str:
    return blake2b(state, digest_size=8).hexdigest()


def check_state(name: str, state: State) -> None:
    """Compare a state with the one that is kept, and say where they differ."""
    found, path = encode_state(state), FOLDER / f"{name}.state.gz"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_bytes(gzip.compress(found, mtime=0))
    kept = gzip.decompress(path.read_bytes())

    places = [*differences(json.loads(kept), json.loads(found))][:MOST_SHOWN]
    assert not places, "\n".join([f"the state of {name}:", *places])
    assert found == kept, f"the state of {name} has its keys in another order, which changes the hash of archives"
    assert encode_state(decode_state(kept)) == kept


def check_digests(name: str, states: list[str]) -> None:
    """Compare the states on the way with those that are kept; the first that differs is where to look."""
    others = [line for line in lines_of(STATES) if line.split()[0] != name]
    if os.environ.get("UPDATE_GOLDEN"):
        STATES.write_text("".join(f"{line}\n" for line in sorted([*others, *states])), encoding="utf-8")

    assert [line for line in lines_of(STATES) if line.split()[0] == name] == sorted(states)


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def differences(kept: Any, found: Any, at: str = "state") -> Iterator[str]:
    """Yield the places at which two JSON values differ, each with what was and what is."""
    if isinstance(kept, dict) and isinstance(found, dict):
        for key in dict.fromkeys([*kept, *found]):
            yield from differences(kept.get(key, "nothing"), found.get(key, "nothing"), f"{at}.{key}")
    elif isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        for place, (one, other) in enumerate(zip(kept, found, strict=True)):
            yield from differences(one, other, f"{at}[{place}]")
    elif kept != found:
        yield f"  {at}: was {json.dumps(kept)[:100]}, is {json.dumps(found)[:100]}"


def test_a_state_that_differs_is_told_by_its_places() -> None:
    kept, found = {"agents": {"a1": {"done": 1}}, "seq": 4}, {"agents": {"a1": {"did": 1}}, "seq": 5}

    assert [*differences(kept, found)] == [
        '  state.agents.a1.done: was 1, is "nothing"',
        '  state.agents.a1.did: was "nothing", is 1',
        "  state.seq: was 4, is 5",
    ]
