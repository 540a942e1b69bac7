"""What an exception says is kept without the secrets of the environment, however long they are."""

import pytest

from engine.runtimes.values import one_line


@pytest.mark.parametrize(
    "secret",
    ["a-short-secret", "x1" * 5_000, '{\n  "private_key": "abcdefgh"\n}'],
    ids=["short", "longer than what is kept", "of several lines"],
)
def test_no_part_of_a_secret_is_in_what_is_kept(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv("SERVICE_CREDENTIALS", secret)

    assert one_line(ValueError(f"refused: {secret} is not known")) == "refused: [SERVICE_CREDENTIALS] is not known"
