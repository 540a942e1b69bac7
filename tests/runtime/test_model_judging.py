"""Strategies that need judgement take a model where one is named; what it finds is read strictly."""

from typing import Any

import pytest

from engine import AgentSpec
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from tests.runtime.engines import Engines

pytestmark = pytest.mark.anyio

DRAFTS: list[str] = []


async def write(text: str) -> str:
    DRAFTS.append(text)
    return f"draft {len(DRAFTS)}"


def author(name: str = "author") -> AgentSpec:
    DRAFTS.clear()
    return AgentSpec(name=name, run=write)


def judge(name: str, **spec: Any) -> AgentSpec:
    return AgentSpec(name=name, model="fake", **spec)


def said(*replies: Any, **options: Any) -> SupervisorOptions:
    return SupervisorOptions(models={"fake": ModelSpec(replies=replies)}, **options)


async def test_a_model_validates_and_sends_work_back_with_its_reasons(engine: Engines) -> None:
    replies = [
        {"match": "draft 2", "text": '```json\n{"approved": true}\n```'},
        {"match": "draft 1", "text": '{"approved": false, "reasons": "too short"}'},
    ]
    options = said(*replies, settings={"validator": "critic"})

    async with engine(author(), judge("critic"), mode="sequential_with_validation", options=options) as running:
        assert await running.ask("Write") == "draft 2"
        assert "too short" in DRAFTS[1]


async def test_a_validator_that_says_something_else_twice_fails_with_one_clear_line(engine: Engines) -> None:
    options = said({"text": "Looks good to me"}, {"text": "I said so"}, settings={"validator": "critic"})

    async with engine(author(), judge("critic"), mode="sequential_with_validation", options=options) as running:
        error = await running.fails("Write")

        assert "its answer does not fit the schema of its output: it is not JSON" in error
        assert "\n" not in error


async def test_a_model_criticises_until_its_score_is_good_enough(engine: Engines) -> None:
    replies = [
        {"match": "draft 2", "text": '{"score": 9}'},
        {"match": "draft 1", "text": '{"score": 3, "reasons": "dull"}'},
    ]
    options = said(*replies, settings={"author": "author", "critics": ["critic"], "until": 8})

    async with engine(author(), judge("critic"), mode="iterative_refinement", options=options) as running:
        assert await running.ask("Write") == "draft 2"
        assert "dull" in DRAFTS[1]


async def test_a_model_splits_work_into_items(engine: Engines) -> None:
    options = said({"text": '{"items": ["one", "two"]}'}, settings={"over": "splitter", "to": "author"})

    async with engine(judge("splitter"), author(), mode="map", options=options) as running:
        await running.ask("Write")

        assert sorted(DRAFTS) == ["one", "two"]


async def test_a_model_chooses_the_way_and_is_told_what_decides(engine: Engines) -> None:
    branches = [{"when": {"contains": "refund"}, "to": "author"}, {"when": "else", "to": "other"}]
    options = said({"text": "It is a refund."}, settings={"first": "router", "branches": branches})

    async with engine(judge("router"), author(), author("other"), mode="conditional", options=options) as running:
        assert await running.ask("I want my money back") == "draft 1"
        told = (await running.journal("part_recorded"))[0]
        assert b"contains 'refund'; else" in told.body


async def test_a_model_writes_the_synthesis_of_results(engine: Engines) -> None:
    options = said({"text": "All: {text}"})
    team = [author(), author("other"), judge("editor")]

    async with engine(*team, mode="parallel", aggregation="synthesis", aggregator="editor", options=options) as running:
        output = str(await running.ask("Write"))

        assert output.startswith("All: Write\n\n## author\n\ndraft")
        assert "## other" in output
