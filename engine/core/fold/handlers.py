"""The shape of a table of fold handlers."""

from collections.abc import Callable
from typing import Any, TypeAlias

from engine.core.state import State

Handlers: TypeAlias = dict[type, Callable[[State, Any], None]]
"""From the class of an event to what applies it."""
