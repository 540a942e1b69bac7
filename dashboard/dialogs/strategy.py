"""Dialog that switches a strategy: the graph before and after, kept work, and re-planned tasks."""

from collections.abc import Iterable, Mapping
from typing import Literal

from textual import on
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input, OptionList

from dashboard.dialogs.dialog import Answer, Choices, Dialog, DialogText
from dashboard.views.changes import switching
from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.view_state import ViewState
from dashboard.views.words.parsers import Mistyped, parse_settings, settings_line, split_words
from dashboard.views.words.shell_line import shell_line_to_send
from dashboard.widgets.fields import Field, Picker
from engine.core.commands import SwitchStrategy
from engine.core.errors import Refused
from engine.core.queries.targets import id_target
from engine.core.queries.team.strategies import known_strategies
from engine.core.records.records import JsonValue
from engine.core.state import Supervisor

_LED = ("delegate",)
_SYNTHESIS = ("parallel", "parallel_then_synthesis")
_JOINED = ("parallel",)
SIDE_BY_SIDE_MAX_HEIGHT = 30
"""Height below which graphs stand side by side even if they are wrapped; else the second one would be invisible."""
TALL_STACK_MIN_HEIGHT = 50
"""Minimum rows to show more nodes of a layer."""


class StrategyDialog(Dialog):
    """Choose another strategy; finished work stays."""

    BUTTON_LABEL = "Switch"

    def __init__(
        self,
        supervisor_id: str,
        mode: str | None = None,
        *,
        settings: Mapping[str, JsonValue] | None = None,
        lead: str | None = None,
        run: str | None = None,
    ) -> None:
        super().__init__()
        self._supervisor_id, self._mode = supervisor_id, mode
        self._settings, self._lead, self._run = dict(settings or {}), lead, run
        self._misnamed = ""
        self._preview_key: tuple[object, ...] = ()

    @property
    def _supervisor(self) -> Supervisor | None:
        return self.state.supervisors.get(self._supervisor_id)

    def title_line(self) -> str:
        supervisor = self._supervisor
        if supervisor is None:
            return "Strategy of a supervisor that has left"
        run = self.state.runs.get(self._run or "")
        if run is not None and run.supervisor_id == supervisor.id:  # it may have been switched alone
            return f"Strategy of {supervisor.name} in {run.id}, now {run.strategy}, joined by {supervisor.aggregation}"
        return f"Strategy of {supervisor.name}, now {supervisor.mode}, joined by {supervisor.aggregation}"

    def compose_body(self) -> Iterable[Widget]:
        yield Choices(id="choices")
        yield Field("settings", id="settings", text=settings_line(self._settings))
        for name, label in (("lead", "lead"), ("join", "joined by"), ("aggregator", "aggregator")):
            yield Picker(label, id=name)
        yield Picker("at work", id="preserve")
        yield Picker("for", id="scope")
        yield DialogText(id="consequence")
        with Horizontal(id="graphs"):
            yield DialogText(id="before")
            yield DialogText(id="after")
        yield DialogText(id="shell")

    def begin(self) -> None:
        state = self.state
        supervisor = state.supervisors[self._supervisor_id]
        offered = switching.strategies(supervisor.mode)
        choices = self.query_one(Choices)
        choices.offer(offered, self._mode)
        lead = supervisor.options.lead
        self.query_one("#lead", Picker).offer(
            switching.member_choices(state, supervisor, lead, "not set"), self._lead if self._lead != lead else None
        )
        self.query_one("#aggregator", Picker).offer(
            switching.member_choices(state, supervisor, supervisor.aggregator, "the best writer")
        )
        self.query_one("#preserve", Picker).offer(switching.PRESERVE)
        self.query_one("#scope", Picker).offer(
            switching.scope_choices(state, supervisor), switching.scope_of_run(self._run)
        )
        choices.focus()
        if self._mode is not None and self._mode not in known_strategies():
            self._misnamed = f"no strategy {self._mode!r}; there are {', '.join(known_strategies())}"
        self.update_view(self.deck.view)

    @on(OptionList.OptionHighlighted)
    def _clear_misnamed(self) -> None:
        if self._preview_key:
            self._misnamed = ""

    def update_view(self, view: ViewState) -> None:
        mode = self.query_one(Choices).chosen
        if mode is None:
            return
        self._run = switching.run_of(self.query_one("#scope", Picker).chosen)
        self._title = [Cell(self.title_line(), "strong")]
        self.update_engine(view)
        self._fit(mode)
        try:
            command = self._command(mode)
        except Mistyped as error:
            self._preview_key = (str(error),)
            self.show_problem(str(error))
            return
        if self._preview_key == (command, view.state.seq):
            return
        self._preview_key = (command, view.state.seq)
        self._show(view, command)

    def _fit(self, mode: str) -> None:
        self.query_one("#lead").display = mode in _LED
        self.query_one("#join").display = mode in _JOINED
        join, supervisor = self.query_one("#join", Picker), self._supervisor
        now = supervisor.aggregation if supervisor is not None else ""
        join.offer(switching.join_choices(now))
        synthesis = (join.chosen or now) == "synthesis" or mode != "parallel"
        self.query_one("#aggregator").display = mode in _SYNTHESIS and synthesis
        self.query_one("#settings-field").display = switching.has_settings(mode)
        self.query_one("#settings", Input).placeholder = switching.settings_hint(mode) + ";  write key=value"

    def _command(self, mode: str) -> SwitchStrategy:
        """Return the command.

        Raises:
            Mistyped: If the settings are invalid, or the supervisor is gone.
        """
        if self._supervisor is None:
            raise Mistyped("this supervisor has left the team")
        text = self.query_one("#settings", Input).value if switching.has_settings(mode) else ""
        settings = parse_settings(split_words(text)) if text.strip() else None
        scope = self.query_one("#scope", Picker).chosen
        run = switching.run_of(scope)
        kind: Literal["run", "open", "new"] = "run" if run is not None else "new" if scope == "new" else "open"
        join = self.query_one("#join", Picker).chosen if mode in _JOINED else None
        return SwitchStrategy(
            supervisor=id_target(self._supervisor_id),
            mode=mode,
            aggregation=join or None,  # type: ignore[arg-type]
            aggregator=self._picked_value("aggregator"),
            lead=self._picked_value("lead"),
            settings=settings,
            preserve_agent_states=self.query_one("#preserve", Picker).chosen != "no",
            scope=kind,
            run=run,
        )

    def _picked_value(self, name: str) -> str | None:
        picker = self.query_one(f"#{name}", Picker)
        return (picker.chosen or None) if picker.display else None

    def _show(self, view: ViewState, command: SwitchStrategy) -> None:
        from engine.core.preview import switch_event  # not for the first frame

        state = view.state
        graphs, consequence = self.query_one("#graphs"), self.text_of("consequence")
        try:
            event = switch_event(state, command)
        except Refused as error:
            self.show_problem(f"would be refused: {error}")
            graphs.display = consequence.display = False
            return
        self.show_problem(self._misnamed)
        consequence.display = True
        consequence.show(switching.describe_switch(state, event))
        shell = shell_line_to_send(state, command)
        self.text_of("shell").show_any([labelled_cell("in a shell", shell, "muted")] if shell else [])
        change = event.groups[-1] if event.groups else None
        graphs.display = change is not None
        self.query_one("#preserve").display = change is not None
        if change is not None:
            whole = max(40, min(self.size.width, 116) - 12)
            both = {"before": switching.current_graph(state, change), "after": switching.resulting_graph(state, change)}
            stack = switching.STACK if self.size.height < TALL_STACK_MIN_HEIGHT else switching.TALL_STACK
            beside = self.size.height < SIDE_BY_SIDE_MAX_HEIGHT or all(
                switching.fits_in_width(nodes, whole // 2, stack=stack) for nodes in both.values()
            )
            graphs.set_class(not beside, "-below")
            for name, nodes in both.items():
                title = Cell("now" if name == "before" else name, "muted")
                self.text_of(name).show(
                    [title, *switching.graph_cells(nodes, whole // 2 if beside else whole, stack=stack)]
                )

    def build_command(self) -> Answer:
        mode = self.query_one(Choices).chosen
        return self._command(mode) if mode is not None else None
