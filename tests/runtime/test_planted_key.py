"""A key planted in the environment of an engine is found in no file, screen, archive, list or child of it."""

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.app.app import QuarterdeckApp
from dashboard.deck.places import places
from dashboard.engines.process import Detached
from engine.core.commands import Submit
from engine.reading.folding import fold_file
from engine.supervisor.client import Client
from tests.model_server import Say, model_server
from tests.pilot.engines import until as until_shown
from tests.runtime.shell import Run, shell_on, team_at_work, until

KEY = "planted-Xq7TzR2vLw9KpB4m"
"""Like no key that is known: nothing but its value could give it away."""
SERVER = Path(__file__).with_name("tool_server.py")
TEAM = """\
version: 1
models:
  fast: {{model: openai/tested, base_url: "{url}", key_env: TEAM_KEY}}
mcp:
  tools: {{argv: ["{python}", "{server}", stdio]}}
supervisor: {{name: chief, strategy: parallel, participants: [writer, envy, hand]}}
agents:
  - {{name: writer, type: ReactAgent, model: fast, mcp: [tools], on_failure: [fail]}}
  - {{name: envy, type: process, options: {{argv: [env], input: stdin}}}}
  - {{name: hand, run: "hands:work"}}
"""
HANDS = """\
async def work(text):
    return text
"""
LISTS = (
    "ps", "agents", "tasks", "runs", "events", "steps t1", "inbox", "grants", "doctor --verify",
    "wait r1", "wait r2", "replay r1", "check team.yaml", "trust --list", "cancel r1",
)  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Detached]:
    """A team whose model has answered, and then was refused by a provider that repeats the key."""
    folder = tmp_path_factory.mktemp("planted")
    with pytest.MonkeyPatch.context() as patch, model_server() as server:
        for name in ("TEAM_KEY", "OPENAI_API_KEY", "OTHER_TOKEN"):
            patch.setenv(name, KEY)
        patch.chdir(folder)
        refusal = Say(status=401, message=f"Incorrect API key provided: {KEY}. You sent 'Bearer {KEY}'.")
        server.say(Say(calls=[("environment", {})]), Say("All is well."), refusal)
        text = TEAM.format(url=server.url, python=sys.executable, server=SERVER)
        with team_at_work(folder, text, HANDS) as engine:
            for request in ("Look around", "Look again"):
                client = Client(engine.db)
                client.perform(Submit(request=request))
                until(engine.db, lambda state: not state.runs)
            assert [seen.headers["Authorization"] for seen in server.seen] == [f"Bearer {KEY}"] * 3
            yield engine


@pytest.fixture
def run(engine: Detached, capsys: pytest.CaptureFixture[str]) -> Run:
    return shell_on(engine.db, capsys)


def test_a_planted_key_is_in_no_file_and_no_archive(engine: Detached, run: Run) -> None:
    folder = engine.db.parent
    assert run("export", folder / "team.qdeck")[0] == 0
    assert run("fork", folder / "fork.db", "--at", fold_file(engine.db).seq)[0] == 0

    found = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with zipfile.ZipFile(folder / "team.qdeck") as archive:
        found |= {f"team.qdeck/{name}": archive.read(name) for name in archive.namelist()}
    assert {"team.db", "team.db-live", "team.db.log", "team.qdeck/state.json", "fork.db"} <= found.keys()
    assert any(b"PATH=" in content for content in found.values())  # what the program found around it
    assert not any(b"OTHER_TOKEN" in content for content in found.values())
    assert [name for name, content in found.items() if KEY.encode() in content] == []


def test_a_planted_key_is_in_nothing_that_a_command_prints(run: Run) -> None:
    printed = {}
    for words in LISTS:
        for more in ((), ("--json",)):
            _, out, err = run(*words.split(), *more)
            assert out or err, words
            printed[words, *more] = out + err

    assert "OPENAI_API_KEY" in printed["doctor --verify",]
    assert "Incorrect API key provided: [key]" in printed["events",]
    assert [words for words, text in printed.items() if KEY in text] == []


@pytest.mark.anyio
async def test_a_planted_key_is_on_no_screen(engine: Detached) -> None:
    app = QuarterdeckApp(engine.db)
    seen: dict[str, str] = {}
    async with app.run_test(size=(200, 60)) as pilot:
        await until_shown(pilot, lambda: len(app.feed.state.finished) == 2)
        for place in places():
            app.action_go(place)
            await pilot.pause()
            seen[place] = shown(app)
            for row in range(2):  # as many as there are runs
                await pilot.press("enter")
                await pilot.pause()
                seen[f"{place} {row}"] = shown(app)
                await pilot.press("escape", "down")
        await pilot.press("question_mark")
        seen["help"] = shown(app)

    assert "writer" in seen["agents"]
    assert any("Incorrect API key provided: [key]" in text for text in seen.values())
    assert [place for place, text in seen.items() if KEY in text] == []


def shown(app: QuarterdeckApp) -> str:
    """Return what stands on the screen."""
    return "\n".join("".join(one.text for one in strip) for strip in app.screen._compositor.render_strips())


def test_children_of_an_engine_do_not_find_a_key_that_they_did_not_ask_for(engine: Detached) -> None:
    found = {child: Path(f"/proc/{child}/environ").read_bytes() for child in below(engine.process.pid)}

    assert len(found) >= 2  # who talks to providers, and the tool server
    assert [child for child, content in found.items() if KEY.encode() in content] == []


def below(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have."""
    children = [int(one) for file in Path(f"/proc/{pid}/task").glob("*/children") for one in file.read_text().split()]
    return [each for child in children for each in (child, *below(child))]
