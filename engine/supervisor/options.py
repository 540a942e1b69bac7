"""Options of a supervisor: what is misspelled and what this version does not do is said, never swallowed."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from engine.core.options import SupervisorOptions
from engine.core.spec import FailurePolicy
from engine.supervisor.errors import NotInThisVersion, UnknownOption


def refuse_unknown(where: str, unknown: Mapping[str, object], function: Callable[..., Any]) -> None:
    """Pass where nothing unknown was given.

    Args:
        where: What was called, for the message.
        unknown: What it was given besides its own options.
        function: Its signature has the names that there are.

    Raises:
        UnknownOption: With the names that are nearest.
    """
    for name in unknown:
        known = [one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]
        raise UnknownOption(where, name, known)


def refuse_later_features(*, enable_auto_evolution: bool) -> None:
    """Pass where nothing is asked for that this version does not do.

    Raises:
        NotInThisVersion: With what to do instead.
    """
    if enable_auto_evolution:
        raise NotInThisVersion("enable_auto_evolution", "look at get_supervision_metrics and change the team yourself")


def check_policies(where: str, policies: Sequence[object]) -> None:
    """Pass where all of `policies` are failure policies.

    Raises:
        TypeError: If one is not.
    """
    for policy in policies:
        if not isinstance(policy, get_args(FailurePolicy)):
            known = ", ".join(one.__name__ for one in get_args(FailurePolicy))
            raise TypeError(f"{where} takes {known}, not {policy!r:.60}")


def merged_options(options: SupervisorOptions | None, **named: Any) -> SupervisorOptions:
    """Return `options` with those that were named by themselves; an empty one is none.

    Raises:
        ValueError: If a number cannot be right.
    """
    return replace(options or SupervisorOptions(), **{name: value for name, value in named.items() if value})
