"""What docs/semantics/strategies.md promises of strategies with roles: who is asked, how often, with what, when."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from engine import AgentSpec, Unusable
from tests.meaning.diary import Diary, told
from tests.meaning.stages import IN_TEAMS, STAGES, staged

pytestmark = pytest.mark.anyio
on_every_stage = pytest.mark.parametrize("stage", STAGES)


def says(diary: Diary, name: str, *answers: JsonValue, takes_s: float = 1, **spec: Any) -> AgentSpec:
    """An agent that says one thing after the other; the last for ever."""
    left = list(answers)

    def output(task: Any) -> JsonValue:
        return left.pop(0) if len(left) > 1 else left[0]

    return diary.agent(name, says=output, takes_s=takes_s, **spec)


@on_every_stage
async def test_a_validator_sends_work_back_with_reasons_until_it_approves(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent("ada", takes_s=1), diary.agent("bob", takes_s=1)]
    workers.append(says(diary, "cyd", {"approved": False, "reasons": "too long"}, "Rejected: too short", "fine"))

    async with staged(
        stage, diary, *workers, coordination_mode="sequential_with_validation", participants=["ada", "bob", "cyd"],
        coordination_settings={"validator": "cyd", "returns": 2, "rejects": ["rejected"]},
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert result.status == "done", result.error
    assert diary.order() == ["ada", "bob", "cyd", "bob", "cyd", "bob", "cyd"]
    assert diary.now_s() == 7
    assert [one in diary.entries[3].text for one in ("too long", "bob(ada(go))")] == [True, True]
    assert "too short" in diary.entries[5].text
    assert str(result.output).startswith("bob(")


@pytest.mark.parametrize(("otherwise", "status"), [("fail", "failed"), ("accept", "done")])
@on_every_stage
async def test_what_is_still_not_approved_fails_or_is_accepted(stage: str, otherwise: str, status: str) -> None:
    diary = Diary()
    workers = [diary.agent("ada"), says(diary, "bob", {"approved": False})]

    async with staged(
        stage, diary, *workers, coordination_mode="sequential_with_validation", participants=["ada", "bob"],
        coordination_settings={"returns": 1, "otherwise": otherwise},
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert (result.status, diary.order()) == (status, ["ada", "bob", "ada", "bob"])


@on_every_stage
async def test_drafts_are_scored_until_every_critic_is_content(stage: str) -> None:
    diary = Diary()
    workers = [says(diary, "ada", "one", "two", "three")]
    workers += [
        says(diary, "bob", {"score": 0.95}, "score: 0.3", {"score": 1}),
        says(diary, "cyd", 0.1, {"score": 0.9}),
    ]

    async with staged(
        stage, diary, *workers, coordination_mode="iterative_refinement", participants=["ada", "bob", "cyd"],
        coordination_settings={"rounds": 5},
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert (result.status, result.output) == ("done", "three"), result.error
    assert diary.counts() == {"ada": 3, "bob": 3, "cyd": 3}
    assert diary.now_s() == 6


@on_every_stage
async def test_after_the_last_round_the_best_draft_is_taken(stage: str) -> None:
    diary = Diary()
    workers = [
        says(diary, "ada", "one", "two", "three"),
        says(diary, "bob", {"score": 0.5}, {"score": 0.7}, "score 0.6"),
    ]

    async with staged(
        stage, diary, *workers, coordination_mode="iterative_refinement", participants=["ada", "bob"],
        coordination_settings={"author": "ada", "critics": ["bob"]},
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert (result.status, result.output) == ("done", "two"), result.error
    assert diary.counts() == {"ada": 3, "bob": 3}


@on_every_stage
async def test_each_level_reviews_what_the_one_below_made_and_may_send_it_back(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent("ada", takes_s=1), diary.agent("bob", takes_s=2), diary.agent("cyd", takes_s=1)]
    workers.append(says(diary, "dan", {"approved": False, "text": "again"}, "signed"))

    async with staged(
        stage, diary, *workers, coordination_mode="hierarchical_review",
        participants=["ada", "bob", "cyd", "dan"],
        coordination_settings={"levels": [["ada", "bob"], ["cyd"], ["dan"]], "returns": 1},
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert result.status == "done", result.error
    assert diary.order() == ["ada", "bob", "cyd", "dan", "cyd", "dan"]
    assert [one.began_s for one in diary.entries] == [0, 0, 2, 3, 4, 5]
    assert result.output == "signed"


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        ({"kind": "refund"}, ["ada", "bob", "eve"]),
        ("it is broken", ["ada", "cyd", "dan", "eve"]),
        ("hello", ["ada", "fay", "eve"]),
        ("nothing", ["ada"]),
    ],
)
@on_every_stage
async def test_the_first_branch_whose_guard_holds_goes_on(stage: str, kind: Any, order: list[str]) -> None:
    diary = Diary()
    workers = [diary.agent("ada", says=kind, takes_s=1)]
    workers += [diary.agent(name, takes_s=1) for name in ("bob", "cyd", "dan", "fay", "eve")]
    branches: list[JsonValue] = [
        {"when": {"json": "kind", "equals": "refund"}, "to": "bob"},
        {"when": {"contains": "broken"}, "to": ["cyd", "dan"]},
        {"when": {"names": "hello"}, "to": "fay"},
    ]

    async with staged(
        stage, diary, *workers, coordination_mode="conditional",
        coordination_settings={"first": "ada", "branches": branches, "then": ["eve"]},
        participants=["ada", "bob", "cyd", "dan", "fay", "eve"],
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert (result.status, diary.order()) == ("done", order), result.error
    assert diary.now_s() == len(order)
    assert (result.output == kind) is (kind == "nothing")


@on_every_stage
async def test_without_branches_the_output_names_who_goes_on_by_the_longest_name(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent("ada", says="let bob-two do it, not bobby")]
    workers += [diary.agent(name) for name in ("bob", "bob-two", "two")]

    async with staged(
        stage, diary, *workers, coordination_mode="conditional", participants=["ada", "bob", "bob-two", "two"],
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert (result.status, diary.counts()) == ("done", {"ada": 1, "bob-two": 1}), result.error


@on_every_stage
async def test_a_graph_gives_each_node_what_it_takes_and_leaves_out_what_its_guard_does_not_hold_for(
    stage: str,
) -> None:
    diary = Diary()
    workers = [diary.agent(name, takes_s=1) for name in ("ada", "bob", "cyd", "dan", "eve")]
    member = "team" if stage in IN_TEAMS else "agent"
    nodes: list[JsonValue] = [
        {"name": "draft", member: "ada"},
        {"name": "facts", member: "bob", "after": ["draft"], "takes": "previous"},
        {"name": "style", member: "cyd", "after": ["draft"], "when": {"contains": "TODO"}},
        {"name": "more style", member: "eve", "after": ["style"]},
        {"name": "edit", member: "dan", "after": ["facts", "style"], "takes": "context"},
    ]

    async with staged(
        stage, diary, *workers, coordination_mode="graph",
        coordination_settings={"nodes": nodes, "output": "edit"},
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert result.status == "done", result.error
    assert [(one.agent, one.began_s) for one in diary.entries] == [("ada", 0), ("bob", 1), ("dan", 2)]
    assert diary.of("bob")[0].text == "ada(go)"
    assert [one in diary.of("dan")[0].text for one in ("go", "ada(go)", "bob(ada(go))")] == [True] * 3


@on_every_stage
async def test_a_node_that_is_optional_may_fail(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent("ada", says=lambda task: RuntimeError("no")), diary.agent("bob", takes_s=1)]
    member = "team" if stage in IN_TEAMS else "agent"
    nodes: list[JsonValue] = [
        {"name": "one", member: "ada", "optional": True},
        {"name": "two", member: "bob", "after": ["one"]},
    ]

    async with staged(
        stage, diary, *workers, coordination_mode="graph", coordination_settings={"nodes": nodes}
    ) as chief:
        result = await told(chief)

    assert (result.status, result.output, diary.counts()) == ("done", "bob(go)", {"ada": 1, "bob": 1}), result.error


@on_every_stage
async def test_who_has_said_nothing_is_not_in_the_join_and_has_no_vote(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent("ada", says=lambda task: None), diary.agent("bob", says=lambda task: None)]
    workers += [diary.agent("cyd", says="yes")]
    names = [one.name for one in workers]

    async with staged(stage, diary, *workers, coordination_mode="parallel", participants=names) as chief:
        joined = await told(chief)
        await chief.reconfigure_coordination({"aggregation": "vote"})
        voted = await told(chief)

    assert joined.output == "yes"
    assert voted.output == {"answer": "yes", "votes": 1, "of": 1, "counts": [{"answer": "yes", "votes": 1}]}


@on_every_stage
async def test_a_synthesis_is_made_of_all_the_others(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent(name, takes_s=second) for second, name in enumerate(("ada", "bob", "cyd"), 1)]

    async with staged(
        stage, diary, *workers, coordination_mode="parallel_then_synthesis", participants=["cyd", "bob", "ada"],
        coordination_settings={"aggregator": "cyd"},
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert result.status == "done", result.error
    assert sorted((one.began_s, one.agent) for one in diary.entries) == [(0, "ada"), (0, "bob"), (2, "cyd")]
    assert [one in diary.of("cyd")[0].text for one in ("go", "ada(go)", "bob(go)")] == [True] * 3


@on_every_stage
async def test_without_a_lead_the_member_that_matches_the_request_best_does_it(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent("ada", "cooking"), diary.agent("bob", "gardening")]

    async with staged(stage, diary, *workers, coordination_mode="delegate", participants=["ada", "bob"]) as chief:
        result = await told(chief, "some gardening, please")

    assert (result.status, diary.counts()) == ("done", {"bob": 1}), result.error


NODES: list[JsonValue] = [{"name": "one", "agent": "ada"}, {"name": "two", "agent": "bob", "after": ["one"]}]


@pytest.mark.parametrize(
    ("mode", "settings", "needed"),
    [
        ("parallel_then_synthesis", {"aggregator": "gone"}, True),
        ("hierarchical_review", {"levels": [["ada"], ["gone"]]}, True),
        ("hierarchical_review", {"levels": [["ada"], ["bob"]]}, False),
        ("graph", {"nodes": NODES}, False),
        ("iterative_refinement", {"author": "ada", "critics": ["bob"]}, False),
        ("map", {}, False),
    ],
)
async def test_only_who_has_a_part_has_to_be_able_to_work(
    tmp_path: Path, mode: str, settings: dict[str, Any], needed: bool
) -> None:
    before, diary = Diary(), Diary()
    left = before.supervisor("chief", *(before.agent(one) for one in ("ada", "bob", "gone")), store=tmp_path / "a.db")
    async with left:
        pass

    workers = [says(diary, name, {"score": 1}) for name in ("ada", "bob")]
    async with diary.supervisor(
        "chief", *workers, store=tmp_path / "a.db", coordination_mode=mode, coordination_settings=settings
    ) as chief:
        if needed:
            with pytest.raises(Unusable, match="'gone' cannot work"):
                await told(chief, ["one", "two"])
        else:
            assert (await told(chief, ["one", "two"])).status == "done"

    assert bool(diary.entries) is not needed
