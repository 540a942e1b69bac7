"""Agents that a question of the kind `discover` offers."""

from collections.abc import Mapping

import msgspec

from engine.core.commands import Answer, Command
from engine.core.queries.targets import id_in
from engine.core.queries.team.code import references_of
from engine.core.records.records import JsonValue
from engine.core.signals import FoundSpec
from engine.core.state import State

ADD, SKIP = "add", "skip"
"""The answers."""


def offered_in(detail: Mapping[str, JsonValue]) -> list[FoundSpec]:
    """Return the agents that a question offers, from its detail."""
    offers = detail.get("agents")
    return [
        msgspec.convert({name: value for name, value in offer.items() if name != "references"}, FoundSpec)
        for offer in (offers if isinstance(offers, list) else [])
        if isinstance(offer, dict)
    ]


def references_offered(state: State, command: Command) -> list[str]:
    """Return the references that a command lets in: those of agents that it answers to add."""
    if not isinstance(command, Answer) or command.answer != ADD:
        return []
    questions = (state.escalations.get(id_in(target)) for target in (command.escalation, *command.also))
    offered = [each for question in questions if question is not None for each in offered_in(question.detail)]
    return list(dict.fromkeys(reference for each in offered for reference in references_of(each.spec)))
