"""The catalogue: matches among ten thousand specs and a hundred thousand, single changes, and a large pack."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from engine.catalogue import Catalogue, Pack, find
from engine.catalogue.pack_files import read_packs
from engine.catalogue.writer import CatalogueWriter
from engine.core.specs.spec import AgentSpec
from tests.bench.choosing import _SUBJECTS, _VERBS, _candidate, _word
from tests.bench.measure import Series, interleaved, settle
from tests.bench.report import Row

_DRAWS = random.Random(2)


def rows(quick: bool) -> Iterator[Row]:
    """Measure matches, changes of one entry, and the addition of a pack."""
    with TemporaryDirectory() as folder:
        for specs, budget_ms in ((10_000, 10.0), (100_000, 60.0)):
            if quick and specs > 10_000:
                break
            path = Path(folder) / f"{specs}.db"
            with CatalogueWriter(path) as writer:
                (addition,) = writer.add([Pack(name="crew", agents=[_spec(number) for number in range(specs)])])
                writer.approve(addition.added)
            yield _match(path, specs, budget_ms, 100 if quick else 400)
            yield from _changes(path, specs, 20)
        yield _pack(Path(folder), 10_000, 2 if quick else 5)


def _spec(number: int) -> AgentSpec:
    candidate = _candidate(number)
    return AgentSpec(name=candidate.name, specialties=candidate.specialties, description=candidate.description)


def _match(path: Path, specs: int, budget_ms: float, rounds: int) -> Row:
    texts = [
        f"{_word(_VERBS)} the {_word(_SUBJECTS)} about topic{_DRAWS.randrange(specs)}, then "
        f"{_word(_VERBS)} it for department {_DRAWS.randrange(97)}"
        for _ in range(rounds)
    ]
    catalogue, took, floor = Catalogue.open(path), Series(), Series()
    settle()
    for text in texts:
        with floor.timing():
            _read_fifty(path, _DRAWS.randrange(specs - 50))
        with took.timing():
            find(catalogue, text)
    return Row(
        what=f"find entries among {specs:,} of the catalogue",
        took=took,
        floor=floor,
        floor_is="open it and read fifty rows",
        budget=budget_ms,
        at_p95=True,
        computes=True,
    )


def _read_fifty(path: Path, number: int) -> None:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        connection.execute("SELECT * FROM entries WHERE number > ? LIMIT 50", (number,)).fetchall()


def _changes(path: Path, specs: int, rounds: int) -> Iterator[Row]:
    numbers = iter(range(specs, specs + 10 * rounds))
    with CatalogueWriter(path) as writer, _bare_table(path.with_suffix(".bare")) as commit:

        def add() -> str:
            number = next(numbers)
            return writer.add([Pack(name=f"crew-{number}", agents=[_spec(number)])])[0].added[0]

        ids = [add() for _ in range(2 * (rounds + 1))]
        changes: dict[str, Callable[[], object]] = {
            "add": add,
            "approve": lambda: writer.approve([ids[-1]]),
            "remove": lambda: writer.remove([ids.pop()]),
        }
        for verb, change in changes.items():
            took, floor = interleaved(change, commit, rounds)
            yield Row(
                what=f"{verb} one of {specs:,} of the catalogue",
                took=took,
                floor=floor,
                floor_is="commit one row to the disk",
                budget=5.0,
            )


@contextmanager
def _bare_table(path: Path) -> Iterator[Callable[[], object]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE one (text)")
        yield partial(connection.execute, "INSERT INTO one VALUES ('x')")


def _pack(folder: Path, specs: int, rounds: int) -> Row:
    file = folder / "pack.yaml"
    agents = [
        {"name": spec.name, "model": "fast", "specialties": [*spec.specialties], "description": spec.description}
        for spec in map(_spec, range(specs))
    ]
    text = yaml.dump({"pack": {"name": "crew"}, "agents": agents}, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    file.write_text(text, encoding="utf-8")
    names = iter(range(1_000))

    def add() -> None:
        with CatalogueWriter(folder / f"added-{next(names)}.db") as writer:
            writer.add(read_packs(file))

    def parse() -> None:
        for _ in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            pass

    took, floor = interleaved(add, parse, rounds)
    return Row(
        what=f"add a pack of {specs:,} specs",
        took=took,
        floor=floor,
        floor_is="parse its YAML into events",
        unit="s",
        budget=3.0,
        computes=True,
    )
