"""Finds cost budgets that apply to models without a known price, whose cost would not be counted.

litellm's price table is read in a child process, as requests are made (`engine.models.child`), and only if a file has
such a budget.
"""

from collections.abc import Iterator
from typing import Any

import anyio

from engine.core.specs.model_spec import ModelSpec
from engine.models.link import RequestFailed
from engine.models.service import ModelService
from engine.teamfile import TeamFile
from engine.teamfile.document import FileFault, Loc
from engine.teamfile.faults import field
from engine.teamfile.meaning import agents_of, teams_of
from engine.teamfile.schema import AmountsBlock, TeamBlock, TeamDocument


def unpriced_models(file: TeamFile) -> list[FileFault]:
    """Return a fault for each model under a cost budget that has no known price; blocks."""
    uses = list(_find_unpriced_uses(file.team))
    names = {model.model for _, _, model in uses if model.base_url is None and model.model is not None}
    priced = anyio.run(_find_priced, sorted(names)) if names else set()
    problems = []
    for loc, name, model in uses:
        if model.base_url is not None or model.model not in priced:
            fault = f"no price is known for {name!r}, so a budget of cost_usd would not count it"
            text = f"{fault}; give it a 'price' under 'models', or bound tokens instead"
            problems.append(FileFault(file.document.line(loc), field(file.document, loc), text))
    return problems


async def _find_priced(models: list[str]) -> set[str]:
    """Return the models for which litellm knows a price."""
    async with anyio.create_task_group() as group:
        service = ModelService(group.start_soon, _refuse)
        priced = set()
        try:
            for model in models:
                try:
                    if (await service.facts(model)).price is not None:
                        priced.add(model)
                except RequestFailed:  # no provider has such a model, so it has no price
                    continue
        finally:
            await service.close()
            group.cancel_scope.cancel()
    return priced


async def _refuse(reference: str) -> None:
    raise AssertionError(f"{reference} is not to be reached")


def _find_unpriced_uses(team: TeamDocument) -> Iterator[tuple[Loc, str, ModelSpec]]:
    """Yield each model under a cost budget that has no price in the file, with its path."""
    blocks = dict(teams_of(team))
    for at, agent in agents_of(team):
        yield from _find_unpriced((*at, "model"), agent.model, blocks, own=agent.limits)
    for at, block in blocks.items():
        yield from _find_unpriced((*at, "supervisor", "model"), block.supervisor.model, blocks, own=None)


def _find_unpriced(
    loc: Loc, names: Any, blocks: dict[Loc, TeamBlock], *, own: AmountsBlock | None
) -> Iterator[tuple[Loc, str, ModelSpec]]:
    enclosing_teams = [blocks[loc[:end]] for end in range(len(loc), -1, -1) if loc[:end] in blocks]
    if not any(_bounds_money(limits) for limits in (own, *(team.limits for team in enclosing_teams))):
        return
    for name in [names] if isinstance(names, str) else names or ():
        definitions = (team.models[name] for team in enclosing_teams if name in team.models)
        model = next(definitions, None) or ModelSpec(model=name)
        if not model.replies and model.price is None:
            yield loc, name, model


def _bounds_money(limits: AmountsBlock | None) -> bool:
    parts = [limits, *(getattr(limits, name, None) for name in ("run", "task", "agent"))]
    return any(getattr(part, "cost_usd", None) is not None for part in parts)
