"""What simulated function agents share, keep and make; the title of a task decides, so that attempts repeat it."""

from random import Random
from typing import Any

from engine.errors import (
    CommandRefusedError,
    DelegationFailed,
    InsightConflict,
    InsightTimeout,
    RecipeGone,
    StateConflict,
)
from engine.runtimes.functions.created import CreatedAgent
from engine.simulation.drawing import MADE_NAMES, SEGMENTS, TAGS, TOOLS, TOOLSET
from engine.simulation.ledger.kept import COUNT
from engine.simulation.scene import Scene


async def share(scene: Scene, number: int, text: str) -> None:
    """Write to a segment, in place of what a query finds or beside it; some wait first until another has written."""
    draw, memory = Random(f"{scene.work.effect.title} shares {number}"), scene.context.memory
    importance, filters = draw.random(), _draw_filters(draw)
    try:
        if draw.random() < 0.25:
            page = await memory.wait(exclude_own=draw.random() < 0.5, due_s=draw.choice([1.0, 60.0, 900.0]), **filters)
        else:
            page = await memory.query(scene.work.effect.title if draw.random() < 0.3 else "", limit=3, **filters)
        old = page.items[0] if page.items and draw.random() < 0.6 else None
        expect = None if old is None or draw.random() < 0.3 else old.version
        new = await memory.write(
            text,
            segment=draw.choice(SEGMENTS) if old is None else old.segment,
            tags=draw.sample(TAGS, draw.randint(0, 2)),
            importance=importance,
            supersedes=None if old is None else old.id,
            expect=expect,
            expires_s=draw.choice([None, None, 30.0, 3_600.0]),
        )
        scene.world.check_version(scene.work, new.version, expect)
    except (CommandRefusedError, InsightConflict, InsightTimeout):
        return


def _draw_filters(draw: Random) -> dict[str, Any]:
    filters: dict[str, Any] = {"segment": draw.choice([*SEGMENTS, None]), "unused": draw.random() < 0.2}
    filters["superseded"] = draw.random() < 0.4
    filters["all_of" if draw.random() < 0.3 else "any_of"] = draw.sample(TAGS, draw.randint(0, 2))
    return filters


async def count(scene: Scene) -> None:
    """Raise a number in the state of the agent by one, once more if another attempt has raised it meanwhile."""
    state = scene.context.state
    for name in ("count", "count again"):
        state[COUNT] = state.get(COUNT, 0) + 1
        try:
            await scene.step(name)
        except StateConflict:
            continue
        scene.world.check_counted(scene.work)
        return


async def make_helper(scene: Scene, about: str) -> None:
    """Make an agent, or take one that was made before, keep it in the state, and let it work."""
    draw, state = Random(f"{scene.work.effect.title} makes"), scene.context.state
    tools = [str(reference) for reference in scene.work.spec.tools]
    runs = [None, *tools] if scene.world.plan.models else tools or TOOLS
    names = ["recall", TOOLSET, *(reference.partition(":")[2] for reference in tools)]
    capabilities = ["agents"] * (draw.random() < 0.6) + draw.sample(names, draw.choice([0, 0, 1, 2]))
    run = draw.choice(runs)
    made_names = [draw.choice(MADE_NAMES)] if draw.random() < 0.95 else [f"helper{number}" for number in range(12)]
    try:
        helper = state.get("helper") if draw.random() < 0.4 else None
        if not isinstance(helper, CreatedAgent):
            for name in made_names:
                helper = await scene.context.create_agent(name, "You help.", capabilities=capabilities, run=run)
            state["helper"] = {"by": [helper]} if draw.random() < 0.3 else helper
            await scene.step("helped")
        if helper is not None:
            await helper(about)
        if draw.random() < 0.2:
            del state["helper"]
    except (CommandRefusedError, DelegationFailed, KeyError, RecipeGone, StateConflict):
        return
