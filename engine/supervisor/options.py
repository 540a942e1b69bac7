"""Options of a supervisor: what is misspelled and what this version does not do is said, never swallowed."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.core.spec import Retry, Skip
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


def refuse_later_features(
    *,
    coordination_strategies: Mapping[str, str] | None,
    lead: object,
    limits: object,
    enable_auto_evolution: bool,
    on_failure: Sequence[object],
) -> None:
    """Pass where nothing is asked for that this version does not do.

    Raises:
        NotInThisVersion: With what to do instead.
    """
    if coordination_strategies:
        raise NotInThisVersion("coordination_strategies", "set one coordination_mode for all requests")
    if lead is not None:
        raise NotInThisVersion("lead", "let the first agent call ctx.delegate")
    if limits is not None:
        raise NotInThisVersion("limits", "set timeout_s on the agents' specs")
    if enable_auto_evolution:
        raise NotInThisVersion("enable_auto_evolution", "look at get_supervision_metrics and change the team yourself")
    refuse_other_policies("on_failure", on_failure)


def refuse_other_policies(where: str, policies: Sequence[object], only: tuple[type, ...] = (Retry, Skip)) -> None:
    """Pass where all of `policies` are failure policies that may stand there.

    Raises:
        NotInThisVersion: If one is not.
    """
    for policy in policies:
        if not isinstance(policy, only):
            known = " and ".join(one.__name__ for one in only)
            raise NotInThisVersion(f"{where} with {policy!r:.60}", f"it takes {known}")
