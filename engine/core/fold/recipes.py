"""Fold: recipes of agents that agents made."""

from engine.core.events import RecipeChanged, RecipeMade, RecipeRetired
from engine.core.fold.timers import note_id
from engine.core.state import State


def _recipe_written(state: State, event: RecipeMade | RecipeChanged) -> None:
    note_id(state, event.recipe.id)
    state.recipes[event.recipe.id] = event.recipe


def _recipe_retired(state: State, event: RecipeRetired) -> None:
    del state.recipes[event.recipe_id]
