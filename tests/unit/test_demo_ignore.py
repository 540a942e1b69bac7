import subprocess
import time
from pathlib import Path

from dashboard.demo.history import ignored_by_git
from dashboard.demo.walk import walk

PATTERNS = """
*.py
/a.py
a/
a
a/b
/a/b/
**/b
a/**
a/**/c.py
**
*
?.py
[ab].py
[!a].py
[^a].py
\\*.py
\\#x
#x
!a.py
*.py !a.py
a/* !a/b
b/**/
 a.py
a.py\\
foo*bar
**a
x**y
a/b/c.py
**/b/c.py
/**/c.py
*/c.py
"""
FILES = ("a.py", "b.py", "*.py", "#x", "a/a.py", "a/b/c.py", "b/c.py", "b/a/c.py", "foo1bar", "xzy", "c")


def lay_out(folder: Path) -> list[str]:
    rules = [line for line in PATTERNS.splitlines() if line]
    for at, rule in enumerate(rules):
        for name in FILES:
            path = folder / f"{at:02}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
        text = rule.replace(" !", "\n!") + "\n"
        (folder / f"{at:02}" / ".gitignore").write_text(text)
    return rules


def test_our_reading_of_gitignore_is_that_of_git(tmp_path: Path) -> None:
    rules = lay_out(tmp_path)
    ours = walk(tmp_path).names()
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)
    assert ignored_by_git(tmp_path)

    by_git = walk(tmp_path).names()

    for at, rule in enumerate(rules):
        prefix = f"{at:02}/"
        assert [n for n in ours if n.startswith(prefix)] == [n for n in by_git if n.startswith(prefix)], rule


def test_a_hostile_pattern_costs_no_more_than_a_friendly_one(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a" * 60 + "b\n" + "**/" * 60 + "z\n")
    (tmp_path / ("a" * 200)).write_text("x")
    started = time.process_time()

    assert walk(tmp_path).names() == [".gitignore", "a" * 200]

    assert time.process_time() - started < 2
