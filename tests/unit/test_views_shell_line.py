"""What the audit shows as a command line is one that the command line takes."""

import shlex

import click
import pytest

from dashboard.cli import quarterdeck
from dashboard.cli.group import COMMANDS
from dashboard.views.words.shell_line import describe_command, shell_line, shell_line_to_send
from engine.core import commands as on
from engine.core.commands import Command
from engine.core.queries.work.excerpts import args_of
from tests.world import agent, team_world

SPEC = agent("scout", "scan")
SAID: list[tuple[Command, str]] = [
    (on.Submit(request="Look at it", supervisor="chief", priority=2, deadline_s=90.0),
     "run 'Look at it' --supervisor chief --priority 2 --deadline 90s"),
    (on.SetPriority(target="r1", priority=0), "priority r1 0"),
    (on.SetDeadline(target="r1", deadline_s=60.0), "deadline r1 60s"),
    (on.SetDeadline(target="r1"), "deadline r1 none"),
    (on.Reassign(task="t1", agent="@a1", now=True), "reassign t1 @a1 --now"),
    (on.Answer(escalation="e1", answer="retry"), "answer e1 retry"),
    (on.Answer(escalation="e1", answer="reply", output={"a": 1}), "answer e1 reply --output-json '{\"a\": 1}'"),
    (on.Cancel(target="r1"), "cancel r1"),
    (on.Cancel(target="r1", reason="too dear"), "cancel r1 --reason 'too dear'"),
    (on.Abort(target="t1"), "abort t1"),
    (on.Steer(target="t1", text="hurry; rm -rf /", now=True), "steer t1 'hurry; rm -rf /' --now"),
    (on.RetryWork(target="t1"), "retry t1"),
    (on.SwitchStrategy(supervisor="chief", mode="parallel", aggregation="concat", settings={"returns": 2}),
     "strategy chief parallel --aggregation concat --set returns=2"),
    (on.Undo(command_id="c1"), "undo c1"),
    (on.Undo(command_id="5f3a9c01d2e4b6a8901c3d5e7f9a1b2c"), "undo 5f3a9c01"),
    (on.Undo(), "undo"),
    (on.RemoveMember(target="scout", mode="drain"), "remove scout --mode drain"),
    (on.AddAgent(supervisor="chief", spec=SPEC), "add scout.yaml --under chief"),
    (on.SwapAgent(agent="scout", registered="fast", mode="migrate", rollback_failures=2),
     "swap scout --with fast --mode migrate --rollback-after 2/10"),
    (on.SwapAgent(agent="scout", spec=SPEC), "swap scout --with scout.yaml"),
    (on.SwapAgents(swaps=[on.SwapAgent(agent="a", registered="x"), on.SwapAgent(agent="b", registered="x")]),
     "swap a b --with x"),
    (on.Rollback(agent="scout"), "rollback scout"),
    (on.ChangeCapabilities(agent="scout", add=["a", "b"], remove=["c"]), "capability scout --add a --add b --remove c"),
    (on.Move(target="scout", parent="survey"), "move scout survey"),
    (on.ChangeSupervisor(supervisor="chief", max_parallel=3), "set chief --max-parallel 3"),
    (on.Pause(target="@a1"), "pause @a1"),
    (on.Resume(target="chief/scout"), "resume chief/scout"),
]  # fmt: skip


def as_kept(command: Command) -> str:
    return shell_line(command.type, args_of(command))


@pytest.mark.parametrize(("command", "line"), SAID, ids=[line for _, line in SAID])
def test_a_command_is_said_as_its_command_line(command: Command, line: str) -> None:
    assert as_kept(command) == f"quarterdeck {line}"


@pytest.mark.parametrize("line", [line for _, line in SAID])
def test_the_command_line_knows_every_word_of_it(line: str) -> None:
    name, *words = shlex.split(line)
    assert isinstance(quarterdeck, click.Group)
    subcommand = quarterdeck.get_command(click.Context(quarterdeck), name)
    assert subcommand is not None
    options = {opt for one in subcommand.params for opt in (*one.opts, *one.secondary_opts)}

    assert [word for word in words if word.startswith("--") and word.split("=")[0] not in options] == []


def test_every_command_that_is_not_sent_by_python_alone_is_said_as_a_command_line() -> None:
    silent = {kind for kind in on.COMMAND_KINDS if shell_line(kind, {}) == ""}

    assert silent == {"register_spec", "unregister_spec", "create_agent", "ping"}


def test_every_command_line_begins_with_a_subcommand() -> None:
    lines = filter(None, (shell_line(kind, {}) for kind in on.COMMAND_KINDS))
    missing = sorted({shlex.split(line)[1] for line in lines} - COMMANDS.keys())

    assert missing == [], "name them in SECTIONS of dashboard/cli/group.py, or the command in _WAYS"


def test_what_only_python_sends_is_said_in_words() -> None:
    command = on.RegisterSpec(spec=SPEC)

    assert as_kept(command) == ""
    assert describe_command(command.type, args_of(command)) == "register spec scout"


def test_what_is_to_be_sent_names_members_as_a_person_would() -> None:
    state = team_world(agent("scout", "scan"), agent("twin", "scan")).state

    swaps = [on.SwapAgent(agent=f"@{one}", registered="x") for one in state.agents]

    assert (
        shell_line_to_send(state, on.SwitchStrategy(supervisor="@s1", mode="parallel"))
        == "quarterdeck strategy chief parallel"
    )
    assert shell_line_to_send(state, on.Steer(target="@a1", text="@a1")) == "quarterdeck steer scout @a1"
    assert shell_line_to_send(state, on.SwapAgents(swaps=swaps)) == "quarterdeck swap scout twin --with x"
