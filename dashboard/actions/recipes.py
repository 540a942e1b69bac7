"""The action about recipes: remove them with their agents, after a confirmation."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dashboard import dialogs
from dashboard.actions.action import Action, ActionScreen, CommandLine, show_dialog
from dashboard.views.knowledge.recipes import remove_lines, with_children
from dashboard.views.words.amounts import pluralize
from engine.core.commands import RetireRecipes
from engine.core.errors import Refused
from engine.core.queries.team.recipes import find_recipe
from engine.core.state import State


@runtime_checkable
class RecipeScreen(ActionScreen, Protocol):
    """A screen with recipes."""

    def chosen_recipes(self) -> Sequence[str]:
        """Return the ids of the marked recipes, or of the one under the cursor."""
        raise NotImplementedError


def _remove(screen: ActionScreen, line: CommandLine) -> None:
    try:
        chosen = [find_recipe(screen.state, word).id for word in line.words]
    except Refused as refusal:
        screen.deck.messages.warn(refusal.reason)
        return
    chosen = chosen or ([*screen.chosen_recipes()] if isinstance(screen, RecipeScreen) else [])
    if not chosen:
        screen.deck.messages.warn("which recipe? choose it on the screen  :recipes")
        return
    ids = with_children(screen.state, chosen)
    question = f"Remove {ids[0] if len(ids) == 1 else pluralize(len(ids), 'recipe')}"

    def consequences(state: State) -> Sequence[str]:
        return remove_lines(state, ids)

    show_dialog(screen, dialogs.dialog.Confirm(question, consequences, "Remove", RetireRecipes(recipes=ids)))
    screen.unmark()


def _recipes(state: State, _before: str = "") -> list[str]:
    return [*state.recipes]


RECIPE_ACTIONS = (
    Action(
        name="remove-recipe",
        label="remove",
        run=_remove,
        arguments="RECIPE…",
        writes=True,
        for_marked=True,
        targets=_recipes,
        about="remove recipes with the agents that they made, by default those of :recipes that are chosen there",
    ),
)
