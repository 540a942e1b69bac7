"""Ids of recipes in JSON values: an object `{"$agent": "k3"}` stands for a made agent."""

import re
from collections.abc import Iterator, Sequence

from engine.core.entities.recipes import KEY
from engine.core.records.records import JsonValue

_RECIPE_ID = re.compile("k[1-9][0-9]{0,14}")


def recipe_ids_in(value: JsonValue) -> list[str]:
    """Return the ids of recipes in a value, in the order in which they occur."""
    return [*_ids_in(value)]


def replace_recipe_ids(value: JsonValue, ids: Sequence[str]) -> JsonValue:
    """Return a copy of a value with other ids of recipes, in the order of `recipe_ids_in`.

    An import renumbers ids, but the text of a value stays in the journal as it is.
    """
    return _replace(value, iter(ids))


def _ids_in(value: JsonValue) -> Iterator[str]:
    recipe_id = recipe_id_in(value)
    if recipe_id is not None:
        yield recipe_id
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _ids_in(item)


def _replace(value: JsonValue, ids: Iterator[str]) -> JsonValue:
    if (recipe_id := recipe_id_in(value)) is not None:
        return {KEY: next(ids, recipe_id)}
    if isinstance(value, dict):
        return {key: _replace(item, ids) for key, item in value.items()}
    return [_replace(item, ids) for item in value] if isinstance(value, list) else value


def recipe_id_in(value: JsonValue) -> str | None:
    """Return the id in the JSON of a made agent; None for any other value."""
    recipe_id = value.get(KEY) if isinstance(value, dict) and len(value) == 1 else None
    return recipe_id if isinstance(recipe_id, str) and _RECIPE_ID.fullmatch(recipe_id) else None
