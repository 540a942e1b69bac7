"""Laws of the team: supervisors in a tree, members by name, agents with their specs, circuits, pools and queues."""

import re
from collections.abc import Iterator

from engine.core.decide.teams.leaving import own_tasks
from engine.core.errors import Refused
from engine.core.queries.team.memory import root_of
from engine.core.queries.team.tree import MAX_DEPTH, parent_id_of
from engine.core.queries.work.queues import is_shared
from engine.core.records.values import NO_USAGE
from engine.core.scheduler import Schedule
from engine.core.state import (
    MAX_CATEGORIES,
    MAX_INSIGHTS,
    MAX_KEPT_BYTES,
    MAX_KEPT_KEY_CHARS,
    MAX_KEPT_KEYS,
    MAX_READERS,
    PRIVATE,
    Agent,
    State,
    Supervisor,
    TaskStatus,
)
from engine.core.strategies import STRATEGIES, check_settings
from engine.core.validation.bounds import MAX_LABEL_CHARS, MAX_POOL, MAX_TAGS, NAME, SEGMENT_PATTERN


def supervisors_stand_in_a_tree(state: State) -> Iterator[str]:
    """Each supervisor but the roots is a member of exactly its parent; there is no cycle, and depth is bounded."""
    holders: dict[str, list[str]] = {}
    for supervisor in state.supervisors.values():
        for member_id in supervisor.members:
            if member_id in state.supervisors:
                holders.setdefault(member_id, []).append(supervisor.id)
    for supervisor in state.supervisors.values():
        levels, ancestor = 0, supervisor
        while ancestor.parent_id is not None and levels <= MAX_DEPTH:
            levels, ancestor = levels + 1, state.supervisors[ancestor.parent_id]
        if levels >= MAX_DEPTH:
            yield f"{supervisor.id} stands below {MAX_DEPTH} levels of supervisors, or above itself"
        expected = [] if supervisor.parent_id is None else [supervisor.parent_id]
        if (holder_ids := holders.get(supervisor.id, [])) != expected:
            yield f"{supervisor.id} says that it is under {supervisor.parent_id}, and is a member of {holder_ids}"


def members_exist(state: State) -> Iterator[str]:
    """Every member exists and knows its supervisor, every agent is a member once, and no two members share a name."""
    listed: dict[str, int] = {}
    for supervisor in state.supervisors.values():
        names: set[str] = set()
        for member_id in supervisor.members:
            listed[member_id] = listed.get(member_id, 0) + 1
            member: Agent | Supervisor | None = state.agents.get(member_id) or state.supervisors.get(member_id)
            parent_id = parent_id_of(member) if member else None
            if member is None or parent_id != supervisor.id:
                yield f"{supervisor.id} has the member {member_id}, which is not under it"
            elif member.name in names:
                yield f"{supervisor.id} has two members named {member.name}"
            else:
                names.add(member.name)
    for agent in state.agents.values():
        if listed.get(agent.id) != 1:
            yield f"{agent.id} is a member of {listed.get(agent.id, 0)} supervisors"


def supervisors_have_valid_settings(state: State) -> Iterator[str]:
    """Name, strategy, settings and limits of a supervisor are valid."""
    for supervisor in state.supervisors.values():
        if not NAME.fullmatch(supervisor.name):
            yield f"{supervisor.id} has the name {supervisor.name!a}"
        if supervisor.mode not in STRATEGIES:
            yield f"{supervisor.id} has the unknown strategy {supervisor.mode!a}"
            continue
        try:
            check_settings(supervisor.mode, supervisor.options.settings)
        except Refused as refusal:
            yield f"{supervisor.id} has settings that its strategy refuses: {refusal.reason}"
        if supervisor.max_parallel < 1 or supervisor.max_agents < 1 or supervisor.max_matches < 1:
            yield f"{supervisor.id} has a limit below 1"


def agents_have_valid_settings(state: State) -> Iterator[str]:
    """An agent has a valid name, existing current and previous specs, and generations in order."""
    for agent in state.agents.values():
        trial = agent.probation
        if not NAME.fullmatch(agent.name):
            yield f"{agent.id} has the name {agent.name!a}"
        if agent.spec not in state.specs or (agent.previous is not None and agent.previous not in state.specs):
            yield f"{agent.id} has a spec that is not there"
        if not 1 <= agent.proven <= agent.generation or not 1 <= agent.drained <= agent.generation:
            yield f"{agent.id} is of generation {agent.generation}, proven {agent.proven}, drained {agent.drained}"
        if trial is not None and agent.removing is not None:
            yield f"{agent.id} is on trial while it is being removed"
        if trial is not None and not (
            1 <= trial.failures <= trial.tasks and 0 <= trial.failed <= trial.ended < trial.tasks
        ):
            yield f"{agent.id} is on trial with {trial.failed} of {trial.ended} failed, of {trial.tasks}"
    for name, key in state.registry.items():
        if key not in state.specs or state.specs[key].name != name:
            yield f"the registry has no spec for {name!a}"


def leaving_members_have_open_work(state: State) -> Iterator[str]:
    """A leaving agent has open work; tasks that another agent can do do not wait for it."""
    for supervisor in state.supervisors.values():
        if (supervisor.id in state.leaving) != (supervisor.leaving is not None):
            yield f"{supervisor.id} and the list of leaving members disagree on whether it is being removed"
    for agent in state.agents.values():
        if (agent.id in state.leaving) != (agent.removing is not None):
            yield f"{agent.id} and the list of leaving members disagree on whether it is being removed"
        elif agent.removing is not None:
            tasks = list(own_tasks(state, agent))
            if not (tasks or agent.running or agent.parked):
                yield f"{agent.id} is being removed, and nothing of its work is open"
            for task in tasks if agent.removing != "drain" else ():
                if task.attempt is None and task.status is not TaskStatus.IN_DOUBT:
                    yield f"{task.id} waits for {agent.id}, which gets no more work"


def circuits_close_by_themselves(state: State) -> Iterator[str]:
    """An open circuit has a timer, and a circuit that is not closed records its cooling time."""
    for agent in state.agents.values():
        if (agent.circuit == "open") != (f"circuit:{agent.id}" in state.timers):
            yield f"{agent.id} has a circuit that is {agent.circuit}, which does not fit its timer"
        if (agent.circuit == "closed") != (agent.cool_s is None):
            yield f"{agent.id} has a circuit that is {agent.circuit}, opened for {agent.cool_s} s"


def pools_are_as_large_as_they_should_be(state: State) -> Iterator[str]:
    """A pool is within its bounds, has grown if tasks wait and it may, and has a timer if it could shrink."""
    for agent_id in Schedule.of(state).resizable:
        yield f"{agent_id} should have grown, or be watched, and is not"
    for agent in state.agents.values():
        spec = state.specs[agent.spec]
        min_size, max_size = (1, 1) if spec.pool is None else (spec.pool.min, spec.pool.max)
        if not min_size <= agent.size <= max_size:
            yield f"{agent.id} has {agent.size} instances, of {min_size} to {max_size}"
        if agent.max_concurrency != agent.size * spec.max_concurrency:
            yield f"{agent.id} has {agent.max_concurrency} slots with {agent.size} instances of {spec.max_concurrency}"
        if (agent.id in state.pools) != (spec.pool is not None):
            yield f"{agent.id} and the list of pools disagree on whether it is a pool"


def queues_and_agents_agree(state: State) -> Iterator[str]:
    """An agent serves its two own queues and capability queues; agents and queues list each other."""
    served = {(key, agent_id) for key, queue in state.queues.items() for agent_id in queue.agents}
    for agent in state.agents.values():
        if agent.queues[:2] != [f"agent:{agent.id}", f"back:{agent.id}"] or len(set(agent.queues)) != len(agent.queues):
            yield f"{agent.id} does not have its own two queues, or has one queue twice"
        for key in agent.queues:
            if (key, agent.id) not in served:
                yield f"{agent.id} serves {key!a}, which does not know it"
    for key, queue in state.queues.items():
        kind, _, owner = key.partition(":")
        if kind == "able":
            owner_id = owner.partition(":")[0].partition("+")[0]
            is_legal = owner_id == queue.supervisor_id and len(set(queue.agents)) == len(queue.agents)
        else:
            is_legal = kind in ("agent", "back") and queue.agents == [owner]
        if key != queue.key or not is_legal:
            yield f"{key!a} is not a queue of {queue.supervisor_id}"
        for agent_id in queue.agents:
            agent = state.agents[agent_id]
            if key not in agent.queues or not (is_shared(key) or agent.supervisor_id == queue.supervisor_id):
                yield f"{key!a} is served by {agent_id}, which does not know it"


def insights_have_one_owner(state: State) -> Iterator[str]:
    """Each insight is in the list of exactly its agent, or in the pool of its team, within bounds."""
    listed = {(insight_id, agent.id) for agent in state.agents.values() for insight_id in agent.insights}
    listed |= {(insight_id, root.id) for root in state.supervisors.values() for insight_id in root.insights}
    owned = {
        (each.id, each.agent_id if each.segment == PRIVATE else each.supervisor_id) for each in state.insights.values()
    }
    if listed != owned:
        yield "the insights are not those that agents and pools list"
    for agent in state.agents.values():
        if len(agent.insights) > MAX_INSIGHTS or len(set(agent.insights)) != len(agent.insights):
            yield f"{agent.id} remembers more than an agent can"
    for root in state.supervisors.values():
        if root.insights and (root.parent_id is not None or len(root.insights) > MAX_POOL):
            yield f"{root.id} has a pool that is too large, or is not at the top"
    for insight in state.insights.values():
        if not 0 <= insight.importance <= 1 or len(insight.tags) > MAX_TAGS:
            yield f"{insight.id} has an importance outside of 0 to 1, or too many tags"
        author = state.agents.get(insight.agent_id or "") if insight.segment == PRIVATE else None
        if author is not None and insight.supervisor_id != root_of(state, author.supervisor_id).id:
            yield f"{insight.id} belongs to a team that its agent is not in"
        if re.fullmatch(SEGMENT_PATTERN, insight.segment) is None:
            yield f"{insight.id} is in a segment that cannot be"


def insights_have_one_newest_version(state: State) -> Iterator[str]:
    """Versions of an insight form one chain: two neighbours name each other, are of one segment, and count up."""
    for insight in state.insights.values():
        older, newer = state.insights.get(insight.supersedes or ""), state.insights.get(insight.superseded_by or "")
        is_chained = older is None or older.superseded_by == insight.id
        is_chained &= newer is None or newer.supersedes == insight.id
        if not is_chained:
            yield f"{insight.id} is in a chain of versions that forks"
        if older is not None and (older.version >= insight.version or older.segment != insight.segment):
            yield f"{insight.id} is no newer version of {older.id}"
        if len(insight.readers) > MAX_READERS or len(set(insight.readers)) != len(insight.readers):
            yield f"{insight.id} has more readers than are kept"


def agents_keep_no_more_than_they_may(state: State) -> Iterator[str]:
    """The state of an agent is within its limits."""
    for agent in state.agents.values():
        sizes = [value.size_bytes for value in agent.kept.values()]
        if len(sizes) > MAX_KEPT_KEYS or sum(sizes) > MAX_KEPT_BYTES or min(sizes, default=1) < 1:
            yield f"{agent.id} keeps {len(sizes)} values of {sum(sizes)} bytes"
        if not all(1 <= len(key) <= MAX_KEPT_KEY_CHARS for key in agent.kept):
            yield f"{agent.id} keeps a value under a key that is too long"


def track_records_add_up(state: State) -> Iterator[str]:
    """The track records of an agent add up to its own counts and usage, within the limit on categories."""
    for agent in state.agents.values():
        records = agent.track_record
        usage = NO_USAGE
        for record in records.values():
            usage = usage.plus(record.usage)
        for end in ("done", "failed", "cancelled"):
            if sum(getattr(record, end) for record in records.values()) != getattr(agent, end):
                yield f"{agent.id} has a track record that does not come to {getattr(agent, end)} {end}"
        if usage != agent.usage:
            yield f"{agent.id} has a track record that comes to {usage}; it has used {agent.usage}"
        is_too_long = any(len(category) > MAX_LABEL_CHARS for category in records)
        if len(records) - ("" in records) > MAX_CATEGORIES or is_too_long:
            yield f"{agent.id} has a track record with too many categories, or with one whose name is too long"
