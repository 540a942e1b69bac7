"""A supervisor and its workers in plain calls: who gets what, what comes of it, and that nothing is counted twice."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import (
    AgentCrashed,
    CommandRefusedError,
    CoordinatorAgent,
    HostStopped,
    ModelSpec,
    RunFailed,
    SharedMemoryPool,
    StoreBusy,
    SupervisorAgent,
    UnknownRun,
    WorkerAgent,
    supervisor_worker_workflow,
)
from engine.core.records.records import copy_with
from engine.errors import BlocksPool
from engine.workflow.lead import smooth_weighted
from tests.depth import examples
from tests.patience import PATIENCE_S


@pytest.fixture(autouse=True)
def _without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUARTERDECK_MODEL", raising=False)


@pytest.fixture
def pool() -> Iterator[SharedMemoryPool]:
    with SharedMemoryPool() as pool:
        yield pool


async def upper(text: str) -> str:
    return text.upper()


async def fail_on_bad(text: str) -> str:
    if text.startswith("bad"):
        raise ValueError("no")
    return text.upper()


class Gate:
    """A worker's function that begins, and goes on when it is told to."""

    def __init__(self) -> None:
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def __call__(self, text: str) -> str:
        self.begun.set()
        assert self.goes_on.wait(PATIENCE_S)
        return f"late {text}"


def texts_planned(*texts: Any) -> Any:
    return lambda request, count: list(texts)


def counts(progress: dict[str, Any]) -> tuple[int, ...]:
    kinds = ("pending_tasks", "running_tasks", "completed_tasks", "failed_tasks")
    return tuple(progress[kind] for kind in kinds)


# Laws


@settings(max_examples=examples(15), deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c", "bad1", "bad2", "d", "e"]), min_size=1, max_size=12),
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 11), st.integers(1, 4)), max_size=6),
)
def test_no_task_has_two_results_and_the_counts_are_true(
    texts: list[str], workers: int, moves: list[tuple[int, int]]
) -> None:
    with SharedMemoryPool() as pool:
        names = [f"w{number}" for number in range(1, workers + 1)]
        for name in names:
            WorkerAgent(pool, name, run=fail_on_bad)
        supervisor, coordinator = SupervisorAgent(pool, planner=texts_planned(*texts)), CoordinatorAgent(pool)
        tasks = supervisor.delegate("go")
        request_id = tasks[0]["request_id"]
        requests = {request_id}
        for place, worker in moves:
            try:
                moved = supervisor.reassign_task(tasks[place % len(tasks)], names[worker % workers])
                requests.add(moved["request_id"])
            except CommandRefusedError:
                pass
        wholes = {one: supervisor.aggregate_results(one) for one in requests}

        given_out = Counter(texts)
        whole, progress = wholes[request_id], coordinator.monitor_progress(request_id)
        goods = [text for text in dict.fromkeys(texts) if not text.startswith("bad")]
        assert [result["content"] for result in whole["results"]] == [text.upper() for text in goods]
        assert [failure["metadata"]["error"] for failure in whole["failures"]] == ["no"] * (len(given_out) - len(goods))
        assert counts(progress) == (0, 0, len(goods), len(given_out) - len(goods))
        assert sum(len(conflict["cancelled"]) for conflict in progress["conflicts"]) == len(texts) - len(given_out)
        assert len(whole["tasks"]) == len(texts)
        assert supervisor.check_all_tasks_completed(request_id) is (len(goods) == len(given_out))
        every = [result["metadata"]["task_id"] for one in wholes.values() for result in one["results"]]
        assert len(every) == len(set(every)) == len(goods)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_over_a_whole_round_each_worker_gets_its_share(weights: list[int]) -> None:
    turns = smooth_weighted([(str(place), weight) for place, weight in enumerate(weights)])

    given_out = Counter(next(turns) for _ in range(sum(weights)))

    assert len({given_out[str(place)] / weight for place, weight in enumerate(weights)}) == 1


# One call


def test_one_call_plans_does_and_joins() -> None:
    came: list[str] = []
    thread = threading.get_ident()

    def note(result: dict[str, Any]) -> None:
        assert threading.get_ident() == thread
        came.append(result["metadata"]["task_id"])

    whole = supervisor_worker_workflow("Find the mood of 100 customer reviews", 5, 100, worker=upper, on_result=note)

    assert (len(whole["tasks"]), len(whole["results"]), whole["failures"]) == (100, 100, [])
    assert whole["final_result"].split("\n\n")[1] == "PART 2 OF 100: FIND THE MOOD OF 100 CUSTOMER REVIEWS"
    assert Counter(task["assigned_to"] for task in whole["tasks"]) == {f"worker_{n}": 20 for n in range(1, 6)}
    assert sorted(came) == sorted(task["task_id"] for task in whole["tasks"])
    assert (whole["planner"], whole["request_id"]) == ("scripted", "r1")


def test_the_lines_of_a_request_are_its_tasks() -> None:
    whole = supervisor_worker_workflow("tea\n\n salt \nrice", num_tasks=2)

    assert [task["description"] for task in whole["tasks"]] == ["tea", "salt", "rice"]
    assert whole["final_result"].split("\n\n") == ["worker_1: tea", "worker_2: salt", "worker_1: rice"]


def test_results_larger_than_what_the_engine_keeps_at_hand_are_joined() -> None:
    whole = supervisor_worker_workflow("go", worker=lambda text: "x" * 5_000_000)

    assert len(whole["final_result"]) == 3 * 5_000_000 + 2 * len("\n\n")


def test_who_follows_the_results_of_a_pool_that_closes_is_told_so(pool: SharedMemoryPool) -> None:
    slow, came = Gate(), threading.Event()
    WorkerAgent(pool, "ada", run=slow)
    WorkerAgent(pool, "bob", run=upper)
    supervisor = SupervisorAgent(pool)
    request_id = supervisor.delegate("slow\nquick", num_tasks=2)[0]["request_id"]
    with ThreadPoolExecutor(1) as threads:
        following = threads.submit(supervisor.aggregate_results, request_id, lambda result: came.set())
        assert came.wait(PATIENCE_S)
        pool.close()
        slow.goes_on.set()

        with pytest.raises(HostStopped, match="its pool was closed"):
            following.result(PATIENCE_S)


def test_where_no_task_is_done_the_whole_says_why() -> None:
    whole = supervisor_worker_workflow("bad\nbad too", num_tasks=2, worker=fail_on_bad)

    assert (whole["final_result"], whole["results"]) == (None, [])
    assert [failure["content"] for failure in whole["failures"]] == ["no", "no"]


def test_it_may_be_called_within_an_async_program() -> None:
    async def main() -> int:
        return len(supervisor_worker_workflow("x", worker=upper)["results"])

    assert anyio.run(main) == 3


def test_a_pool_is_not_called_in_its_own_loop(pool: SharedMemoryPool) -> None:
    coordinator = CoordinatorAgent(pool)

    async def look(text: str) -> None:
        coordinator.monitor_progress()

    WorkerAgent(pool, "ada", run=look)

    outcome = WorkerAgent(pool, "bob", run=lambda text: len(coordinator.monitor_progress()["active_workers"]))

    assert outcome.execute_task({"description": "look"})["result"] == 1
    tasks = SupervisorAgent(pool).delegate("x", ["ada"], 1)
    assert (
        BlocksPool.template in SupervisorAgent(pool).aggregate_results(tasks[0]["request_id"])["failures"][0]["content"]
    )


# Supervisor, workers, coordinator


def test_priorities_inputs_and_workers_of_a_planner_are_kept(pool: SharedMemoryPool) -> None:
    for name in ("ada", "bob"):
        WorkerAgent(pool, name, run=lambda value: value)
    plan = texts_planned(
        {"description": "a", "input": {"page": 1}}, {"description": "a", "input": {"page": 2}, "assigned_to": "ada"},
        {"description": "b", "priority": 0},
    )  # fmt: skip

    tasks = SupervisorAgent(pool, planner=plan).delegate("go", priority=7)
    whole = SupervisorAgent(pool).aggregate_results(tasks[0]["request_id"])

    assert [(task["assigned_to"], task["priority"]) for task in tasks] == [("ada", 7), ("ada", 7), ("bob", 0)]
    assert whole["final_result"][:2] == [{"description": "a", "input": {"page": page}} for page in (1, 2)]
    assert whole["planner"] == "function"


def test_tasks_are_shared_out_by_weight(pool: SharedMemoryPool) -> None:
    for name in ("ada", "bob"):
        WorkerAgent(pool, name, run=upper)

    tasks = SupervisorAgent(pool).delegate("go", [("ada", 2), ("bob", 1)], 6)

    assert [task["assigned_to"] for task in tasks] == ["ada", "bob", "ada", "ada", "bob", "ada"]


def test_a_task_that_is_reassigned_is_void_for_its_old_holder(pool: SharedMemoryPool) -> None:
    slow = Gate()
    old, new = WorkerAgent(pool, "old", run=slow), WorkerAgent(pool, "new", run=upper)
    supervisor = SupervisorAgent(pool)
    (task,) = supervisor.delegate("go", ["old"], 1)
    assert slow.begun.wait(PATIENCE_S)

    moved = supervisor.reassign_task(task, "new")
    outcome = new.execute_task(moved)
    slow.goes_on.set()

    assert (moved["assigned_to"], moved["request_id"]) == ("new", task["request_id"])
    assert outcome["result"] == "GO"
    assert old.get_assigned_tasks() == []
    with pytest.raises(CommandRefusedError, match="given to new"):
        old.execute_task(task)
    (result,) = supervisor.aggregate_results(task["request_id"])["results"]
    assert (result["agent_id"], result["content"]) == ("new", "GO")


def test_after_its_end_a_failed_task_is_done_again_once_and_alone(pool: SharedMemoryPool) -> None:
    WorkerAgent(pool, "weak", run=fail_on_bad)
    strong = WorkerAgent(pool, "strong", run=upper)
    supervisor = SupervisorAgent(pool)
    tasks = supervisor.delegate("bad luck\ngood luck", ["weak"], 2)
    supervisor.aggregate_results(tasks[0]["request_id"])

    again = supervisor.reassign_task(tasks[0], "strong")

    assert strong.execute_task(again)["result"] == "BAD LUCK"
    assert len(supervisor.aggregate_results(again["request_id"])["tasks"]) == 1
    for task, reason in ((tasks[0], "given on already"), (tasks[1], "its result already")):
        with pytest.raises(CommandRefusedError, match=reason):
            supervisor.reassign_task(task, "strong")


def test_of_tasks_that_are_the_same_the_first_stays(pool: SharedMemoryPool) -> None:
    WorkerAgent(pool, "ada", run=upper)
    WorkerAgent(pool, "bob", run=upper)
    supervisor = SupervisorAgent(pool, planner=texts_planned("a", "a", "b", "a"))

    tasks = supervisor.delegate("go")
    whole = supervisor.aggregate_results(tasks[0]["request_id"])
    solved = CoordinatorAgent(pool).resolve_conflicts()

    first, second, _, fourth = (task["task_id"] for task in tasks)
    assert solved["conflicts_found"] == 1
    assert solved["resolutions"][0] == {
        "task_id": first, "request_id": "r1", "workers": ["ada", "bob", "bob"], "kept": "ada",
        "cancelled": [second, fourth],
    }  # fmt: skip
    assert [result["content"] for result in whole["results"]] == ["A", "B"]
    assert whole["final_result"] == "A\n\nB"
    conflicts = pool.read_relevant(tags=["conflict", "r1"])
    assert [entry["content"] for entry in conflicts] == [f"duplicate of {first}"] * 2


def test_the_work_of_a_worker_that_dies_goes_to_another(pool: SharedMemoryPool) -> None:
    def die(text: str) -> str:
        raise AgentCrashed("out of memory")

    WorkerAgent(pool, "ada", run=die)
    WorkerAgent(pool, "bob", run=upper)
    supervisor = SupervisorAgent(pool)

    whole = supervisor.aggregate_results(supervisor.delegate("go", num_tasks=6)[0]["request_id"])

    assert [result["agent_id"] for result in whole["results"]] == ["bob"] * 6


def test_the_work_of_a_worker_that_is_removed_goes_to_another(pool: SharedMemoryPool) -> None:
    slow = Gate()
    WorkerAgent(pool, "ada", run=slow)
    WorkerAgent(pool, "bob", run=upper)
    supervisor = SupervisorAgent(pool)
    tasks = supervisor.delegate("a\nb\nc\nd", ["ada"], 4)
    assert slow.begun.wait(PATIENCE_S)

    pool._call(partial(pool._team.remove_agent, "ada", mode="requeue"))
    slow.goes_on.set()
    whole = supervisor.aggregate_results(tasks[0]["request_id"])

    assert {result["agent_id"] for result in whole["results"][1:]} == {"bob"}
    assert len(whole["results"]) == 4


def test_a_model_plans(pool: SharedMemoryPool) -> None:
    WorkerAgent(pool, "ada", run=upper)
    replies = [{"match": "into 2 independent", "text": '{"tasks": ["count eggs", "weigh eggs"]}'}, {"text": "no"}]
    models = {"planning": ModelSpec(replies=replies)}
    pool._call(partial(pool._team.set_options, copy_with(pool._team._supervisor.options, models=models)))
    supervisor = SupervisorAgent(pool, model="planning")

    tasks = supervisor.delegate("look at the eggs", num_tasks=2)
    whole = supervisor.aggregate_results(tasks[0]["request_id"])

    assert (whole["final_result"], whole["planner"]) == ("COUNT EGGS\n\nWEIGH EGGS", "model")
    with pytest.raises(RunFailed, match="does not fit the schema"):
        supervisor.delegate("look at the hens", num_tasks=3)


def test_several_objects_may_stand_for_one_supervisor_with_one_model(
    pool: SharedMemoryPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTERDECK_MODEL", "openai/none")
    for _ in range(2):
        SupervisorAgent(pool)
    WorkerAgent(pool, "ada", run=upper).execute_task({"description": "x"})
    SupervisorAgent(pool)

    with pytest.raises(CommandRefusedError, match="already has a member 'supervisor_planner'"):
        SupervisorAgent(pool, model="openai/other")


def test_progress_is_true_in_the_middle(pool: SharedMemoryPool) -> None:
    slow = Gate()
    WorkerAgent(pool, "ada", run=slow)
    bob = WorkerAgent(pool, "bob", run=fail_on_bad)
    supervisor, coordinator = SupervisorAgent(pool), CoordinatorAgent(pool)
    tasks = supervisor.delegate("slow\nquick\nslow too\nbad", num_tasks=4)
    request_id = tasks[0]["request_id"]
    for task in tasks:
        if task["assigned_to"] == "bob":
            bob.execute_task(task)
    assert slow.begun.wait(PATIENCE_S)

    progress = coordinator.monitor_progress(request_id)
    slow.goes_on.set()

    assert progress["active_workers"] == ["ada"]
    assert counts(progress) == (1, 1, 1, 1)
    assert not supervisor.check_all_tasks_completed(request_id)
    assert len(supervisor.check_failures(request_id)) == 1
    assert len(supervisor.aggregate_results(request_id)["results"]) == 3


def test_four_threads_share_a_pool(pool: SharedMemoryPool) -> None:
    for number in range(4):
        WorkerAgent(pool, f"w{number}", run=upper)
    supervisor = SupervisorAgent(pool)

    def work(number: int) -> list[str]:
        tasks = supervisor.delegate(f"request {number}", num_tasks=25)
        whole = supervisor.aggregate_results(tasks[0]["request_id"])
        assert {task["request_id"] for task in whole["tasks"]} == {tasks[0]["request_id"]}
        return [result["content"] for result in whole["results"]]

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(work, range(4)))

    for number, texts in enumerate(results):
        assert texts == [f"PART {part} OF 25: REQUEST {number}" for part in range(1, 26)]
    assert CoordinatorAgent(pool).monitor_progress()["completed_tasks"] == 100


def test_the_segments_say_what_is_true_now(pool: SharedMemoryPool) -> None:
    WorkerAgent(pool, "ada", run=fail_on_bad)
    supervisor = SupervisorAgent(pool)
    supervisor.aggregate_results(supervisor.delegate("good\nbad", num_tasks=2)[0]["request_id"])

    (result,) = pool.read_relevant("supervisor", ["result", "completed", "r1"])
    assert pool.read_relevant(tags="result") == [result]
    (error,) = pool.read_relevant("supervisor", ["error", "failed", "r1"])
    tasks = pool.read_relevant("ada", ["task", "ada"])

    assert (result["content"], result["segment"], result["importance"]) == ("GOOD", "results", 0.8)
    assert (error["metadata"]["error"], error["segment"], error["importance"]) == ("no", "errors", 0.9)
    assert {(task["segment"], task["importance"], task["agent_id"]) for task in tasks} == {("tasks", 0.8, "supervisor")}
    assert Counter(entry["segment"] for entry in pool.read_all()) == {"tasks": 2, "results": 1, "errors": 1}


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ([], "a list of 1 to"),
        ("all of it", "a list of 1 to"),
        ([{"text": "a"}], "task 1 of the plan must be a text"),
        ([{"description": "a", "priority": 12}], "priority must be 0 to 9"),
        ([{"description": "a", "priority": True}], "priority must be 0 to 9"),
        ([{"description": "a", "assigned_to": "eve"}], "is for 'eve', not one of ada"),
        ([{"description": "a", "assigned_to": ["ada"]}], r"is for \['ada'\], not one of ada"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused_in_one_line(
    pool: SharedMemoryPool, plan: Any, reason: str
) -> None:
    WorkerAgent(pool, "ada", run=upper)

    with pytest.raises(RunFailed, match=reason):
        SupervisorAgent(pool, planner=lambda request, count: plan).delegate("go")


def test_mistakes_are_told_in_one_line(pool: SharedMemoryPool) -> None:
    supervisor = SupervisorAgent(pool)

    with pytest.raises(CommandRefusedError, match=r"no worker; make one first: WorkerAgent\(pool, 'name'\)"):
        supervisor.delegate("go")
    WorkerAgent(pool, "ada", run=upper)
    with pytest.raises(CommandRefusedError, match="no worker 'adda'; did you mean ada"):
        supervisor.delegate("go", ["adda"])
    with pytest.raises(CommandRefusedError, match="ada"):
        WorkerAgent(pool, "ada", run=upper)
    with pytest.raises(ValueError, match="num_tasks must be 1 to 10,000, not 0"):
        supervisor.delegate("go", num_tasks=0)
    for task, fields in (("t3", "request_id and task_id"), ({"task_id": "t3"}, "request_id and task_id")):
        with pytest.raises(ValueError, match=f"a task must be an object with {fields}"):
            supervisor.reassign_task(task, "ada")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="an object with description, not 't3'"):
        WorkerAgent(pool, "bob").execute_task("t3")  # type: ignore[arg-type]
    with pytest.raises(UnknownRun, match="r77"):
        supervisor.check_failures("r77")
    pool.close()
    with pytest.raises(HostStopped, match="its pool was closed"):
        supervisor.delegate("go")


# Files

DIES = """
import os, sys, threading
from engine import SharedMemoryPool, SupervisorAgent, WorkerAgent

def work(text):
    if text == "last":
        print("at the last", flush=True)
        threading.Event().wait()
    return text.upper()

pool = SharedMemoryPool(sys.argv[1])
WorkerAgent(pool, "ada", run=work)
supervisor = SupervisorAgent(pool)
tasks = supervisor.delegate("one\\ntwo\\nlast", num_tasks=3)
if sys.argv[2] == "end":
    sys.exit()
supervisor.aggregate_results(tasks[0]["request_id"])
"""


def run_script(path: Path, ending: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-P", "-W", "error", "-c", DIES, str(path), ending]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_what_was_done_before_a_kill_is_there_for_the_next_process(tmp_path: Path) -> None:
    path, done_again = tmp_path / "pool.db", []
    with run_script(path, "kill") as script:
        assert script.stdout is not None
        assert script.stdout.readline() == "at the last\n"
        with pytest.raises(StoreBusy), SharedMemoryPool(path) as second:
            WorkerAgent(second, "ada", run=upper).execute_task({"description": "x"})
        script.kill()

    with SharedMemoryPool(path) as reader:
        assert counts(CoordinatorAgent(reader).monitor_progress("r1")) in [(0, 1, 2, 0), (1, 0, 2, 0)]
    with SharedMemoryPool(path) as heir:

        def note(text: str) -> str:
            done_again.append(text)
            return text.upper()

        WorkerAgent(heir, "ada", run=note).execute_task({"description": "more"})
        whole = SupervisorAgent(heir).aggregate_results("r1")
    with SharedMemoryPool(path) as reader:
        assert SupervisorAgent(reader).aggregate_results("r1") == whole
        assert len(reader.read_relevant(tags=["result", "r1"])) == 3

    assert [result["content"] for result in whole["results"]] == ["ONE", "TWO", "LAST"]
    assert sorted(done_again) == ["last", "more"]


def test_a_program_that_ends_without_closing_its_pool_does_not_hang(tmp_path: Path) -> None:
    with run_script(tmp_path / "pool.db", "end") as script:
        assert script.wait(PATIENCE_S) == 0
