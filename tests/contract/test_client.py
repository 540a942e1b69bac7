"""What a client says of its commands: what was sent is never said not to have been."""

from pathlib import Path

from dashboard.views.changes.bulk import Bulk
from dashboard.views.changes.bulk import describe_outcomes as spoken_all
from dashboard.views.changes.outcomes import describe_outcome
from engine.core.commands import Pause
from engine.supervisor.client import Client
from store import InboxClient
from tests.databases import busy_world, write_database


def test_a_command_whose_outcome_cannot_be_read_is_said_to_be_sent(tmp_path: Path) -> None:
    path = write_database(tmp_path / "team.db", busy_world().journal)
    commands = [Pause(target="ada"), Pause(target="bob")]
    client = Client(path)
    ids = client.send_all(commands)
    with InboxClient(path) as inbox:
        assert [row.id for row in inbox.pending()] == ids
    path.rename(tmp_path / "elsewhere.db")

    found = [client.wait(command_id, 5.0) for command_id in ids]

    assert [one.status for one in found] == ["pending", "pending"]
    said = describe_outcome(commands[0], "pending", None, reason=found[0].reason).text
    assert said.startswith("sent, but what became of it cannot be read: ")
    assert said in spoken_all(Bulk("Pause", "paused", tuple(commands)), found).text
