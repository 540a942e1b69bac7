"""What is said in the shell once the dashboard is closed."""

from pathlib import Path

import pytest

from dashboard.cli.screen import say_how_to_reopen
from tests.pilot.scene import audit, written


def test_a_database_that_was_chosen_in_the_dashboard_is_named_in_the_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = written(tmp_path / "fork.db", audit())

    say_how_to_reopen(db)
    assert capsys.readouterr() == ("", "")
    say_how_to_reopen(db, chosen_there=True)
    assert f"look:  quarterdeck --db {db}" in "".join(capsys.readouterr())
