"""Entities of recipes: what an agent wrote down to make another."""

from msgspec import field

from engine.core.entities.memory import Evidence
from engine.core.records.records import JsonValue, fact
from engine.core.specs.limits import Limits

MAX_RECIPE_DEPTH = 4
"""Levels of agents made by agents below the one that a person or a program gave the team."""
KEY = "$agent"
"""A made agent as JSON: `{"$agent": "k3"}`, with the id of its recipe."""
RECIPE_SCHEMA = 1
"""The version of `Recipe` that this code writes."""


@fact
class RecipeTask:
    """A kind of work that a made agent does."""

    doc: str = ""
    """What it is, in words."""
    input: JsonValue = None
    """The JSON Schema of its input; None takes any."""
    output: JsonValue = None
    """The JSON Schema of its output; None takes any."""


@fact
class Recipe:
    """A made agent in words and names; its rights are looked up when it works (`queries.team.made`)."""

    id: str
    path: list[str]
    """Names from the agent at the top, which nobody made, down to this one."""
    parent_id: str
    """Its maker: the id of the agent at the top, or of the recipe of a made one."""
    name: str
    primer: str
    """What the agent is told it is."""
    description: str = ""
    specialties: list[str] = field(default_factory=list)
    capabilities: list[str] = field(default_factory=list)
    """Names in what its maker may use: tools, `server/tool`, words of `may`, `model:NAME`, toolsets of the team."""
    run: str | None = None
    """For a function: its reference, one of the tools of its maker."""
    tasks: dict[str, RecipeTask] = field(default_factory=dict)
    model: str | None = None
    """The model that plays it; None is that of its maker."""
    limits: Limits | None = None
    """Its budget, besides that of its maker."""
    schema: int = RECIPE_SCHEMA
    revision: int = 1
    made_by: Evidence | None = None
    """The step that wrote this revision; None if a person did."""
    at_ms: int = 0
    """When this revision was written, UTC milliseconds."""
