"""Programs that work in a git worktree of their own, which is never removed with work that is nowhere else."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from engine import DynamicSupervisor, Unusable
from engine.core.specs.spec import AgentSpec
from engine.runtimes.programs.worktree import describe_worktrees, make_worktree, remove_worktree
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engines
from tests.runtime.test_jsonl_agents import speaker, steps
from tests.runtime.test_process_agents import cancelled, program, shown

pytestmark = pytest.mark.anyio

GIT = ("git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org")
COMMIT = " ".join(f"'{word}'" for word in GIT) + " commit --quiet -m more"


def git(folder: Path, *words: str) -> str:
    done = subprocess.run([*GIT, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with one file, a folder, and hooks that would be seen."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "repository"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "file").write_text("one\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "First")
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    return folder


def branches(repository: Path) -> list[str]:
    return git(repository, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def at_work(command: str, **options: Any) -> AgentSpec:
    return program("sh", "-c", command, worktree=True, **options)


def in_folder(folder: Path) -> dict[str, Any]:
    return {"host": {"folder": folder}}


async def test_it_works_on_a_branch_of_its_own_and_nothing_is_left_of_nothing(
    engine: Engines, repository: Path, tmp_path: Path
) -> None:
    async with engine(at_work("pwd; git branch --show-current; cat file", cwd="below"), **in_folder(repository)) as it:
        where, branch, content = str(await it.ask()).split("\n")

    assert (branch, content) == ("quarterdeck/t2-1", "one")
    assert where.startswith(str(tmp_path / "data" / "quarterdeck" / "worktrees"))
    assert where.endswith("/t2-1/below")
    assert branches(repository) == ["main"]
    assert not list(describe_worktrees())
    assert not (tmp_path / "hooked").exists()
    assert "worktree" not in git(repository, "worktree", "list")


async def test_an_output_that_has_a_schema_gets_no_note_of_work_that_is_left(engine: Engines, repository: Path) -> None:
    spec = msgspec.structs.replace(at_work("echo two > new; echo '\"done\"'"), output={"type": "string"})
    async with engine(spec, **in_folder(repository)) as running:
        assert await running.ask() == "done"
        *_, told = await steps(running)

    assert told[1]["left"] == "1 uncommitted file"


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("echo two > file", "1 uncommitted file"),
        ("echo new > other", "1 uncommitted file"),
        (f"echo two > file; {COMMIT} -a", "1 commit"),
        (f"echo two > file; {COMMIT} -a; git checkout -q --detach; echo 3 > file; {COMMIT} -a; touch x",
         "2 commits and 1 uncommitted file"),
    ],
)  # fmt: skip
async def test_work_that_is_nowhere_else_stays_and_is_told(
    engine: Engines, repository: Path, tmp_path: Path, command: str, left: str
) -> None:
    async with engine(at_work(f"echo done; cd below; {command}"), **in_folder(repository)) as running:
        output = str(await running.ask())
        *_, told = await steps(running)

    path = told[1]["path"]
    assert output == f"done\n\nThe branch quarterdeck/t2-1 has {left} in {path}"
    assert told == ("worktree", {"path": path, "branch": "quarterdeck/t2-1", "left": left})
    assert branches(repository) == ["main", "quarterdeck/t2-1"]
    (Path(path).parent / ".DS_Store").write_bytes(b"")  # a file browser has been there
    ((found, words),) = describe_worktrees()
    assert str(found) == path
    assert left in words
    assert (repository / "below" / "file").read_text() == "one\n"


async def test_work_that_another_branch_has_is_not_kept_twice(engine: Engines, repository: Path) -> None:
    command = f"echo two > below/file; {COMMIT} -a; git branch feature"

    async with engine(at_work(command), **in_folder(repository)) as running:
        assert await running.ask() == ""

    assert branches(repository) == ["feature", "main"]


async def test_a_name_that_is_taken_is_not_taken_again(engine: Engines, repository: Path) -> None:
    git(repository, "branch", "quarterdeck/t2-1")

    async with engine(at_work("git branch --show-current"), **in_folder(repository)) as running:
        assert await running.ask() == "quarterdeck/t2-1-2"

    assert branches(repository) == ["main", "quarterdeck/t2-1"]


async def test_a_failed_and_a_cancelled_attempt_leave_their_work_too(engine: Engines, repository: Path) -> None:
    async with engine(at_work("echo two > below/file; exit 1"), **in_folder(repository)) as running:
        await running.fails()
        assert (await steps(running))[-1][1]["left"] == "1 uncommitted file"
    async with engine(at_work("echo two > below/file; echo x; sleep 1000"), **in_folder(repository)) as running:
        run_id = await running.submit()
        await shown(running, "output")
        await cancelled(running, run_id)
        assert "quarterdeck/t2-1-2" in branches(repository)


async def test_a_program_with_steps_goes_on_where_it_was(engine: Engines, repository: Path, tmp_path: Path) -> None:
    code = """
import os
if task["steps"]: say(type='result', output=[os.getcwd(), open('begun').read()])
else:
    open('begun', 'w').write(os.getcwd()); say(type='step', name='begun'); time.sleep(1000)
"""
    spec = speaker(code, worktree=True)
    async with engine(spec, path=tmp_path / "team.db", **in_folder(repository)) as running:
        await running.submit()
        with anyio.fail_after(PATIENCE_S):
            while len(await steps(running)) < 2:
                await anyio.lowlevel.checkpoint()

    async with engine(path=tmp_path / "team.db", **in_folder(repository)) as running:
        _, output = await running.ended("r1")

    assert isinstance(output, list)
    assert output[0] == output[1]
    assert branches(repository) == ["main", "quarterdeck/t2-1"]


async def test_many_at_once_each_have_their_own(engine: Engines, repository: Path) -> None:
    agents = [
        AgentSpec(name=f"a{number}", agent_type="process", options={"argv": ["pwd"], "worktree": True})
        for number in range(8)
    ]
    async with engine(*agents, mode="parallel", **in_folder(repository)) as running:
        output = str(await running.ask())

    assert len({line for line in output.split("\n") if "worktrees" in line}) == 8
    assert branches(repository) == ["main"]


async def test_git_is_asked_one_thing_at_a_time_where_worktrees_come_and_go(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "tool" / "git"
    tool.parent.mkdir()
    tool.write_text(
        f"""#!/bin/sh
mkdir {tmp_path}/busy 2>/dev/null || touch {tmp_path}/two_at_once
{shutil.which("git")} "$@"
status=$?
rmdir {tmp_path}/busy 2>/dev/null
exit $status
"""
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")

    def come_and_go(number: int) -> object:
        return remove_worktree(make_worktree(repository, f"t{number}-1"))

    with ThreadPoolExecutor(6) as threads:
        assert [*threads.map(come_and_go, range(6))] == [None] * 6

    assert not (tmp_path / "two_at_once").exists()
    assert branches(repository) == ["main"]


@pytest.mark.parametrize(
    ("ready", "said"),
    [
        (lambda folder: None, "'worktree' needs a git repository, and .* is in none"),
        (lambda folder: git(folder, "init"), "'worktree' needs a commit to begin from"),
    ],
)
async def test_where_there_is_no_repository_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ready: Any, said: str
) -> None:
    ready(tmp_path)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(Unusable, match=said):
        await DynamicSupervisor(name="desk", agent_specs=[at_work("pwd")]).arun("go")


async def test_without_git_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tool").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Unusable, match="'worktree' needs git, which is not in PATH"):
        await DynamicSupervisor(name="desk", agent_specs=[program("tool", worktree=True)]).arun("go")
