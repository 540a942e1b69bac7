"""Tools by which a lead changes its team: it adds, swaps, removes, pauses and resumes agents.

Rule: a call is an ordinary command in the agent's name, about agents below its own supervisor, never about itself. A
person is asked before a change where the spec says so. What would let an agent do more than the caller is asked every
time, whatever the spec and standing answers say.
"""

import re
from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import msgspec
from typing_extensions import override

from engine.catalogue.approved import approved_entry
from engine.core.commands import AddAgent, Command, Pause, RemoveMember, Resume, SwapAgent
from engine.core.errors import Refused
from engine.core.queries.targets import find_spec, id_target
from engine.core.queries.team.models import put_first
from engine.core.queries.team.rights import models_beyond, rights_beyond
from engine.core.records.records import JsonValue, copy_with, fact, field_names
from engine.core.specs.management import management_rule
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent
from engine.errors import ToolRejected
from engine.models.records import ToolSchema
from engine.runtimes.model.builtin_tools import CallRefused, text_in
from engine.runtimes.model.lookup import NoModel, models_of
from engine.runtimes.model.management_tools import TEXT, FindAgentsTool, ManagementTool
from engine.runtimes.model.tools import Arguments, object_schema

ENTRY_ID = re.compile(r"c[0-9a-f]{16}")
MAX_SHOWN_INSTRUCTIONS = 2_000
"""Characters of the instructions of a new agent that a person is shown."""


@fact
class Change:
    """A change of the team that a call asks for."""

    command: Command
    beyond: list[str]
    """What an agent could do after it that the caller cannot do."""
    shown: dict[str, JsonValue]
    """What it is about, for the person who is asked."""


class ChangingTool(ManagementTool):
    """A tool that changes the team by a command."""

    done: ClassVar[str]
    """The word for the result."""
    about: ClassVar[str]
    optional: ClassVar[Mapping[str, JsonValue]] = {}

    @override
    def schema(self, name: str) -> ToolSchema | None:
        """It takes an agent."""
        return ToolSchema(name, self.about, object_schema(self.optional, agent=TEXT))

    @override
    async def _result(self, arguments: Arguments, key: str) -> JsonValue:
        """Carry out the change once, after an approval where one is required."""
        result: JsonValue = {self.done: self._subject(arguments)}
        outcome = self._work.outcome_of(key)
        if outcome is not None:  # an earlier attempt gave the command; the team has changed since
            if outcome.reason is not None:
                raise CallRefused(outcome.reason)
            return result
        change = await self._change(arguments)
        await self._approve(arguments, change)
        if await self._change(arguments) != change:
            raise CallRefused("the team has changed while a person was asked; look at it, then call again")
        await self._work.order(change.command, key)
        return result

    async def _approve(self, arguments: Arguments, change: Change) -> None:
        spec = self._work.spec
        rule, tool = management_rule(spec.approve, self.name), self.name
        # Without arguments of other names, by which a model could speak to the person.
        shown = {name: arguments[name] for name in ("agent", *self.optional) if name in arguments} | change.shown
        if change.beyond:
            # Under a name of its own, which no standing answer covers.
            rule, tool = "always", f"{self.name} (more than {spec.name} may)"
            shown["beyond"] = [*change.beyond]
        try:
            await self._work.questions.approve(tool, shown, rule, once=bool(change.beyond))
        except ToolRejected as rejected:
            raise CallRefused(str(rejected)) from rejected

    def _subject(self, arguments: Arguments) -> str:
        """Return the name of the agent that the result names."""
        return text_in(arguments, "agent")

    @abstractmethod
    async def _change(self, arguments: Arguments) -> Change:
        """Return the change that a call asks for; raises CallRefused."""

    def _describe(self, agent: Agent) -> dict[str, JsonValue]:
        team = self._state.supervisors[agent.supervisor_id]
        return {"member": f"{team.name}/{agent.name} ({id_target(agent.id)})"}

    def _registered(self, name: str) -> AgentSpec:
        try:
            return find_spec(self._state, name)
        except Refused as refused:
            raise CallRefused(refused.reason) from refused

    def _beyond(self, spec: AgentSpec, supervisor_id: str) -> list[str]:
        try:
            models = [model.name for model in models_of(self._state, supervisor_id, spec)]
        except NoModel:
            models = []
        beyond = [] if not spec.is_played_by_model else models_beyond(self._models, models)
        return [*rights_beyond(self._work.spec, spec, tools=self._tools), *beyond]


class AddAgentTool(ChangingTool):
    """The tool `add_agent`: add an agent of the registry to the caller's supervisor."""

    name, done = "add_agent", "added"
    about = "Add an agent that find_agents returned to your team; `name` gives it another name."
    optional: ClassVar[Mapping[str, JsonValue]] = {"name": TEXT}

    @override
    def _subject(self, arguments: Arguments) -> str:
        return text_in(arguments, "name", needed=False) or text_in(arguments, "agent")

    @override
    async def _change(self, arguments: Arguments) -> Change:
        wanted, home = text_in(arguments, "agent"), self._home
        is_entry = wanted not in self._state.registry and ENTRY_ID.fullmatch(wanted) is not None
        spec = await self._entry_spec(wanted) if is_entry else self._registered(wanted)
        command = AddAgent(
            supervisor=id_target(home.id),
            registered=None if is_entry else wanted,
            catalogue=wanted if is_entry else None,
            name=text_in(arguments, "name", needed=False) or None,
        )
        return Change(command=command, beyond=self._beyond(spec, home.id), shown={"spec": shown_spec(spec)})

    async def _entry_spec(self, entry_id: str) -> AgentSpec:
        entry = await self._work.in_thread(partial(approved_entry, entry_id))
        return entry.spec


class SwapAgentTool(ChangingTool):
    """The tool `swap_agent`: give a member another spec of the registry, or another model."""

    name, done = "swap_agent", "swapped"
    about = "Give a member of your team the spec `to`, a name that find_agents returned, or another `model`."
    optional: ClassVar[Mapping[str, JsonValue]] = {"to": TEXT, "model": TEXT}

    @override
    async def _change(self, arguments: Arguments) -> Change:
        agent = self._member(text_in(arguments, "agent"))
        registered, model = (text_in(arguments, name, needed=False) for name in ("to", "model"))
        if bool(registered) == bool(model):
            raise CallRefused("give either `to` or `model`")
        command = SwapAgent(
            agent=id_target(agent.id),
            registered=registered or None,
            model=model or None,
            generation=agent.generation,
        )
        if model:
            present = self._state.spec_of(agent)
            spec = copy_with(present, model=put_first(present.model, model))
            beyond = models_beyond(self._models, [model])
            return Change(command=command, beyond=beyond, shown=self._describe(agent) | {"spec": shown_spec(spec)})
        spec = self._registered(registered)
        beyond = self._beyond(spec, agent.supervisor_id)
        return Change(command=command, beyond=beyond, shown=self._describe(agent) | {"spec": shown_spec(spec)})


class RemoveAgentTool(ChangingTool):
    """The tool `remove_agent`: remove a member once its present work has ended."""

    name, done = "remove_agent", "removed"
    about = "Remove a member of your team; it finishes the work that it has begun."

    @override
    async def _change(self, arguments: Arguments) -> Change:
        agent = self._member(text_in(arguments, "agent"))
        command = RemoveMember(target=id_target(agent.id), mode="drain")
        return Change(command=command, beyond=[], shown=self._describe(agent))


class PauseAgentTool(ChangingTool):
    """The tool `pause_agent`: a member begins nothing new."""

    name, done = "pause_agent", "paused"
    about = "Pause a member of your team: it begins nothing new until resume_agent."

    @override
    async def _change(self, arguments: Arguments) -> Change:
        agent = self._member(text_in(arguments, "agent"))
        return Change(command=Pause(target=id_target(agent.id)), beyond=[], shown=self._describe(agent))


class ResumeAgentTool(ChangingTool):
    """The tool `resume_agent`: a paused member goes on; a person is asked about one that a person has paused."""

    name, done = "resume_agent", "resumed"
    about = "Let a paused member of your team go on."

    @override
    async def _change(self, arguments: Arguments) -> Change:
        agent = self._member(text_in(arguments, "agent"))
        is_persons = agent.paused and not agent.paused_by_agent
        beyond = ["work of a member that a person has paused"] if is_persons else []
        return Change(command=Resume(target=id_target(agent.id)), beyond=beyond, shown=self._describe(agent))


MANAGEMENT_TOOLS: tuple[type[ManagementTool], ...] = (
    FindAgentsTool,
    AddAgentTool,
    RemoveAgentTool,
    PauseAgentTool,
    ResumeAgentTool,
    SwapAgentTool,
)


def shown_spec(spec: AgentSpec) -> dict[str, JsonValue]:
    """Return a spec for the person who decides on it: what is not at its default, long instructions cut."""
    values: dict[str, JsonValue] = msgspec.to_builtins(spec)
    plain: dict[str, JsonValue] = msgspec.to_builtins(AgentSpec(name=spec.name))
    shown = {name: values[name] for name in field_names(spec) if values.get(name) != plain.get(name)}
    if len(spec.instructions) > MAX_SHOWN_INSTRUCTIONS:
        cut = spec.instructions[:MAX_SHOWN_INSTRUCTIONS]
        shown["instructions"] = f"{cut}… ({len(spec.instructions):,} characters)"
    return {"name": spec.name, "agent_type": spec.agent_type, **shown}
