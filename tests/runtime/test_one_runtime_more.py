"""A new runtime is one file in `engine/runtimes`, one line in the catalogue and its test: nothing else is touched."""

from pathlib import Path

from tests.copies import run_on_copy

RUNTIME = '''"""Runtime `echo`: agents that repeat their text."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.specs.spec import AgentSpec
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Runtime
from engine.runtimes.code import Code
from engine.runtimes.kinds import AgentKind
from engine.runtimes.options import options_in


class EchoOptions(BaseModel):
    """Options of the type `echo`."""

    model_config = ConfigDict(extra="forbid")

    times: Annotated[int, Field(ge=1, le=10)] = 1
    """How often an agent repeats its text."""


class EchoRuntime:
    """Repeats the text of each task."""

    def __init__(self, options: EchoOptions) -> None:
        self._options = options

    async def check(self) -> None:
        """Do nothing: there is nothing to prepare."""

    async def execute(self, work: Work) -> JsonValue:
        """Return the text as often as the options say."""
        return " ".join([as_text(await work.value())] * self._options.times)


def echo_runtime(spec: AgentSpec, code: Code) -> Runtime:
    """Create the runtime of a spec of type `echo`."""
    return EchoRuntime(options_in(spec, EchoOptions))


KINDS: Mapping[str, AgentKind] = {
    "echo": AgentKind(
        words="an agent that echoes",
        factory="engine.runtimes.echo:echo_runtime",
        options=EchoOptions,
        unused=("run", "run_in", "tools", "model", "instructions", "mcp", "may", "approve", "output"),
    )
}
'''
BEFORE = '    "process": "engine.runtimes.programs.options",\n'
LINE = '    "echo": "engine.runtimes.echo",\n'


def test_a_file_and_a_line_are_a_runtime_whose_options_and_keys_are_checked(tmp_path: Path) -> None:
    def add_runtime(product: Path) -> None:
        runtimes = product / "engine" / "runtimes"
        (runtimes / "echo.py").write_text(RUNTIME)
        catalogue = runtimes / "catalogue.py"
        text = catalogue.read_text()
        assert BEFORE in text
        catalogue.write_text(text.replace(BEFORE, f"{LINE}{BEFORE}"))

    run_on_copy(tmp_path, add_runtime, "tests/runtime/one_runtime_more.py")
