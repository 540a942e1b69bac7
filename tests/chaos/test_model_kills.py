"""kill -9 of an engine at each step of a run of models: nothing that was answered is asked for again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.model_kills import Request, TornTeam, pier
from tests.model_server import ModelServer, model_server


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


def always(_: Request) -> bool:
    return True


def first(_: Request, times: int) -> bool:
    return times == 1


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.chaos_long)])
def test_an_engine_killed_at_each_request_in_turn_asks_for_nothing_that_it_has(
    workers: int, tmp_path: Path, server: ModelServer
) -> None:
    with TornTeam(tmp_path, server, workers=workers, while_asked=first, once_recorded=always) as team:
        team.voyage()

        assert set(team.cut) == set(team.recorded)  # each was cut off while it was under way
        assert team.kills >= 4  # workers may be cut off together, and an answer be recorded as the next is asked for
        assert_nothing_was_lost_or_asked_twice(team, server, workers=workers)


@pytest.mark.chaos_long
def test_an_engine_killed_as_each_answer_comes_asks_for_nothing_that_it_has(
    tmp_path: Path, server: ModelServer
) -> None:
    with TornTeam(tmp_path, server, workers=2, once_answered=first) as team:
        team.voyage()

        assert team.kills >= 3
        assert_nothing_was_lost_or_asked_twice(team, server, workers=2)


@pytest.mark.chaos_long
def test_an_engine_killed_inside_worker_27_of_50_asks_for_nothing_that_it_has(
    tmp_path: Path, server: ModelServer
) -> None:
    def in_27(request: Request, times: int = 1) -> bool:
        return request[0] == pier(27) and times == 1

    with TornTeam(tmp_path, server, workers=50, while_asked=in_27, once_recorded=in_27) as team:
        team.voyage()

        assert {(pier(27), 1), (pier(27), 3)} <= set(team.cut)
        assert team.kills >= 2
        assert_nothing_was_lost_or_asked_twice(team, server, workers=50)


def assert_nothing_was_lost_or_asked_twice(team: TornTeam, server: ModelServer, *, workers: int) -> None:
    """Check the run as a whole; each life of an engine was checked at its end."""
    assert team.output() == "All is calm."
    assert len(team.recorded) == 2 + 2 * workers
    assert len(server.seen) == len(team.recorded) + team.cut.total()
    assert set(team.looked) == {pier(number + 1) for number in range(workers)}
