"""Events of recipes: written before the agent that is made by them, changed, retired."""

from typing import Literal

from engine.core.entities.recipes import Recipe
from engine.core.events.base import Event
from engine.core.records.records import fact


@fact
class RecipeMade(Event):
    """An agent, or a person for it, wrote down how to make another; its `AgentAdded` follows."""

    recipe: Recipe


@fact
class RecipeChanged(Event):
    """A recipe got its next revision."""

    recipe: Recipe


@fact
class RecipeRetired(Event):
    """A recipe is gone; its id is never used again."""

    recipe_id: str
    why: Literal["removed", "unused"]
    """A person removed it, or nothing referred to it."""
