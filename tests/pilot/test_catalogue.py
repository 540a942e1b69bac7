"""The Catalogue screen: it searches while words are typed, approves, removes, and adds to the team."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from dashboard.app.app import QuarterdeckApp
from dashboard.dialogs.dialog import DialogText
from dashboard.dialogs.entry import AddEntryDialog
from dashboard.screens.catalogue import CatalogueScreen
from dashboard.views.knowledge.catalogue import NO_CATALOGUE_HERE
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.entries import Pack
from engine.catalogue.writer import CatalogueWriter
from engine.core.specs.spec import AgentSpec
from store import InboxClient
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened

pytestmark = pytest.mark.anyio

SURVEYOR = AgentSpec(name="surveyor", run="os:system", specialties=("tide tables",))
PILOT = AgentSpec(name="pilot", agent_type="scripted", specialties=("harbour charts",))


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "catalogue.db"
    monkeypatch.setenv("QUARTERDECK_CATALOGUE", str(path))
    return path


@pytest.fixture
def ids(catalogue: Path) -> tuple[str, ...]:
    """A catalogue with two entries that nobody has approved."""
    with CatalogueWriter(catalogue, by="tester") as writer:
        return writer.add([Pack(name="tides", version="1.2", agents=[SURVEYOR, PILOT])])[0].added


def screen_of(hand: Hand) -> CatalogueScreen:
    screen = hand.app.screen
    assert isinstance(screen, CatalogueScreen)
    return screen


async def go(hand: Hand) -> CatalogueScreen:
    await hand.press("colon", *"catalogue", "enter")
    await until(hand.pilot, lambda: isinstance(hand.app.screen, CatalogueScreen) and "looking" not in text_of(hand))
    return screen_of(hand)


def text_of(hand: Hand) -> str:
    """Return the rows and the empty text of the table."""
    rows = screen_of(hand).table.rows
    cells = [" ".join(cell.text for cell in rows.cells(index)) for index in range(len(rows.keys))]
    return "\n".join([*cells, *(() if cells else rows.empty)])


def approved(catalogue: Path) -> set[str]:
    return {entry.name for entry in Catalogue.open(catalogue).entries(approved_only=True)}


async def test_words_are_searched_as_they_are_typed_and_the_best_match_is_under_the_cursor(
    ids: tuple[str, ...], tmp_path: Path
) -> None:
    async with opened(tmp_path) as hand:
        screen = await go(hand)
        await until(hand.pilot, lambda: "surveyor" in text_of(hand))
        assert len(screen.table.rows.keys) == 2

        await hand.press("slash", *"harbour")
        await until(hand.pilot, lambda: "surveyor" not in text_of(hand))

        assert (screen.table.selected, "pilot" in text_of(hand)) == (ids[1], True)


async def test_an_entry_is_approved_with_a_key_and_the_same_key_takes_that_back(
    ids: tuple[str, ...], catalogue: Path, tmp_path: Path
) -> None:
    async with opened(tmp_path) as hand:
        screen = await go(hand)
        await until(hand.pilot, lambda: screen.select_row(ids[0]))
        await hand.press("A")
        await until(hand.pilot, lambda: approved(catalogue) == {"surveyor"} and "✓" in text_of(hand))
        assert "this trusts no code" in hand.said

        await hand.press("A")
        await until(hand.pilot, lambda: not approved(catalogue))


async def test_an_entry_that_changed_since_it_was_shown_is_not_approved(
    ids: tuple[str, ...], catalogue: Path, tmp_path: Path
) -> None:
    async with opened(tmp_path) as hand:
        screen = await go(hand)
        await until(hand.pilot, lambda: screen.select_row(ids[0]))
        with CatalogueWriter(catalogue) as writer:
            writer.add([Pack(name="tides", agents=[AgentSpec(name="surveyor", run="os:remove"), PILOT])])
        await hand.press("A")

        await until(hand.pilot, lambda: "has changed meanwhile; look at it again" in hand.said)
        assert approved(catalogue) == set()


async def test_a_list_that_is_cut_says_so(
    ids: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.reading.catalogue.MAX_LISTED", 1)
    async with opened(tmp_path) as hand:
        screen = await go(hand)
        await until(hand.pilot, lambda: [cell.text for cell in screen.facts()] == ["1 of 2, search for others"])


async def test_a_removal_says_what_it_would_do_and_happens_at_a_second_press_soon_after(
    ids: tuple[str, ...], catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as hand:
        screen = await go(hand)
        await until(hand.pilot, lambda: screen.select_row(ids[0]))
        with monkeypatch.context() as slow:
            slow.setattr("dashboard.screens.catalogue.ASKED_MS", 0)
            await hand.press("R", "R")
        await hand.press("R")
        assert "R again removes surveyor" in hand.said
        assert len(Catalogue.open(catalogue).entries()) == 2

        await hand.press("R")
        await until(hand.pilot, lambda: [entry.name for entry in Catalogue.open(catalogue).entries()] == ["pilot"])


async def test_an_entry_is_added_by_its_id_once_its_code_was_shown_and_trusted(
    ids: tuple[str, ...], catalogue: Path, tmp_path: Path
) -> None:
    with CatalogueWriter(catalogue) as writer:
        writer.approve(ids)
    async with opened(tmp_path) as hand:
        screen = await go(hand)
        await until(hand.pilot, lambda: screen.select_row(ids[0]))
        await hand.press("enter")
        await until(hand.pilot, lambda: isinstance(hand.app.screen, AddEntryDialog))
        assert "os:system" in hand.app.screen.query_one("#details", DialogText).text

        await hand.press("enter")
        assert "not trusted yet: os:system" in hand.app.screen.query_one("#problem", DialogText).text
        assert sent(hand.app) == []
        await hand.press("enter")
        await until(hand.pilot, lambda: bool(sent(hand.app)))

    (command,) = sent(hand.app)
    assert (command["catalogue"], command.get("spec")) == (ids[0], None)


async def test_the_line_adds_an_entry_under_another_name(ids: tuple[str, ...], catalogue: Path, tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("colon", *f"add --catalogue {ids[1]}", "enter")
        await until(hand.pilot, lambda: "is not approved" in hand.said)
        with CatalogueWriter(catalogue) as writer:
            writer.approve(ids)
        await hand.press("colon", *f"add --catalogue {ids[1]} --as guide", "enter")
        await until(hand.pilot, lambda: isinstance(hand.app.screen, AddEntryDialog))
        await hand.press("enter")
        await until(hand.pilot, lambda: bool(sent(hand.app)))

    (command,) = sent(hand.app)
    assert (command["catalogue"], command["name"]) == (ids[1], "guide")


async def test_an_entry_that_is_not_approved_cannot_be_added(ids: tuple[str, ...], tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        screen = await go(hand)
        await until(hand.pilot, lambda: screen.select_row(ids[1]))
        await hand.press("enter")
        await until(hand.pilot, lambda: isinstance(hand.app.screen, AddEntryDialog))
        await hand.press("enter")

        assert "it is not approved" in hand.app.screen.query_one("#problem", DialogText).text
        assert sent(hand.app) == []


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"", "the catalogue is empty"), (b"nonsense" * 1_000, "the catalogue cannot be used")],
    ids=["empty", "damaged"],
)
async def test_without_entries_the_screen_says_why(catalogue: Path, tmp_path: Path, content: bytes, text: str) -> None:
    await anyio.Path(catalogue).write_bytes(content)
    async with opened(tmp_path) as hand:
        await go(hand)

        await until(hand.pilot, lambda: text in text_of(hand))


async def test_a_browser_has_no_catalogue_and_says_so_in_one_line(ids: tuple[str, ...], tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        hand.app.access.in_browser = True
        await go(hand)

        assert text_of(hand) == NO_CATALOGUE_HERE


def sent(app: QuarterdeckApp) -> list[dict[str, Any]]:
    """Return the commands in the inbox."""
    with InboxClient(app.path) as inbox:
        return [json.loads(row.body) for row in inbox.pending()]
