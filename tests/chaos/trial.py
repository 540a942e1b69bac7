"""What watches the core is run on copies of the tree, in each of which one mutant stands at a time.

Every test is run once without a mutant, to learn which functions it calls. A mutant is then shown to the tests that
call its function alone: first to a few quick ones that call little besides, which are about it, then to simulated
histories, then to the others. The first that fails ends it. Limits count the time of the processor, so that nothing
is noticed because the computer has other work.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.chaos.calls import FOLDER
from tests.chaos.mutation import CORE, ROOT, Mutant

HISTORIES = """
import logging
from engine.simulation.history import run_history
from engine.simulation.report import plan_of
logging.disable(logging.CRITICAL)
for seed in range(1, {seeds} + 1):
    past = run_history(plan_of(seed, None, hours=3), patience_s=20)
    if past.violation is not None:
        raise SystemExit(f"seed {{seed}}: {{past.violation.law}}: {{past.violation.details}}")
"""
TESTS = (
    "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", "-p", "no:textual-snapshot", "-p", "no:syrupy",
    "-m", "not chaos_long", "--hypothesis-seed=1",
)  # fmt: skip
"""How tests run: laws draw the same for each mutant as for the tree, so that nothing but the mutant is noticed."""
FEW = 60
"""How many tests look at a mutant before the histories do."""
QUICK_S = 0.5
"""How much time of a processor a test takes at most that may be among the first."""
LONGEST_S, TIMES_LONGER = 40, 4
"""How much time of a processor a program may take: so much, and so many times what its tests took without a mutant."""
HISTORY_S = 1
"""How much time of a processor a history takes."""
LARGEST_BYTES = 4 << 30
"""How much address space a program may have; a mutant may add to a list for ever."""
WAIT_S = 900.0
"""How long a program may take in all. A busy computer may come there as well, so nothing is noticed by it."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A test, all values of its parameters together."""

    test: str
    calls: frozenset[str]
    """Functions of the core, each as the file below it and the line where it begins."""
    cpu_s: float


class Trial:
    """Copies of the tree, one for each processor.

    Args:
        folder: Where they are made.
        seeds: How many simulated histories look at each mutant.
    """

    def __init__(self, folder: Path, *, seeds: int) -> None:
        self._seeds = seeds
        self._calls = folder / "calls"
        self._calls.mkdir()
        self._trees = [folder / f"tree{number}" for number in range(os.cpu_count() or 1)]
        _copy(self._trees[0])
        self._witnesses: list[Witness] = []

    def learn(self) -> int:
        """Run everything once on the tree as it is, to learn what each test calls.

        Returns:
            How many tests passed. A test that fails, as one does that needs more than is copied, notices no mutant.
        """
        tree = self._trees[0]
        folders = [str(tree / "tests" / kind) for kind in ("unit", "contract", "meaning")]
        laws = [str(one) for one in sorted(tree.glob("tests/simulation/test_*_laws.py"))]
        parallel = ("-n", str(len(self._trees)), "--dist", "worksteal", "-p", "tests.chaos.calls")
        self._said(tree, (*TESTS, *parallel, *folders, *laws), cpu_s=600, wait_s=3_600)
        broken = self._said(tree, self._histories(), cpu_s=600)
        assert broken is None, broken
        for other in self._trees[1:]:
            shutil.copytree(tree, other)  # with what is compiled: that is half the time of a short program
        for part in self._calls.glob("*.json"):
            for test, seen in json.loads(part.read_text(encoding="utf-8")).items():
                self._witnesses.append(Witness(test, frozenset(seen["calls"]), seen["cpu_s"]))
        self._witnesses.sort(key=lambda one: (one.cpu_s > QUICK_S, len(one.calls), one.test))
        return len(self._witnesses)

    def noticed(self, mutants: Iterable[Mutant]) -> Iterator[tuple[Mutant, str | None]]:
        """Yield each mutant with what notices it, in one line; None where it survives."""
        free: SimpleQueue[Path] = SimpleQueue()
        for tree in self._trees:
            free.put(tree)

        def judged(mutant: Mutant) -> tuple[Mutant, str | None]:
            tree = free.get()
            try:
                return mutant, self._noticed_in(tree, mutant)
            finally:
                free.put(tree)

        with ThreadPoolExecutor(len(self._trees)) as pool:
            yield from pool.map(judged, mutants)

    def _noticed_in(self, tree: Path, mutant: Mutant) -> str | None:
        function = f"{(ROOT / mutant.path).relative_to(CORE)}:{mutant.function}"
        able = [one for one in self._witnesses if function in one.calls] or self._witnesses
        file = tree / mutant.path
        kept = file.with_suffix(".kept")
        file.rename(kept)
        file.write_text(mutant.source, encoding="utf-8")
        try:
            return (
                self._failed_of(tree, able[:FEW])
                or self._said(tree, self._histories(), cpu_s=self._seeds * HISTORY_S)
                or self._failed_of(tree, able[FEW:])
            )
        finally:
            kept.replace(file)

    def _failed_of(self, tree: Path, witnesses: list[Witness]) -> str | None:
        if not witnesses:
            return None
        program = (*TESTS, "-x", "-n0", *(one.test for one in witnesses))
        return self._said(tree, program, cpu_s=sum(one.cpu_s for one in witnesses))

    def _histories(self) -> tuple[str, ...]:
        return ("-c", HISTORIES.format(seeds=self._seeds))

    def _said(self, tree: Path, program: tuple[str, ...], *, cpu_s: float, wait_s: float = WAIT_S) -> str | None:
        """Run a program on a tree and return what it says where it fails."""
        shutil.rmtree(tree / ".hypothesis", ignore_errors=True)  # no examples of the mutant before this one
        limit_s = round(LONGEST_S + TIMES_LONGER * cpu_s)
        # What is compiled stays that of the tree without a mutant.
        compiles = "" if not self._witnesses else "1"
        environment = {
            **os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": compiles, FOLDER: str(self._calls)
        }  # fmt: skip

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 5))
            resource.setrlimit(resource.RLIMIT_AS, (LARGEST_BYTES, LARGEST_BYTES))

        try:
            done = subprocess.run(
                [sys.executable, "-P", *program],
                cwd=tree, env=environment, capture_output=True, text=True, timeout=wait_s,
                check=False, preexec_fn=limited,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
        if done.returncode == -signal.SIGXCPU:
            return f"takes more than {limit_s} s of a processor"
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        failed = [line for line in said if line.startswith(("FAILED", "ERROR", "seed "))]
        return None if done.returncode == 0 else (failed or said or ["it ends at once"])[-1][:200]


def _copy(tree: Path) -> None:
    kept = shutil.ignore_patterns("__pycache__", ".*", "screenshots", "snapshot")
    for name in ("engine", "store", "dashboard", "quarterdeck", "tests", "examples", "docs"):
        shutil.copytree(ROOT / name, tree / name, ignore=kept)
    for one in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"):
        shutil.copy(ROOT / one, tree)
