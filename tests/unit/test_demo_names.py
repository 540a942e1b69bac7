import json
import os

from hypothesis import given
from hypothesis import strategies as st

from dashboard.demo.source import name_text, os_name


@given(st.binary().filter(lambda raw: b"\0" not in raw))
def test_any_name_on_disk_comes_back_from_json_as_it_was(raw: bytes) -> None:
    name = os.fsdecode(raw)

    travelled = json.loads(json.dumps(name_text(name)).encode("utf-8"))

    assert os_name(travelled) == name


def test_a_name_of_plain_words_stays_readable() -> None:
    assert name_text("src/größe.py") == "src/größe.py"
    assert name_text(os.fsdecode(b"caf\xe9.py")) == r"caf\xe9.py"
