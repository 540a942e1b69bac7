"""A team of models behind an HTTP server, whose engine is killed at each step of its run.

The server, the journal and the tool's own log are three witnesses of what was asked and called. Rule: within the life
of one engine nothing is asked twice, and nothing that the journal had at its death is asked again.
"""

import json
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeGuard

from dashboard.cli.trust import allow, assign
from dashboard.engines.process import Detached, log_of, start_engine
from engine.core.commands import Submit
from engine.core.events import Delegated, Event, RunFinished, RunSubmitted, StepRecorded
from engine.reading.folding import events_of, fold_file, pages
from engine.supervisor.client import Client
from engine.teamfile import read_team
from engine.teamfile.code import TeamCode
from store import Reader, Tail
from tests.model_server import ModelServer, Say
from tests.patience import PATIENCE_S

Request: TypeAlias = tuple[str, int]
"""One request to a model: what its task asks for, and how many messages were said by then."""

GO = "How is the harbour?"
LOOK = '''
"""The hands of the team."""
from pathlib import Path
from engine import tool

@tool(idempotent=True)
async def look(place: str) -> str:
    """Look at a place.

    Args:
        place: Where.
    """
    with (Path(__file__).parent / "looked").open("a") as log:
        log.write(f"{place}\\n")
    return f"{place} is calm"
'''


def _never(*_: object) -> bool:
    return False


def pier(number: int) -> str:
    """Return what worker `number` is asked for, from 1 on."""
    return f"pier {number:02}."


SETTLES_S = 0.2


class TornTeam:
    """One database, its engines, and the server that answers them.

    Args:
        folder: Of the team.
        server: That answers its models.
        workers: How many the lead asks for in its first turn.
        while_asked: Whether to kill while a request is under way that comes for the n-th time; its answer has begun
            then, and does not go on.
        once_answered: Whether to kill as soon as the server has sent the whole answer to a request that came for the
            n-th time; nobody knows how much of it the engine has heard then.
        once_recorded: Whether to kill as soon as the journal has the answer to a request.
    """

    def __init__(
        self,
        folder: Path,
        server: ModelServer,
        *,
        workers: int,
        while_asked: Callable[[Request, int], bool] = _never,
        once_answered: Callable[[Request, int], bool] = _never,
        once_recorded: Callable[[Request], bool] = _never,
    ) -> None:
        self.folder, self.db, self.workers = folder, folder / "team.db", workers
        self._server, self._while_asked = server, while_asked
        self._once_answered, self._once_recorded = once_answered, once_recorded
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._asked: Counter[Request] = Counter()
        self._asked_now: Counter[Request] = Counter()
        """By the engine at work."""
        self._models: Counter[Request] = Counter()
        self._tools: Counter[str] = Counter()
        """What was recorded when the engine before was killed."""
        self._looked_before = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._engine: Detached | None = None
        self._watch: threading.Thread | None = None
        self.kills = 0
        self.cut: Counter[Request] = Counter()
        """Requests that were asked and not recorded when their engine was killed."""

    def __enter__(self) -> "TornTeam":
        self._server.by(self._answer)
        self._server.once_answered(self._answered)
        model = f"base_url: {json.dumps(self._server.url)}"
        (self.folder / "hands.py").write_text(LOOK)
        (self.folder / "team.yaml").write_text(
            f"version: 1\nmodels:\n  lead: {{model: openai/lead, {model}}}\n  scout: {{model: openai/scout, {model}}}\n"
            "supervisor: {name: chief, model: lead, instructions: You lead., max_parallel: 60}\n"
            "agents:\n  - {name: scout, type: ReactAgent, model: scout, tools: ['hands:look'], max_concurrency: 60}\n"
        )
        self._start()
        client = Client(self.db)
        file = read_team(self.folder / "team.yaml")
        allow(TeamCode(file))
        assign(file, self.db)
        for command in (file.load_command(), Submit(request=GO)):
            outcome = client.perform(command)
            assert outcome.status == "applied", outcome.reason
        self._watch = threading.Thread(target=self._follow, daemon=True)
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._engine is not None:
            self._engine.process.kill()
            self._engine.end()
        if self._watch is not None:
            self._watch.join(PATIENCE_S)
        if error is not None:
            error.add_note(f"the log of the engines:\n{log_of(self.db).read_text()[-4000:]}")

    # What the witnesses see

    def _answer(self, body: dict[str, Any]) -> Say:
        """Answer a request, in the server's thread."""
        request = _request_in(body)
        with self._lock:
            self._asked[request] += 1
            self._asked_now[request] += 1
            is_cut = self._while_asked(request, self._asked[request])
        if is_cut:
            self._news.put("asked")
        say = self._said(request)
        return Say(say.text, say.calls, stall_after=2) if is_cut else say

    def _answered(self, body: dict[str, Any]) -> None:
        request = _request_in(body)
        if self._once_answered(request, self._asked[request]):
            self._news.put("answered")

    def _said(self, request: Request) -> Say:
        asked, messages = request
        if asked == GO and messages == 1:
            workers = [{"worker": "scout", "instructions": pier(number + 1)} for number in range(self.workers)]
            return Say(calls=[("delegate", arguments) for arguments in workers])
        if asked == GO:
            return Say("All is calm.")
        return Say(f"Calm at {asked}") if messages > 1 else Say(calls=[("look", {"place": asked})])

    def _follow(self) -> None:
        """Watch the journal, in a thread of its own."""
        titles = _Titles()
        for batch in Tail(self.db, 0).batches(self._stop):
            for event in events_of(batch):
                titles.note(event)
                if isinstance(event, RunFinished):
                    self._news.put("finished")
                elif _is_answer(event) and self._once_recorded(titles.request(event)):
                    self._news.put("recorded")

    # What is done to it

    def voyage(self) -> None:
        """Kill and start engines until the run is finished; check every life."""
        while self._news.get(timeout=PATIENCE_S) != "finished":
            self._kill()
            self._start()
        self._end_life()

    def _start(self) -> None:
        self._engine = start_engine(self.db, folder=self.folder, bound=True)

    def _kill(self) -> None:
        assert self._engine is not None
        engine, self._engine = self._engine, None
        below = _below(engine.process.pid)
        self.kills += 1
        engine.process.kill()
        engine.end()
        for pid in below:
            _wait_for_end_of(pid)  # until it is gone, what it has on the way still comes to the server
        asked = -1
        while asked != (asked := self._asked.total()):
            self._stop.wait(SETTLES_S)  # what stands in the sockets of the server by then still comes to its threads
        self._end_life()
        was_finished = False
        while not self._news.empty():
            was_finished |= self._news.get() == "finished"
        if was_finished:
            self._news.put("finished")

    def _end_life(self) -> None:
        """Hold what one engine asked and called against what was recorded before it, and by its end."""
        with self._lock:
            asked, self._asked_now = self._asked_now, Counter()
        calls = Counter(self.looked[self._looked_before :])
        models, tools = _recorded_in(self._journal())
        assert max((*asked.values(), *calls.values()), default=1) == 1, "one engine asked or called the same twice"
        assert max((*models.values(), *tools.values()), default=1) == 1, "one step is recorded twice"
        assert not asked.keys() & self._models.keys(), "what the journal has was asked again"
        assert not calls.keys() & self._tools.keys(), "what the journal has was called again"
        self.cut += asked - models
        self._models, self._tools, self._looked_before = models, tools, len(self.looked)

    @property
    def looked(self) -> list[str]:
        """Every call of the tool."""
        log = self.folder / "looked"
        return log.read_text().splitlines() if log.exists() else []

    @property
    def recorded(self) -> Counter[Request]:
        """Requests whose answers the journal has."""
        return _recorded_in(self._journal())[0]

    def output(self) -> object:
        """Return what the run came to."""
        (summary,) = fold_file(self.db).finished
        assert summary.status == "done", summary.error
        return summary.output

    def _journal(self) -> list[Event]:
        with Reader(self.db) as reader:
            return [event for page in pages(reader, 0) for event in events_of(page)]


class _Titles(dict[str, str]):
    """What each task asks for, as its journal says it."""

    def note(self, event: Event) -> None:
        """Take note of the tasks that an event makes."""
        if isinstance(event, RunSubmitted):
            self[event.run_id] = str(event.request)
        elif isinstance(event, Delegated):
            self.update({child.task_id: str(child.input) for child in event.children})

    def request(self, event: StepRecorded) -> Request:
        """Return the request of a recorded answer; what nobody delegated is the lead's."""
        assert isinstance(event.input, dict)
        return self.get(event.task_id, self[event.run_id]), int(str(event.input["messages"]))


def _request_in(body: dict[str, Any]) -> Request:
    said = [one for one in body["messages"] if one["role"] != "system"]
    return str(said[0]["content"]), len(said)


def _is_answer(event: Event) -> TypeGuard[StepRecorded]:
    return isinstance(event, StepRecorded) and event.what == "model"


def _recorded_in(journal: list[Event]) -> tuple[Counter[Request], Counter[str]]:
    """Return how often answers and results of the tool are recorded."""
    titles, models, tools = _Titles(), Counter[Request](), Counter[str]()
    for event in journal:
        titles.note(event)
        if _is_answer(event):
            models[titles.request(event)] += 1
        elif isinstance(event, StepRecorded) and event.what == "tool":
            tools[titles[event.task_id]] += 1
    return models, tools


def _below(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have."""
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, file.read_text().split()):
            found += [child, *_below(child)]
    return found


def _wait_for_end_of(pid: int) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}").exists() and _state_of(pid) != "Z":
        assert time.monotonic() < deadline_s, f"process {pid} has outlived its engine"


def _state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
