"""Faults around a team: engines die, disks fill, code is missing. One function each, in a table."""

from collections.abc import Callable
from random import Random

from msgspec import Raw

from engine.archive.manifest import counts_of
from engine.core.commands import Ping
from engine.core.documents.document import references_in
from engine.core.encoding.codec import encode_command, encode_state
from engine.core.signals import AgentUnusable, AgentUsable, StateReady
from engine.simulation.world import World, is_bound_to_program
from store import CommandRow

MAX_AGENTS = 30
"""Most agents of a team into which an archive is imported: each import doubles the team."""


def _kill(world: World, draw: Random) -> str:
    world.disk_faults.kill()
    return "the engine is killed"


def _kill_at_a_write(world: World, draw: Random) -> str:
    world.disk_faults.kill_in = draw.choice([1, 1, 2, 3, 5, 8])
    world.disk_faults.kill_after = draw.random() < 0.5
    when = "after" if world.disk_faults.kill_after else "before"
    return f"the engine is to be killed {when} its write number {world.disk_faults.kill_in} from now"


def _stop_engine(world: World, draw: Random) -> str:
    world.stop_engine()
    return "the engine is stopped"


def _start_rival(world: World, draw: Random) -> str:
    world.disk.depose(world.clock.now_ms())
    return "another engine takes the lease, and the one that runs does not know it"


def _fill_disk(world: World, draw: Random) -> str:
    seconds = draw.choice([1, 10, 59, 61, 90])
    world.disk_faults.full_until_ms = world.clock.now_ms() + seconds * 1000
    return f"the disk is full for {seconds} s"


def _slow_disk(world: World, draw: Random) -> str:
    world.disk_faults.stall_ms = draw.choice([1, 100, 5_000, 120_000])
    return f"the next write takes {world.disk_faults.stall_ms / 1000:g} s"


def _set_clock_back(world: World, draw: Random) -> str:
    world.back_ms = draw.choice([1, 60_000, 3_600_000])
    return f"the clock will be set back by {world.back_ms / 1000:g} s before the next engine starts"


def _remove_code(world: World, draw: Random) -> str:
    agents = list(world.state.agents.values())
    if not agents:
        return "there is no code that could be gone"
    agent = draw.choice(agents)
    world.missing.add(agent.name)
    away = is_bound_to_program(agent.name)
    world.signal(AgentUnusable(agent_id=agent.id, generation=agent.generation, error="its code is gone", away=away))
    return f"the code of {agent.name} is {'in a program that ended' if away else 'gone'}"


def _restore_all_code(world: World, draw: Random) -> str:
    restore_code(world)
    return "all code is found again"


def restore_code(world: World) -> None:
    """Make all missing code available again."""
    world.missing.clear()
    for agent in list(world.state.agents.values()):
        if agent.error is not None or agent.away:
            world.signal(AgentUsable(agent_id=agent.id, generation=agent.generation))


def _lose_snapshot(world: World, draw: Random) -> str:
    for seq in sorted(world.disk.snapshots)[-1:]:
        del world.disk.snapshots[seq]
    return "the newest snapshot is lost"


def _queue_odd_rows(world: World, draw: Random) -> str:
    number = draw.randrange(10**9)
    kind, body = draw.choice([("no_such_command", b"{}"), ("ping", b"[1"), ("submit", b'{"type":"submit"}')])
    world.queue_command(CommandRow(f"odd{number}", kind, body, "somebody", "operator", world.clock.now_ms()))
    world.queue_command(CommandRow(f"ping{number}", "ping", encode_command(Ping()), "", "", world.clock.now_ms()))
    return f"somebody writes nonsense into the inbox ({kind})"


def _import(world: World, draw: Random) -> str:
    """Import an archive of the same team beside it."""
    if len(world.state.agents) > MAX_AGENTS or not world.state.supervisors:
        return "nothing is imported"
    state, texts = world.export()
    world.ledger.discovery.allowed.update(references_in(state))
    ready = StateReady(
        order_id=f"import{draw.randrange(10**9)}",
        sender="simulated",
        role="operator",
        path="archive.zip",
        sha256="0",
        paused=draw.random() < 0.5,
        state=Raw(encode_state(state)),
        texts=texts,
        counts=counts_of(state, len(texts)),
        references=references_in(state),
        granted=dict.fromkeys(references_in(state), ""),
    )
    world.signal(ready)
    return f"the team as it is comes in once more{', paused' if ready.paused else ''}"


FAULTS: dict[str, tuple[float, Callable[[World, Random], str]]] = {
    "kill": (1.0, _kill),
    "kill at a write": (2.0, _kill_at_a_write),
    "stop": (0.4, _stop_engine),
    "rival": (0.5, _start_rival),
    "full disk": (0.5, _fill_disk),
    "slow disk": (0.5, _slow_disk),
    "clock back": (0.4, _set_clock_back),
    "code gone": (1.0, _remove_code),
    "code back": (0.6, _restore_all_code),
    "snapshot lost": (0.3, _lose_snapshot),
    "odd rows": (0.3, _queue_odd_rows),
    "import": (0.3, _import),
}
"""Weight of each fault, relative to commands of operators, and its function, which returns a line of the story."""
