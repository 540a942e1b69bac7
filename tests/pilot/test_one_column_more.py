"""A new column is one line in the file of its list: nothing else is touched."""

from pathlib import Path

from tests.copies import run_on_copy

COLUMN = """    Column("LETTERS", 8, right=True, meaning="how many letters a name has",
           cell=lambda row: Cell(str(len(row.agent.name))), order=Order("letters", lambda agent, _: -len(agent.name))),
"""


def test_one_line_is_a_column_on_the_screen_and_in_the_shell_that_sorts_and_is_explained(tmp_path: Path) -> None:
    def add_column(product: Path) -> None:
        file = product / "dashboard" / "views" / "agents.py"
        file.write_text(file.read_text().replace('    Column("GEN"', f'{COLUMN}    Column("GEN"', 1))

    run_on_copy(tmp_path, add_column, "tests/pilot/one_column_more.py", "tests/unit/test_sorting.py")
