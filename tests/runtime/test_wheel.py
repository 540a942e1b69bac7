"""What is installed is what stands here: every package, typed, with the command."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dashboard", "engine", "quarterdeck", "store")


def test_the_wheel_holds_every_package_and_the_command(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        (commands,) = (archive.read(name).decode() for name in held if name.endswith("entry_points.txt"))

    ours = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    page = {path.relative_to(ROOT).as_posix() for path in (ROOT / "dashboard/web/page").iterdir()}
    assert ours | page | {f"{package}/py.typed" for package in PACKAGES} <= held
    assert {name.partition("/")[0] for name in held} - set(PACKAGES) == {"quarterdeck-0.1.0.dist-info"}
    assert "quarterdeck = dashboard.__main__:main" in commands
    assert f"pipx install dist/{wheel.name}\n" in (ROOT / "README.md").read_text(encoding="utf-8")
