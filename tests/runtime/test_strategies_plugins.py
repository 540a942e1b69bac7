"""A strategy of somebody's own, found by the entry point of an installed package."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest

from engine.core.commands import SwitchStrategy
from engine.core.strategies import STRATEGIES
from engine.core.strategies.validation import validate
from engine.core.strategies.wiring import Nodes
from engine.platform.strategies_plugins import GROUP, load_strategies
from tests.patience import PATIENCE_S
from tests.story import applied, done, ended, submitted, works
from tests.world import agent, team_world

PAGE = Path(__file__).resolve().parents[2] / "docs/semantics/strategies.md"
RELAY = PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
"""The example of the page."""
OTHERS = """


class Tangle(Relay):
    name = "tangle"

    def wire(self, nodes):
        raise ZeroDivisionError("oh")


class Solo(Relay):
    name = "solo"

    def wire(self, nodes):
        layout = Layout(nodes)
        return layout.finished(layout.work(nodes.cast[0]))


class Dense(Solo):
    name = "dense"
    is_sparse = False


class Vague(Relay):
    name = "vague"
    is_sparse = "sometimes"


class Nameless(Relay):
    name = "Not A Name"


class Sequential(Relay):
    name = "sequential"
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages in which one with strategies is installed."""
    (tmp_path / "relay_strategies.py").write_text(RELAY + OTHERS, encoding="utf-8")
    info = tmp_path / "relay_strategies-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: relay-strategies\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[{GROUP}]\n"
        "relay = relay_strategies:Relay\n"
        "tangle = relay_strategies:Tangle\n"
        "solo = relay_strategies:Solo\n"
        "dense = relay_strategies:Dense\n"
        "vague = relay_strategies:Vague\n"
        "nameless = relay_strategies:Nameless\n"
        "same = relay_strategies:Sequential\n"
        "gone = relay_strategies_that_are_not_there:X\n"
        "half = relay_strategies:Sequence\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    before = dict(STRATEGIES)
    yield tmp_path
    STRATEGIES.clear()
    STRATEGIES.update(before)


def faults_of(folder: Path) -> list[str]:
    (package,) = distributions(path=[str(folder)])
    return load_strategies(package.entry_points)


def test_a_strategy_of_an_installed_package_is_known_and_can_be_switched_to(installed: Path) -> None:
    faults_of(installed)
    world = team_world(agent("ada"), agent("bob"), agent("cyd"))
    applied(world, SwitchStrategy(mode="relay"))
    submitted(world)
    for name in ("cyd", "bob", "ada"):
        assert works(world) == [name]
        done(world, name)

    assert ended(world).output == "from ada"


@pytest.mark.parametrize(
    ("mode", "order"), [("solo", ["ada", "bob", "cyd"]), ("dense", ["ada"])], ids=["says nothing", "is not sparse"]
)
def test_members_that_it_left_out_take_part_after_a_switch_where_it_may_leave_members_out(
    installed: Path, mode: str, order: list[str]
) -> None:
    faults_of(installed)
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode=mode)
    submitted(world)
    assert works(world) == ["ada"]

    applied(world, SwitchStrategy(mode="sequential"))
    world.settle()

    assert [start.agent for start in world.starts] == order


def test_it_is_found_among_everything_that_is_installed(installed: Path) -> None:
    assert load_strategies()

    assert "relay" in STRATEGIES


def test_what_cannot_be_used_is_told_in_one_line_each_and_the_others_work(installed: Path) -> None:
    faults = faults_of(installed)

    assert [fault.split("'")[1] for fault in faults] == ["vague", "nameless", "same", "gone", "half"]
    assert all("relay-strategies" in fault or "cannot be used" in fault for fault in faults)
    assert not any("\n" in fault for fault in faults)
    assert "its is_sparse is 'sometimes'; it is true or false" in faults[0]
    assert {"relay", "tangle", "solo", "dense"} <= set(STRATEGIES)


def test_loading_twice_changes_nothing(installed: Path) -> None:
    assert faults_of(installed) == faults_of(installed)


def test_a_strategy_that_breaks_down_fails_the_run_and_not_the_engine(installed: Path) -> None:
    faults_of(installed)
    world = team_world(agent("ada"), mode="tangle")
    submitted(world)

    assert ended(world).error == "the strategy tangle failed: ZeroDivisionError: oh"


def test_what_it_wires_can_be_drawn(installed: Path) -> None:
    faults_of(installed)
    members = {"t1": "ada", "t2": "bob", "t3": "cyd"}
    nodes = Nodes(done=["t1"], unstarted=["t2", "t3"], members=members, cast=list(members.values()))

    validate("relay", STRATEGIES["relay"].wire(nodes), nodes)


PROGRAM = """
import asyncio
from quarterdeck import AgentSpec, DynamicSupervisor


async def work(text): return text


team = DynamicSupervisor(
    name="desk", coordination_mode="relay", agent_specs=[AgentSpec(name=name, run=work) for name in ("ada", "bob")]
)
print(asyncio.run(team.arun("go")).status, team.coordination_mode)
"""


def said_by(program: str, installed: Path) -> tuple[str, str]:
    path = os.pathsep.join([str(installed), str(Path(__file__).resolve().parents[2])])
    ran = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    return ran.stdout, ran.stderr


def test_a_program_names_it_like_one_that_is_built_in(installed: Path) -> None:
    assert said_by(PROGRAM, installed) == ("done relay\n", "")


DIALOG = """
import dashboard.app.app
from dashboard import dialogs
from engine.core.strategies import STRATEGIES

before = "relay" in STRATEGIES
dialogs.strategy.StrategyDialog
print(before, "relay" in STRATEGIES)
"""


def test_the_dashboard_looks_for_it_with_the_first_dialog_and_not_before(installed: Path) -> None:
    assert said_by(DIALOG, installed) == ("False True\n", "")
