"""The searches for agents outside a team: where, who was found, and whether they are in the team."""

from collections.abc import Iterable, Iterator

from dashboard.views.drawing.facts import Fact
from dashboard.views.words.amounts import moment
from engine.core.discovery.match import Match
from engine.core.queries.people.offers import DISCOVER
from engine.core.queries.team.discovery import PLACES, describe_search
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
from engine.core.state import Discovery, State, Supervisor

_PLACES: dict[str, str] = {mode.value: words for mode, words in PLACES.items()}


def discovery_fact(supervisor: Supervisor) -> Iterator[Fact]:
    """Yield how a supervisor finds agents for a request, where it does."""
    config = supervisor.discovery
    if not supervisor.auto_discover:
        return
    search = describe_search(config).removeprefix("would ").removeprefix("search ")
    if not search:
        yield Fact("discovery", "among its members", group="settings")
        return
    asks = "asks first" if config.approve == "ask" else "asks about new code"
    yield Fact("discovery", f"{search}; {asks}; at most {config.max_new} a run", group="settings", more=_rest(config))


def _rest(config: DiscoveryConfig) -> str:
    evicts = "; a found one that is idle makes room" if config.evict else ""
    modes = ", ".join(map(str, config.modes))
    return f"modes {modes}, score from {config.min_score:g}, at most {config.max_matches} agents a request{evicts}"


def search_facts(state: State, searches: Iterable[Discovery], *, now_ms: int, group: str) -> Iterator[Fact]:
    """Yield each search with what came of it."""
    for search in searches:
        yield Fact("searched", f"{moment(search.at_ms, now_ms)}  {describe_result(state, search)}", group=group)


def searches_of_run(state: State, run_id: str) -> Iterator[Discovery]:
    """Yield the searches of a run that the supervisors still know, the oldest first."""
    found = [each for supervisor in state.supervisors.values() for each in supervisor.discoveries]
    yield from sorted((each for each in found if each.run_id == run_id), key=lambda each: each.at_ms)


def describe_result(state: State, search: Discovery) -> str:
    """Return who was chosen of those found, and whether they are in the team; else who came nearest."""
    outside = [match for match in search.matches if match.source != "team"]
    chosen = [match for match in outside if match.id in search.chosen]
    parts = [f"{_describe(match)} {_outcome(state, search, match)}" for match in chosen]
    if not chosen:
        nearest = f"; nearest: {_describe(outside[0])}" if outside else ""
        parts = [f"nobody found in {_places(search.modes)}{nearest}"]
    return "; ".join([*parts, *search.faults])


def _describe(match: Match) -> str:
    return f"{match.name} ({_PLACES.get(match.source, match.source)}, {match.score:.2f})"


def _outcome(state: State, search: Discovery, match: Match) -> str:
    origins = (agent.origin for agent in state.agents.values() if agent.origin is not None)
    if any(origin.kind == "discovery" and origin.id == match.id for origin in origins):
        return "is in the team"
    questions = (each for each in state.escalations.values() if each.subject == search.task_id)
    asked = next((question.id for question in questions if question.kind == DISCOVER), None)
    return "is not in the team" if asked is None else f"waits for you ({asked})"


def _places(modes: Iterable[AgentDiscoveryMode]) -> str:
    every = AgentDiscoveryMode.HYBRID in modes
    return "any place" if every else ", ".join(PLACES[mode] for mode in modes if mode in PLACES)
