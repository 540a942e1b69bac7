"""Specialties of a live agent, added and taken away: what it runs and its generation stay."""

from collections.abc import Sequence

from engine.core.commands import ChangeCapabilities
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.find import able_queues_for, left_behind
from engine.core.discovery import nearest
from engine.core.errors import Refused
from engine.core.events import CapabilitiesChanged
from engine.core.fact import changed
from engine.core.queries.targets import find_agent
from engine.core.spec import AgentSpec
from engine.core.state import State


def change_capabilities(state: State, command: ChangeCapabilities, ctx: Context) -> Applied:
    """Give an agent other specialties; the tasks that it takes by capability follow."""
    agent = find_agent(state, command.agent)
    if agent.removing is not None:
        raise Refused(f"{agent.name} is being removed; add an agent instead")
    spec = state.spec_of(agent)
    add, remove = _cleaned(command.add), _cleaned(command.remove)
    both = next((word for word in add if _has(remove, word)), None)
    if both is not None:
        raise Refused(f"{both!r} is to be added and taken away; say one of them")
    for word in remove:
        if not _has(spec.specialties, word):
            near = nearest(word, spec.specialties)
            known = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(spec.specialties) or 'none'}"
            raise Refused(f"{agent.name} has no specialty {word!r}; {known}")
    added = [word for word in add if not _has(spec.specialties, word)]
    removed = [word for word in spec.specialties if _has(remove, word)]
    if not added and not removed:
        raise Refused(f"{agent.name} has these specialties already; nothing to change")
    new = with_specialties(spec, [*(word for word in spec.specialties if word not in removed), *added])
    event = CapabilitiesChanged(
        agent_id=agent.id,
        spec=new,
        added=added,
        removed=removed,
        queues=able_queues_for(state, agent.supervisor_id, new, agent.name),
    )
    said = " ".join([*(f"+{word}" for word in added), *(f"-{word}" for word in removed)])
    return Applied(
        events=[event, *left_behind(state, agent, event.queues)],
        summary=f"{agent.name}: {said}",
        result={"agent_id": agent.id, "specialties": list(new.specialties)},
    )


def with_specialties(spec: AgentSpec, specialties: Sequence[str]) -> AgentSpec:
    """Return a copy of `spec` that claims something else."""
    return changed(spec, specialties=tuple(specialties))


def _cleaned(words: Sequence[str]) -> list[str]:
    found = list(dict.fromkeys(" ".join(word.split()) for word in words))
    if "" in found:
        raise Refused("a specialty is a word or more, not an empty text")
    return found


def _has(words: Sequence[str], word: str) -> bool:
    return any(one.casefold() == word.casefold() for one in words)
