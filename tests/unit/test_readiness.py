"""What an engine that stands by has read of a database."""

from pathlib import Path

import pytest

from dashboard.cli.engines import readiness
from dashboard.cli.engines.readiness import Readiness
from engine.core.errors import CoreError
from engine.trusted_code.trust import TrustList
from store import Reader, StoreError
from tests.databases import busy_world, write_database


def test_a_file_that_cannot_be_folded_is_closed_after_each_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Reader] = []

    def broken(reader: Reader) -> None:
        opened.append(reader)
        raise CoreError("an event that this version does not know")

    monkeypatch.setattr(readiness, "fold_from", broken)
    monkeypatch.chdir(tmp_path)

    db = write_database(tmp_path / "team.db", busy_world().journal)
    Readiness(db, TrustList(tmp_path / "trust.json")).look()

    with pytest.raises(StoreError, match="closed"):
        opened[0].newest_ms()
