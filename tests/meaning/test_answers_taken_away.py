"""Answers that an operator takes away: of people to a question, and of members to a join (docs/operating.md).

A task that waits for an answer is answered, cancelled, stopped, given to another agent or paused, or nobody answers in
time; members of a team that joins some of their answers are stopped by hand. What comes of it is reckoned here.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine import CommandRefusedError, DynamicSupervisor, Escalate
from tests.depth import examples
from tests.meaning.diary import Diary, during

OPTIONS = ("red", "blue", "green")
DEFAULT = "green"
NAMES = ("ada", "bob", "cyd", "dan", "eve")
Script = list[tuple[int, str, str]]
"""Seconds and what a person does then: an answer, a new agent, or the word alone."""
scripts = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.sampled_from(["answer", "answer", "reassign", "reassign", "cancel", "abort", "pause", "resume"]),
        st.sampled_from(["red", "blue"]),
    ),
    max_size=6,
)


@dataclass
class Question:
    """One question of a task that thinks before it asks, and what follows from the pages."""

    thinks_s: int
    due_s: float | None
    answer: str | None = None
    cut_s: float | None = None
    """When the task was taken away from whoever would have answered."""
    paused_s: float | None = None
    """Since when the run is paused."""
    stood_s: float = 0
    """For how long the time until the default has stood still."""

    def is_plain(self, what: str, now_s: float) -> bool:
        """Return whether it is plain when a task asks after such an act: what is paused begins on no other agent."""
        if what in ("pause", "resume"):
            return now_s > self.thinks_s
        return what != "reassign" or self.paused_s is None

    def default_due(self, now_s: float) -> float:
        """Return when nobody has answered in time; the time stands still while the run is paused."""
        if self.due_s is None:
            return float("inf")
        stands = 0.0 if self.paused_s is None else now_s - max(self.paused_s, self.thinks_s)
        return self.thinks_s + self.due_s + self.stood_s + max(0.0, stands)

    def is_open(self, now_s: float) -> bool:
        """Return whether the question waits for a person; `now_s` is a moment at which nothing else happens."""
        if self.answer is None and self.cut_s is None and now_s > self.default_due(now_s):
            self.answer = DEFAULT
        return self.thinks_s < now_s and self.answer is None and self.cut_s is None


async def ask_and_act(thinks_s: int, due_s: float | None, script: Script) -> None:
    diary, question = Diary(), Question(thinks_s, due_s)
    heard: list[tuple[str, str]] = []
    ids: set[str] = set()

    def asker(name: str) -> Any:
        async def body(task: Any, ctx: Any) -> str:
            await ctx.step("think", diary.works, thinks_s)
            default = None if due_s is None else DEFAULT
            answer = await ctx.ask("which colour?", OPTIONS, default=default, due_s=due_s)
            heard.append((name, answer))
            return str(answer)

        return diary.agent(name, "paint", body=body)

    async def act(run_id: str) -> None:
        for number, (at_s, what, which) in enumerate(sorted(script)):
            async with diary.at(at_s + 0.5 + number / 1000):
                now_s = diary.now_s()
                ids.update(item.id for item in chief.questions)
                assert bool(chief.questions) == question.is_open(now_s)
                task_id = next((task.id for task in chief._state.tasks.values() if task.kind == "agent"), None)
                if task_id is None or not question.is_plain(what, now_s):
                    continue
                try:
                    await _done(chief, run_id, task_id, what, which)
                except CommandRefusedError:
                    assert what != "answer" or not question.is_open(now_s)
                    continue
                _note(question, what, which, now_s)
        async with diary.at(100):
            if question.paused_s is not None:
                with suppress(CommandRefusedError):  # the answer has let it go on to its end
                    await chief.resume(run_id)
                question.stood_s += diary.now_s() - max(question.paused_s, thinks_s)
                question.paused_s = None
        async with diary.at(300):
            if question.is_open(300):
                ids.update(item.id for item in chief.questions)
                await chief.answer(chief.questions[0].id, "red")
                question.answer = "red"

    zed = diary.agent("zed", takes_s=400)  # the run goes on whatever becomes of the question
    members = ["ada", "zed"]
    async with diary.supervisor(
        "chief", asker("ada"), asker("bob"), zed, coordination_mode="parallel", participants=members
    ) as chief:
        result = await during(diary, chief, act)
        assert chief.questions == []
        for question_id in ids:
            with pytest.raises(CommandRefusedError):
                await chief.answer(question_id, "red")

    assert len(ids) <= 1
    if question.answer is not None and question.cut_s is None:
        assert f"\n\n{question.answer}\n\n" in str(result.output)
    assert result.status == "done"
    assert {answer for _, answer in heard} <= {question.answer}
    assert len(heard) <= 1


async def _done(chief: DynamicSupervisor, run_id: str, task_id: str, what: str, which: str) -> None:
    if what == "answer":
        questions = chief.questions
        await chief.answer(questions[0].id if questions else task_id, which)
    elif what == "reassign":
        await chief.reassign(task_id, {"red": "ada", "blue": "bob"}[which])
    elif what == "cancel":
        await chief.cancel(task_id)
    elif what == "abort":
        await chief.abort(task_id)
    else:
        await (chief.pause if what == "pause" else chief.resume)(run_id)


def _note(question: Question, what: str, which: str, now_s: float) -> None:
    if what == "answer":
        question.answer = which
    elif what in ("cancel", "abort"):
        question.cut_s = now_s if question.cut_s is None else question.cut_s
    elif what == "pause" and question.paused_s is None:
        question.paused_s = now_s
    elif what == "resume" and question.paused_s is not None:
        question.stood_s += max(0.0, now_s - max(question.paused_s, question.thinks_s))
        question.paused_s = None


@given(st.integers(1, 4), st.one_of(st.none(), st.sampled_from([1.25, 3.25, 6.25])), scripts)
@example(2, 3.25, [(3, "pause", "red"), (8, "resume", "red"), (9, "answer", "blue")])
@example(1, 3.25, [(2, "reassign", "blue")])
@example(1, None, [(2, "reassign", "blue"), (3, "cancel", "red"), (4, "answer", "red")])
@settings(max_examples=examples(25))
def test_a_question_has_one_answer_whatever_becomes_of_its_task(
    thinks_s: int, due_s: float | None, script: Script
) -> None:
    anyio.run(ask_and_act, thinks_s, due_s, script)


Outcomes = list[tuple[str, int]]
"""What becomes of each member, in declared order, and after how many seconds: nobody ends at the moment of another."""


def outcome(outcomes: Outcomes, need: int) -> tuple[str, int, list[str]]:
    """Return how a run ends that needs so many answers, when, and whose answers are joined.

    The first answers are joined. A failure matters when too few are left, and then at once; a member that an operator
    takes away lowers what is needed.
    """
    ends: dict[str, list[str]] = {"done": [], "fails": [], "cancelled": []}
    for (what, at_s), name in sorted(zip(outcomes, NAMES, strict=False), key=lambda pair: pair[0][1]):
        ends[what].append(name)
        done, failed, taken_away = ends["done"], ends["fails"], ends["cancelled"]
        left = len(outcomes) - len(done) - len(failed) - len(taken_away)
        if len(done) == need:
            return "done", at_s, [member for member in NAMES if member in done]
        if failed and len(done) + left < min(need, len(outcomes) - len(taken_away)):
            return "failed", at_s, []
    last_s = max(at_s for _, at_s in outcomes)
    return ("done" if ends["done"] else "nothing"), last_s, [name for name in NAMES if name in ends["done"]]


async def run_with_need(outcomes: Outcomes, need: int) -> None:
    diary = Diary()

    def worker(name: str, what: str, at_s: int) -> Any:
        says: Any = ConnectionError("nobody answers") if what == "fails" else f"of {name}"
        return diary.agent(name, takes_s=100 if what == "cancelled" else at_s, says=says)

    members = [worker(name, *outcome) for name, outcome in zip(NAMES, outcomes, strict=False)]
    settings = {"need": need}
    chief = diary.supervisor("chief", *members, coordination_mode="parallel", coordination_settings=settings)

    async def act(run_id: str) -> None:
        for (what, at_s), name in sorted(zip(outcomes, NAMES, strict=False), key=lambda pair: pair[0][1]):
            if what == "cancelled":
                async with diary.at(at_s):
                    agents = {agent.name: agent.id for agent in chief._state.agents.values()}
                    tasks = chief._state.tasks.values()
                    task_id = next((task.id for task in tasks if task.worker_id == agents[name]), None)
                    with suppress(CommandRefusedError):  # the run has ended
                        await chief.abort(task_id or run_id)

    async with chief:
        result = await during(diary, chief, act)

    status, at_s, names = outcome(outcomes, need)
    ended_s = [entry.ended_s for entry in diary.entries if entry.ended_s is not None]
    assert max(ended_s, default=0) <= at_s
    if status != "nothing":
        assert result.status == status
    if names:
        sections = [f"## {name}\n\nof {name}" for name in names]
        assert result.output == ("\n\n".join(sections) if len(names) > 1 else f"of {names[0]}")


@given(st.permutations([2, 3, 4, 5, 6]), st.lists(st.sampled_from(["done", "done", "fails", "cancelled"]), min_size=3,
       max_size=5), st.integers(1, 3))  # fmt: skip
@example([2, 3, 4, 5, 6], ["cancelled", "cancelled", "done"], 2)
@example([2, 3, 4, 5, 6], ["cancelled", "fails", "done"], 2)
@example([6, 5, 4, 3, 2], ["done", "fails", "cancelled", "done"], 3)
@settings(max_examples=examples(25))
def test_an_answer_that_an_operator_takes_away_is_not_needed(seconds: list[int], whats: list[str], need: int) -> None:
    anyio.run(run_with_need, [*zip(whats, seconds, strict=False)], need)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("act", "status", "joined"),
    [
        ("cancel", "done", ["bob"]),
        ("abort the run", "cancelled", []),
        ("deadline", "failed", []),
        ("default", "done", ["bob"]),
    ],
)
async def test_a_question_about_a_failure_goes_when_somebody_decides_otherwise(
    act: str, status: str, joined: list[str]
) -> None:
    diary = Diary()
    ada = diary.fails(1, "ada", "dig", takes_s=1, on_failure=[Escalate(after_s=30, default="skip")])
    bob = diary.agent("bob", takes_s=9)

    async with diary.supervisor("chief", ada, bob, coordination_mode="parallel") as chief:

        async def decide(run_id: str) -> None:
            async with diary.at(3):
                (question,) = chief.questions
                task_id = question.subject
                if act == "abort the run":
                    await chief.abort(run_id)
                elif act == "deadline":
                    await chief.set_deadline(run_id, 2)
                elif act == "cancel":
                    await chief.cancel(task_id)
            async with diary.at(7):
                assert bool(chief.questions) == (act == "default")
                if act != "default":
                    with pytest.raises(CommandRefusedError):
                        await chief.answer(question.id, "retry")

        result = await during(diary, chief, decide)

        assert chief.questions == []
    assert (result.status, diary.order()) == (status, ["ada", "bob"])
    assert str(result.output).count("bob(go)") == len(joined)
