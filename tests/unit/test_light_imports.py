"""What a person waits for at every start stays light: the heavy libraries load where they are first needed."""

import ast
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"litellm", "mcp", "opentelemetry", "ray", "textual"}
SCREEN = "textual"
"""Imported by many files of the dashboard, never on a path without a screen."""

SEEN = "import sys, json; print(json.dumps(sorted(set({heavy!r}) & set(sys.modules))))"


def loaded_by(program: str, heavy: Set[str] = HEAVY) -> list[str]:
    """Heavy modules in `sys.modules` after `program` ran in an interpreter of its own."""
    code = f"{program}\n{SEEN.format(heavy=sorted(heavy))}"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


IMPORT_EVERYTHING_AND_ASK_EVERY_COMMAND_FOR_HELP = """
import dashboard, engine, quarterdeck, store
from dashboard.cli import main
from dashboard.cli.group import COMMANDS
assert main(["--help"]) == 0
assert [name for name in COMMANDS if main([name, "--help"]) != 0] == []
"""


def test_neither_an_import_nor_the_help_of_any_command_loads_a_heavy_library() -> None:
    assert loaded_by(IMPORT_EVERYTHING_AND_ASK_EVERY_COMMAND_FOR_HELP) == []


def test_commands_that_read_no_team_file_and_fork_nothing_load_neither_their_reader_nor_the_engine() -> None:
    program = "import dashboard.cli.lists, dashboard.cli.members, dashboard.cli.steps, dashboard.cli.work"

    assert loaded_by(program, {"engine.host", "engine.teamfile", "pydantic"}) == []


def test_the_first_screen_is_loaded_without_what_only_keys_and_work_need() -> None:
    program = "import dashboard.app.running, dashboard.screens.network"
    later = {
        "engine.supervisor.client", "dashboard.reading.comparing", "dashboard.frame.page_screen",
        "dashboard.app.palette", "dashboard.views.graph", "markdown_it", "regex", "tomllib",
    }  # fmt: skip

    assert loaded_by(program, later) == []


LOAD_A_DASHBOARD_AS_THE_PROGRAM_DOES = """
import gc, sys
from dashboard.__main__ import main
sys.argv[1:] = ["--help"]
main()
before = gc.get_stats()
import dashboard.app.running, dashboard.screens.network
assert gc.get_stats() == before, gc.get_stats()
"""


def test_no_garbage_is_collected_while_a_dashboard_is_loaded() -> None:
    assert loaded_by(LOAD_A_DASHBOARD_AS_THE_PROGRAM_DOES, set()) == []


def test_a_team_file_is_read_without_the_event_loop(tmp_path: Path) -> None:
    file = tmp_path / "team.yaml"
    file.write_text(
        "version: 1\nsupervisor: {name: s}\nagents: [{name: a, script: [{output: x}]}, {name: b, model: m}]\n"
    )
    program = f"from engine.teamfile import read_team; read_team({str(file)!r}).load_command()"

    assert loaded_by(program, {"anyio", "asyncio"}) == []


def test_a_program_that_makes_a_supervisor_loads_no_model_runtime_before_an_agent_needs_it() -> None:
    program = "from quarterdeck import AgentSpec, DynamicSupervisor; DynamicSupervisor(name='desk')"

    heavy = {"docstring_parser", "engine.runtimes.model.runtime", "engine.teamfile", "pydantic", "yaml"}

    assert loaded_by(program, heavy) == []


def test_an_engine_loads_no_reader_of_team_files_and_no_runtime_before_an_agent_needs_it() -> None:
    program = "import dashboard.cli.engines.engine, dashboard.cli.engines.engine_process"
    heavy = {"engine.runtimes.model.runtime", "engine.runtimes.scripted", "engine.teamfile", "pydantic", "yaml"}

    assert loaded_by(program, heavy) == []


def test_a_standby_has_every_runtime_before_it_takes_over() -> None:
    program = "import anyio; from dashboard.cli.engines.readiness import rehearse; anyio.run(rehearse)"
    runtimes = {
        f"engine.runtimes.{name}" for name in ("functions.function", "scripted", "model.runtime", "programs.acp")
    }

    assert loaded_by(program, runtimes) == sorted(runtimes)


def test_a_runtime_of_models_loads_no_parser_of_docstrings_before_a_tool_is_described() -> None:
    assert (
        loaded_by("import engine.runtimes.model.runtime, engine.runtimes.toolbox.schemas", {"docstring_parser"}) == []
    )


def test_heavy_libraries_are_imported_in_one_file_each_and_inside_a_function() -> None:
    files = defaultdict(set)
    at_import_time = []
    for package in ("dashboard", "engine", "quarterdeck", "store"):
        for path in (ROOT / package).rglob("*.py"):
            anywhere, at_once = heavy_imports(path.read_text(encoding="utf-8"))
            for name in anywhere:
                files[name].add(path.relative_to(ROOT).as_posix())
            at_import_time += [f"{path.relative_to(ROOT)}: {name}" for name in at_once]

    assert at_import_time == []
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


def heavy_imports(source: str) -> tuple[set[str], set[str]]:
    """Heavy libraries that a module imports anywhere, and those that it imports as it is imported itself."""
    if not any(name in source for name in HEAVY - {SCREEN}):
        return set(), set()
    tree = ast.parse(source)
    return _heavy(ast.walk(tree)), _heavy(_outside_functions(tree))


def _heavy(nodes: Iterable[ast.AST]) -> set[str]:
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names & (HEAVY - {SCREEN})


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run when the module is imported; those under `if TYPE_CHECKING` never do."""
    waiting = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                waiting.extend(node.orelse)
                continue
            yield node
            waiting.append(node)


@pytest.mark.parametrize(
    ("source", "anywhere", "at_once"),
    [
        ("import litellm", {"litellm"}, {"litellm"}),
        ("try:\n    from ray.util import queue\nexcept ImportError: ...", {"ray"}, {"ray"}),
        ("def call():\n    import litellm.exceptions", {"litellm"}, set()),
        ("if TYPE_CHECKING:\n    import mcp", {"mcp"}, set()),
        ("from dashboard import ray", set(), set()),
        ("from . import mcp", set(), set()),
    ],
)
def test_a_heavy_import_is_seen_where_it_stands(source: str, anywhere: set[str], at_once: set[str]) -> None:
    assert heavy_imports(source) == (anywhere, at_once)
