"""How much a document of an archive may hold in the plain maps of a state, which no count in the manifest bounds."""

from collections import OrderedDict
from typing import get_args, get_origin, get_type_hints

import msgspec
import pytest

from engine.core.documents.document import MAX_FLAT_VALUES, read_document
from engine.core.encoding.strict_json import NotStrict
from engine.core.state import State

PLAIN = [
    name
    for name, hint in get_type_hints(State).items()
    if get_origin(hint) in (dict, OrderedDict)
    and all(kind in (int, str) or get_origin(kind) is tuple for kind in get_args(hint))
]


@pytest.mark.parametrize("name", PLAIN)
def test_each_plain_map_of_a_state_is_bounded_before_it_is_built(name: str) -> None:
    def body(count: int) -> bytes:
        return msgspec.json.encode({name: {f"k{number}": 1.5 for number in range(count)}})

    with pytest.raises(NotStrict, match=f"its {name} holds more than {MAX_FLAT_VALUES:,} values"):
        read_document(body(MAX_FLAT_VALUES + 1), [])
    with pytest.raises((NotStrict, msgspec.ValidationError)) as refused:
        read_document(body(MAX_FLAT_VALUES), [])
    assert "holds more" not in str(refused.value)


def test_there_are_plain_maps() -> None:
    assert {"minted", "trusted", "code", "leaving"} <= set(PLAIN)
