"""Adds to the corpus what it lacks: `PYTHONPATH=. .venv/bin/python -P -m tests.contract.corpus.make`.

A file of the corpus is never made anew: it holds what a program of its day wrote, and later programs have to read it.
Where a kind of event or of command is in no file yet, stories and histories by seeds are searched for it, and those
that have most of what is missing become new files (this takes a minute). An event that none of them comes to needs a
story. The demo's database was recorded once from `quarterdeck demo`, with other paths and another host.
"""

import gzip
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from engine.archive import export_archive
from engine.core.commands import COMMAND_KINDS, Command, HandOver, ImportState, Ping, StopEngine, Submit
from engine.core.encoding.codec import decode_command, encode_command
from engine.core.events import KINDS, Event
from engine.core.signals import EngineBegan
from engine.host.batch import row_of
from engine.simulation.history import run_history
from engine.simulation.operators import draw_command
from engine.simulation.report import plan_of
from engine.simulation.teams import draw_team
from tests.chance import random_turn, with_code
from tests.contract.corpus.reading import FOLDER, commands_in, journals, kind_of_row, packed
from tests.contract.corpus.stories import stories
from tests.databases import write_database
from tests.world import PROCESSES, World, load

SEEDS = 70
OF_THE_SHELL: tuple[Command, ...] = (Ping(), StopEngine(), HandOver(), ImportState(path="team.zip", sha256="0" * 64))


def main() -> None:
    """Write what is missing."""
    _add_journals()
    _add_commands()
    _add_archives()


def _add_journals() -> None:
    """Write the journals that have the kinds of events which no journal has yet."""
    missing = set(KINDS) - {kind_of_row(row) for rows in journals().values() for row in rows}
    drawn = [(name, journal, {event.type for event in journal}) for name, journal in histories()] if missing else []
    while missing and (useful := [each for each in drawn if each[2] & missing]):
        name, journal, kinds = max(useful, key=lambda each: len(each[2] & missing) / (len(each[1]) + 30))
        write(f"{name}.jsonl.gz", packed(rows_of(journal)))
        missing -= kinds
    print("kinds of events that no history has:", *sorted(missing))


def histories() -> Iterator[tuple[str, list[Event]]]:
    """What is told by hand, then histories with an engine and without one, each by its seed."""
    yield from stories().items()
    for seed in range(1, SEEDS + 1):
        yield f"simulated-{seed}", run_history(plan_of(seed, None, hours=1.0)).events
        yield f"chance-{seed}", chance_world(seed).journal


def chance_world(seed: int, turns: int = 200) -> World:
    """A team to which anything happens."""
    draw, world = Random(seed), World()
    world.say(EngineBegan(pid=1, token=1, version="test", processes=PROCESSES))
    while not world.state.supervisors:  # some teams cannot be
        world.order(with_code(load(draw_team(draw))))
    for priority in (None, 0):
        world.order(Submit(request="parse it", priority=priority))
    for _ in range(turns):
        random_turn(draw, world)
    return world


def rows_of(journal: Sequence[Event]) -> list[list[object]]:
    """Events as the journal holds them."""
    rows = map(row_of, journal)
    return [[row.at_ms, row.kind, row.run_id, row.task_id, row.agent_id, row.body.decode()] for row in rows]


def _add_commands() -> None:
    """Write commands of the kinds that are in no file yet."""
    missing = set(COMMAND_KINDS) - {kind for kind, _ in commands_in()}
    draw, state = Random(1), chance_world(1).state
    drawn = (draw_command(kind, draw, state, 1) for kind in sorted(missing) for _ in range(12))
    chosen = [*(command for command in drawn if command is not None), *OF_THE_SHELL]
    rows = {encode_command(each): each.type for each in chosen if each.type in missing and is_accepted(each)}
    if rows:
        number = len([*FOLDER.glob("commands*")]) + 1
        write(f"commands-{number}.jsonl.gz", packed([kind, body.decode()] for body, kind in rows.items()))


def is_accepted(command: Command) -> bool:
    """Whether an engine reads it: some are drawn with a fault."""
    with suppress(ValueError):
        return bool(decode_command(command.type, encode_command(command)))
    return False


def _add_archives() -> None:
    """Write archives of two teams in the middle of work, one with its history."""
    for name, seed, history in (("team", 3, False), ("history", 5, True)):
        target = FOLDER / f"{name}.zip"
        if not target.exists():
            with TemporaryDirectory() as folder:
                db = write_database(Path(folder) / "team.db", chance_world(seed, 90).journal)
                export_archive(db, target, history=history)


def write(name: str, body: bytes) -> None:
    """Write a file that is not there yet."""
    with (FOLDER / name).open("xb") as file:
        file.write(gzip.compress(body, mtime=0))


if __name__ == "__main__":
    main()
