"""Specs as text in an editor: initial text, faults, and the parsed specs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import pluralize
from engine.core.errors import BadValue
from engine.core.queries.team.code import references_of
from engine.core.queries.team.tree import supervisors_from
from engine.core.records.records import copy_with
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, State

if TYPE_CHECKING:
    from engine.teamfile import FileFault

MAX_SHOWN = 5
"""Faults that are listed."""
NEW = Path("agent.yaml")
"""The name of a text without a file."""
_EXAMPLE = """\
name: newcomer
description: What it does, in words that requests are matched with
specialties: [general]
model: gpt-4o-mini  # or code of the team's folder, run: "module:function"
instructions: You do what you are asked.
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """A parsed text: its agent, or its problems."""

    spec: AgentSpec | None
    problems: "Sequence[FileFault]" = ()

    @property
    def references(self) -> list[str]:
        """References to code that the agent runs."""
        return references_of(self.spec) if self.spec is not None else []


def read_draft(text: str, servers: Sequence[str]) -> Draft:
    """Parse a text with one agent as a team file; imports none of its code."""
    from dashboard.user.specfile import read_spec_text  # slow import: needed only to edit
    from engine.teamfile import FileFault, TeamFileError

    try:
        spec_file = read_spec_text(text, NEW, servers)
    except TeamFileError as error:
        return Draft(None, error.problems)
    except BadValue as bad:
        return Draft(None, [FileFault(1, "", bad.reason)])
    if len(spec_file.agents) == 1:
        return Draft(spec_file.agents[0])
    contents = pluralize(len(spec_file.agents), "agent") if spec_file.team is None else "a whole team"
    return Draft(None, [FileFault(1, "", f"{contents}, and one agent is asked for; several go in a file:  : add FILE")])


def fault_lines(problems: "Sequence[FileFault]") -> list[Cell]:
    """Return a line for each problem."""
    cells = [
        Cell(f"{_without_agent(problem.field)}{problem.text}", "error", f"line {problem.line:<6} ")
        for problem in problems[:MAX_SHOWN]
    ]
    more = len(problems) - MAX_SHOWN
    return [*cells, Cell(f"and {pluralize(more, 'more fault')}", "error", " " * 12)] if more > 0 else cells


def _without_agent(field: str) -> str:
    """Return a field without the prefix of the list of agents."""
    named = field.partition("].")[2] if field.startswith("agents[") else field
    return f"{named}: " if named else ""


def known_servers(state: State, supervisor_id: str) -> list[str]:
    """Return the tool servers that an agent under a supervisor may name."""
    return list(
        dict.fromkeys(name for supervisor in supervisors_from(state, supervisor_id) for name in supervisor.options.mcp)
    )


def text_of_agent(state: State, agent: Agent) -> str:
    """Return the spec of an agent as text."""
    from engine.teamfile.writing import agent_yaml

    return agent_yaml(state.spec_of(agent))


def fields_lost_in_text(state: State, agent: Agent) -> list[str]:
    """Return the fields of an agent's spec that YAML cannot express, so that editing would lose them."""
    from engine.teamfile.writing import inexpressible_fields

    return inexpressible_fields(state.spec_of(agent))


def text_of_new(state: State, supervisor_id: str) -> str:
    """Return the initial text of a new agent: a copy of the supervisor's last agent with a new name, or an example."""
    from engine.teamfile.writing import agent_yaml

    supervisor = state.supervisors.get(supervisor_id)
    members = supervisor.members if supervisor is not None else ()
    agents = [state.agents[member_id] for member_id in members if member_id in state.agents]
    names = {agent.name for agent in state.agents.values()}
    name = next(candidate for number in range(1, len(names) + 2) if (candidate := _newcomer_name(number)) not in names)
    if not agents:
        return _EXAMPLE.replace("newcomer", name)
    return agent_yaml(copy_with(state.spec_of(agents[-1]), name=name))


def _newcomer_name(number: int) -> str:
    return "newcomer" if number == 1 else f"newcomer-{number}"
