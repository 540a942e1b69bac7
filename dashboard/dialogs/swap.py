"""Swap and rollback dialogs: the differences of the specs, and the effect of each mode on work in progress."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.widget import Widget

from dashboard.dialogs.dialog import Answer, Choices, Dialog, DialogText
from dashboard.reading.model_table import facts_of
from dashboard.user.typed_paths import expand_path
from dashboard.views.changes.models import model_lines
from dashboard.views.changes.outcomes import rehearse
from dashboard.views.changes.swaps import (
    attempt_lines,
    candidate_line,
    describe_record,
    mode_lines,
    refusal_of,
    split_candidates,
)
from dashboard.views.changes.targets import describe_work
from dashboard.views.drawing.rows import Cell, Choice, labelled_cell
from dashboard.views.facts.spec_fields import spec_changes
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.parsers import Mistyped
from dashboard.widgets.fields import Radio
from engine.core.activities import SILENT_KINDS
from engine.core.commands import Rollback, SwapAgent, SwapAgents
from engine.core.queries.targets import id_target, shortest_target, shortest_targets
from engine.core.queries.team.models import models_to_swap, put_first, team_models
from engine.core.records.records import copy_with
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, State

if TYPE_CHECKING:
    from dashboard.user.specfile import SpecFile

_FILE, _MORE, _MODEL = "file:", "more:", "model:"


class SpecDialog(Dialog):
    """Base of swaps: the differences of two specs, and the effect of each mode on work in progress."""

    IS_ROLLBACK = False

    def __init__(self, agent_ids: Sequence[str], mode: str | None) -> None:
        super().__init__()
        self._agent_ids, self._initial_mode = agent_ids, mode
        self.generations: dict[str, int] = {}
        """Generation of each agent when the dialog was opened, which guards against concurrent swaps."""

    def compose_body(self) -> Iterable[Widget]:
        yield DialogText(id="work")
        yield Radio(id="mode")
        yield DialogText(id="each")
        yield DialogText(id="changes")
        yield DialogText(id="shell")

    def begin(self) -> None:
        self.generations = {agent.id: agent.generation for agent in self.agents()}
        activities = self.deck.view.counts.activities
        if self._initial_mode is None and any(
            activities.of_agent(agent).kind in SILENT_KINDS for agent in self.agents()
        ):
            self._initial_mode = "migrate"  # what says nothing may never drain

    @property
    def mode(self) -> str:
        return self.query_one(Radio).chosen or "drain"

    def agents(self) -> list[Agent]:
        """Return the agents that are still in the team."""
        agents = self.state.agents
        return [agents[agent_id] for agent_id in self._agent_ids if agent_id in agents]

    def compare(self, state: State, new: AgentSpec | None, shell: str, *code: Cell) -> None:
        """Show the changes of the spec, the effect on work, and the command line; `new` is None without a choice."""
        agents, ids = self.agents(), self._agent_ids
        self.query_one(Radio).offer(
            [Choice(name, name, about) for name, about in mode_lines(state, ids, is_rollback=self.IS_ROLLBACK)],
            self._initial_mode,
        )
        self._initial_mode = None
        self.text_of("changes").show_any(spec_changes(state.spec_of(agents[0]), new) if new is not None else [])
        work = describe_work(agents[0], state) if len(agents) == 1 else _work_of(agents)
        history_cells = [
            labelled_cell("so far", describe_record(agent))
            for agent in agents
            if len(agents) == 1 and agent.done + agent.failed
        ]
        self.text_of("work").show([labelled_cell("its work", work), *history_cells])
        self.text_of("each").show_any(attempt_lines(state, ids, self.mode, is_rollback=self.IS_ROLLBACK))
        shell_cells = [labelled_cell("in a shell", f"quarterdeck {shell} --mode {self.mode}", "muted")] if shell else []
        self.text_of("shell").show_any([*code, *shell_cells])


class SwapDialog(SpecDialog):
    """Choose another spec or model for one agent, or for several as one change; ids, histories and queues stay."""

    BUTTON_LABEL = "Swap"

    def __init__(
        self, *agent_ids: str, choice: str | None = None, model: str | None = None, mode: str | None = None
    ) -> None:
        super().__init__(agent_ids, mode)
        self._choice, self._typed_model = choice, model
        self._unfolded = False
        self._of_file: AgentSpec | None = None
        self._file: SpecFile | None = None

    def title_line(self) -> str:
        agents = self.agents()
        if len(agents) == 1:
            return f"Swap {agents[0].name} (g{agents[0].generation} → g{agents[0].generation + 1})"
        return f"Swap {pluralize(len(agents), 'agent')} as one change: {', '.join(agent.name for agent in agents)}"

    def compose_body(self) -> Iterable[Widget]:
        yield Choices(id="choices")
        yield from super().compose_body()

    def begin(self) -> None:
        super().begin()
        if self._choice is not None and self._choice not in self.state.registry:
            self._read_file(expand_path(self._choice))
        self._offer()
        choices = self.query_one(Choices)
        if choices.option_count:
            choices.focus()
        self.update_view(self.deck.view)

    def _offer(self, chosen: str | None = None) -> None:
        state, agents = self.state, self.agents()
        if not agents:
            return
        likely, others = split_candidates(state, agents)
        named = self._choice in others
        self._unfolded = self._unfolded or named
        spec_names = likely + (others if self._unfolded else [])
        specs = [Choice(name, name, candidate_line(state, agents, name)) for name in spec_names]
        offered = [*self._model_choices(agents), *specs]
        if self._of_file is not None:
            offered.insert(0, Choice(_FILE, self._of_file.name, f"from {self._choice}"))
        if others and not self._unfolded:
            offered.append(Choice(_MORE, f"+{len(others)}", "that share no specialty; enter shows them"))
        typed = self._choice if self._typed_model is None else _MODEL + self._typed_model
        choice = chosen or (_FILE if self._of_file is not None else typed)
        self.query_one(Choices).offer(offered, choice)
        if not offered:
            word = shortest_target(state, agents[0].id)
            self.show_problem(f"the registry has no other spec; give a file:  : swap {word} --with FILE")

    def _model_choices(self, agents: Sequence[Agent]) -> list[Choice]:
        """Return the models of the team, and the one that was typed where it is none of them."""
        facts = {name: facts_of(model) for name, model in models_to_swap(self.state, agents).items()}
        if self._typed_model is not None and self._typed_model not in facts:
            model = team_models(self.state, agents[0].supervisor_id).get(self._typed_model, self._typed_model)
            facts = {self._typed_model: facts_of(model), **facts}
        return [Choice(_MODEL + name, name, about) for name, about in model_lines(self.state, facts).items()]

    def _read_file(self, path: Path) -> None:
        from dashboard.user.specfile import read_spec_file  # slow import: needed only to read a file
        from engine.teamfile import TeamFileError

        try:
            spec_file = read_spec_file(path)
        except TeamFileError as error:
            self.show_problem(str(error).split("\n", 1)[0])
            return
        if len(spec_file.agents) != 1:
            self.show_problem(f"{path} has {len(spec_file.agents)} agents; a swap takes a file with one")
            return
        self._of_file, self._file = spec_file.agents[0], spec_file

    def update_view(self, view: ViewState) -> None:
        agents, new = self.agents(), self._spec()
        refusal = refusal_of(view.state, self._agent_ids, self.mode)
        if new is not None and not refusal:
            refusal = rehearse(view.state, self._command(new), view.now_ms).refusal
        if not agents:
            self.show_problem(refusal)
            return
        self.show_problem(f"would be refused: {refusal}" if refusal else "")
        code = []
        if self._file is not None and self._file.references and new is self._of_file:
            runs = f"runs {', '.join(self._file.references)}; swapping trusts it"
            code.append(labelled_cell("code", runs, "draining"))
        shell = ""
        if new is not None:
            named = shortest_targets(view.state)
            shell = f"swap {' '.join(named[agent.id] for agent in agents)} {self._shell_option(new)}"
        self.compare(view.state, new, shell, *code)

    def _shell_option(self, new: AgentSpec) -> str:
        if self._model is not None:
            return f"--model {shlex.quote(self._model)}"
        return f"--with {shlex.quote(str(expand_path(self._choice or ''))) if new is self._of_file else new.name}"

    @property
    def _model(self) -> str | None:
        """The chosen model; None if a spec is chosen."""
        chosen = self.query_one(Choices).chosen or ""
        return chosen.removeprefix(_MODEL) if chosen.startswith(_MODEL) else None

    def _spec(self) -> AgentSpec | None:
        """Return the chosen spec; for a model that of the first agent, with it."""
        chosen, state, agents = self.query_one(Choices).chosen, self.state, self.agents()
        if self._model is not None:
            spec = state.spec_of(agents[0]) if agents else None
            return copy_with(spec, model=put_first(spec.model, self._model)) if spec is not None else None
        if chosen == _FILE:
            return self._of_file
        return state.specs[state.registry[chosen]] if chosen in state.registry else None

    def answer(self) -> Answer:
        if self.query_one(Choices).chosen == _MORE:
            self._unfold()
            return None
        command, file = super().answer(), self._file
        if command is None or file is None or self._spec() is not self._of_file:
            return command
        return command if self.deck.trust.trust_code(file.references, file.path, file.sha256) else None

    def build_command(self) -> Answer:
        new = self._spec()
        if new is None:
            raise Mistyped("choose a spec first")
        return self._command(new)

    def _command(self, new: AgentSpec) -> SwapAgent | SwapAgents:
        swaps = [self._swap_command(agent_id, new) for agent_id in self._agent_ids]
        return swaps[0] if len(swaps) == 1 else SwapAgents(swaps=swaps)

    def _unfold(self) -> None:
        self._unfolded = True
        _, others = split_candidates(self.state, self.agents())
        self._offer(others[0])

    def _swap_command(self, agent_id: str, new: AgentSpec) -> SwapAgent:
        swap = SwapAgent(agent=id_target(agent_id), mode=self.mode, generation=self.generations.get(agent_id))
        if self._model is not None:
            return copy_with(swap, model=self._model)
        return copy_with(swap, spec=new) if new is self._of_file else copy_with(swap, registered=new.name)


class RollbackDialog(SpecDialog):
    """Show the previous spec, and the effect of a rollback on its work."""

    BUTTON_LABEL = "Roll back"
    IS_ROLLBACK = True

    def __init__(self, agent_id: str, mode: str | None = None) -> None:
        super().__init__([agent_id], mode)

    def title_line(self) -> str:
        (agent,) = self.agents()
        return f"Roll {agent.name} back (g{agent.generation} → g{agent.generation + 1})"

    def begin(self) -> None:
        super().begin()
        self.update_view(self.deck.view)
        self.query_one(Radio).focus()

    def update_view(self, view: ViewState) -> None:
        state, agents = view.state, self.agents()
        if not agents:
            self.show_problem("this agent has left the team")
            return
        before, word = state.specs.get(agents[0].previous or ""), shortest_target(state, agents[0].id)
        self.compare(state, before, f"rollback {word}")
        rehearsal = rehearse(state, self.build_command(), view.now_ms)
        self.show_problem(f"would be refused: {rehearsal.refusal}" if rehearsal.refusal else "")

    def build_command(self) -> Rollback:
        agent_id = self._agent_ids[0]
        return Rollback(agent=id_target(agent_id), mode=self.mode, generation=self.generations.get(agent_id))


def _work_of(agents: Sequence[Agent]) -> str:
    at_work = sum(len(agent.running) + len(agent.parked) for agent in agents)
    return f"{pluralize(at_work, 'attempt')} under way on {pluralize(len(agents), 'agent')}"
