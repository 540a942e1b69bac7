"""The Recipes screen: agents that agents made, as a tree by maker."""

from textual.binding import Binding

from dashboard.frame.finding import RowFilter
from dashboard.frame.table_screen import BELOW, MARKS, TableScreen
from dashboard.views.drawing.row_pane import RowDetails
from dashboard.views.drawing.rows import Cell, Listing
from dashboard.views.knowledge.recipes import describe_recipe, recipe_listing
from dashboard.views.view_state import ViewState
from engine.core.queries.team.recipes import agent_of


class RecipeFilterLine(RowFilter):
    """Filters recipes by words."""

    def suggest(self, line: str) -> list[str]:
        return []

    def advise(self, text: str) -> Cell:
        return Cell("" if text.strip() else "words of a path, a right or a primer", "muted")


class RecipesScreen(TableScreen):
    """Recipes below their makers, with their rights at this moment and what refers to them."""

    PLACE = "recipes"
    SORTED = False
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT = 20
    MARKED = "R removes them with what they made"
    KEYS = (
        ("enter", "open", "open the page of the agent that the recipe under the cursor made"),
        ("/", "filter"),
        ("R", "remove", "remove the recipe, or the marked ones, with their agents; asks first"),
        ("space", "mark"),
    )
    BINDINGS = [*MARKS, Binding("R", "act('remove-recipe')", "remove", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self.finding = RecipeFilterLine(self, self.show_filtered)

    def listing(self, view: ViewState) -> Listing:
        return recipe_listing(view.state, needle=self.finding.needle, now_ms=view.now_ms)

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        recipe = view.state.recipes.get(key)
        if recipe is None:
            return None
        return describe_recipe(view.state, recipe, now_ms=view.now_ms, width=width, height=height)

    def chosen_recipes(self) -> list[str]:
        """Return the ids of the marked recipes, or of the one under the cursor."""
        keys = self.marked_keys() or [self.table.selected or ""]
        return [key for key in keys if key in self.state.recipes]

    def can_be_marked(self, key: str) -> bool:
        return key in self.state.recipes

    def selected_key(self) -> str:
        return self.table.selected or ""

    def id_at_cursor(self, *, whole: bool = False) -> str:
        return self.table.selected or ""

    def explain_no_target(self) -> str:
        return "these rows are recipes; R removes one, enter opens its agent"

    def open_row(self, key: str) -> None:
        agent = self.state.agents.get(key) or agent_of(self.state, key)
        if agent is not None:
            self.deck.open_key(agent.id)
        else:
            self.deck.messages.say("its agent has left; the maker finds the recipe when it makes it again", "muted")


SCREEN = RecipesScreen
