"""Commands about agents that are made by agents."""

from typing import Annotated

from msgspec import field

from engine.core.commands.base import CommandBase
from engine.core.commands.team import Target
from engine.core.entities.memory import Evidence
from engine.core.entities.recipes import RecipeTask
from engine.core.records.records import fact
from engine.core.validation.bounds import Label, Name, Reference, Text, Tokens
from engine.core.validation.rules import Within


@fact
class CreateAgent(CommandBase):
    """Write a recipe in the name of its maker, and add the agent that it makes; an equal one is found again."""

    maker: Target
    """The agent that makes it."""
    name: Name
    primer: Text = ""
    description: Text = ""
    specialties: Annotated[list[Label], Within(max_length=100)] = field(default_factory=list)
    capabilities: Annotated[list[Label], Within(max_length=200)] = field(default_factory=list)
    run: Reference | None = None
    """A tool of the maker, by its name or its reference, that does the work in place of a model."""
    tasks: Annotated[dict[Name, RecipeTask], Within(max_length=50)] = field(default_factory=dict)
    model: Label | None = None
    tokens: Tokens | None = None
    """The most tokens that it may spend in all."""
    made_in: Evidence | None = None
    """The step in which an agent makes it."""


@fact
class RetireRecipes(CommandBase):
    """Remove recipes with their agents, or all that nothing refers to."""

    recipes: Annotated[list[Label], Within(max_length=10_000)] = field(default_factory=list)
    """Ids; empty means those that nothing refers to."""
