"""Numbers on the command line that no range holds."""

from pathlib import Path

import pytest

from dashboard.cli import main


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["simulate", "--hours", "nan"], "'--hours': 'nan' is not a number"),
        (["engine", "--standby", "--takeover-after", "nan"], "'--takeover-after': 'nan' is not a number"),
        (["pause", "x", "--timeout", "NaN"], "'--timeout': 'NaN' is not a number"),
        (["run", "x", "--max-cost", "-nan"], "'--max-cost': '-nan' is not a number"),
        (["events", "--limit", "9" * 20], f"'--limit' / '-n': {'9' * 20} is not in the range 1<=x<=1000000000"),
    ],
)
def test_a_number_that_is_none_or_too_large_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(words) == 2
    assert capsys.readouterr().err == f"quarterdeck: invalid value for {told}; see: quarterdeck {words[0]} --help\n"
