"""Names under which models call the tools of servers."""

from hypothesis import given
from hypothesis import strategies as st

from engine.runtimes.toolbox.mcp_tools import legal_names
from engine.runtimes.toolbox.schemas import NAME


def test_a_plain_name_is_joined_to_that_of_its_server() -> None:
    assert legal_names("files", ["read", "write-all"]) == {"read": "files__read", "write-all": "files__write-all"}


@given(st.text(min_size=1), st.lists(st.text(), unique=True))
def test_every_name_becomes_one_that_providers_take_and_no_two_become_the_same(server: str, names: list[str]) -> None:
    found = legal_names(server, names)

    assert all(NAME.fullmatch(one) for one in found.values())
    assert len(set(found.values())) == len(names)


def test_what_two_servers_could_both_be_called_is_told_apart() -> None:
    assert legal_names("a", ["b__c"])["b__c"] != legal_names("a__b", ["c"])["c"]
    assert legal_names("a", ["_b"])["_b"] != legal_names("a_", ["b"])["b"]
