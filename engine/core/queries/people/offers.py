"""Agents that a question of the kind `discover` offers, and the searches that may come to one."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from engine.core.commands import Answer, Command
from engine.core.discovery.match import Match
from engine.core.errors import Refused
from engine.core.queries.people.questions import find_question, similar_questions
from engine.core.queries.team.code import references_of
from engine.core.records.records import JsonValue, field_names
from engine.core.signals import FoundSpec
from engine.core.state import Escalation, State, Task

ADD, SKIP = "add", "skip"
"""The answers."""
DISCOVER = "discover"
"""The kind of such a question."""


class ScoredOffer(NamedTuple):
    """An agent that a question offers."""

    found: FoundSpec
    match: Match | None
    """How it matches the request; None in questions of older journals."""


def offered_in(detail: Mapping[str, JsonValue]) -> list[FoundSpec]:
    """Return the agents that a question offers, from its detail."""
    return [offer.found for offer in scored_offers(detail)]


def scored_offers(detail: Mapping[str, JsonValue]) -> list[ScoredOffer]:
    """Return the same with how each matches the request."""
    offers, known = detail.get("agents"), field_names(FoundSpec)
    return [
        ScoredOffer(
            msgspec.convert({name: value for name, value in offer.items() if name in known}, FoundSpec),
            msgspec.convert(offer["match"], Match) if isinstance(offer.get("match"), dict) else None,
        )
        for offer in (offers if isinstance(offers, list) else [])
        if isinstance(offer, dict)
    ]


def references_offered(state: State, command: Command) -> list[str]:
    """Return the references that a command lets in: those of agents that it answers to add."""
    offers = offers_accepted(state, command)
    return list(dict.fromkeys(reference for each in offers for reference in references_of(each.spec)))


def offers_accepted(state: State, command: Command) -> list[FoundSpec]:
    """Return the agents that a command answers to add."""
    if not isinstance(command, Answer) or command.answer != ADD:
        return []
    return [each for question in _answered(state, command) for each in offered_in(question.detail)]


def _answered(state: State, command: Answer) -> list[Escalation]:
    """Return the questions of this kind that a command answers; none where it will be refused."""
    try:
        questions = [find_question(state, target) for target in (command.escalation, *command.also)]
    except Refused:
        return []
    questions += similar_questions(state, questions[0]) if command.alike else []
    return [question for question in questions if question.kind == DISCOVER]


def open_searches(state: State) -> dict[str, Task]:
    """Return the groups for which agents are looked for, or a person is asked about some, by their supervisor."""
    begun = [group for run in state.runs.values() if (group := state.tasks[run.root_id]).search == "begun"]
    subjects = [question.subject for question in state.escalations.values() if question.kind == DISCOVER]
    groups = [*begun, *(state.tasks[subject] for subject in subjects if subject in state.tasks)]
    return {group.worker_id: group for group in groups if group.worker_id is not None and not group.ended}
