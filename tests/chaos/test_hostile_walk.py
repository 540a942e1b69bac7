"""The long walk over a dashboard full of hostile text: every action from several screens, and lines of a megabyte."""

from pathlib import Path

import pytest

from tests.pilot.test_hostile_terminal import assert_clean, made


@pytest.mark.chaos_long
def test_lines_of_a_megabyte_and_every_action_reach_the_terminal_as_clean_text(tmp_path: Path) -> None:
    assert_clean(made(tmp_path, "trouble"), everything=True, least=250)
