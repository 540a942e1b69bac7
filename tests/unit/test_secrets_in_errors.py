"""What an exception says is kept without the secrets of the environment, however long they are."""

from base64 import b64encode

import pytest

from engine.models.failures import failure_of, words_of
from engine.models.redaction import HIDDEN, LONGEST, credentials_in, redacted
from engine.runtimes.programs.tail import TAIL_BYTES, Tail
from engine.runtimes.values import one_line

LONG = "".join(f"-{number}" for number in range(2_000))
LINES = '{\n  "private_key": "abcdefgh\nijklmnop"\n}'
PROXY = "http://ann:p%40ssw0rd!@proxy.example:3128"


@pytest.mark.parametrize(
    "secret",
    ["a-short-secret", "x1" * 5_000, '{\n  "private_key": "abcdefgh"\n}'],
    ids=["short", "longer than what is kept", "of several lines"],
)
def test_no_part_of_a_secret_is_in_what_is_kept(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv("SERVICE_CREDENTIALS", secret)

    assert one_line(ValueError(f"refused: {secret} is not known")) == "refused: [SERVICE_CREDENTIALS] is not known"


@pytest.mark.parametrize(
    ("secret", "said", "kept"),
    [
        (LONG, f"bad key {LONG}\n", "bad key [SERVICE_KEY]"),
        (LONG, f"bad key {LONG}, use another\n", "[SERVICE_KEY], use another"),
        (LONG, f"bad key {LONG[: -TAIL_BYTES // 4]}", "[SERVICE_KEY]"),
        (LINES, f"bad key\n{LINES}\n", "[SERVICE_KEY]"),
    ],
    ids=["its rest", "its rest before more", "its middle", "its last line"],
)
def test_no_part_of_a_secret_is_in_the_last_words_of_a_program(
    monkeypatch: pytest.MonkeyPatch, secret: str, said: str, kept: str
) -> None:
    monkeypatch.setenv("SERVICE_KEY", secret)
    tail = Tail()
    for begin in range(0, len(said), 1_000):
        tail.add(said[begin : begin + 1_000].encode())

    assert kept.endswith(tail.line)
    assert "[SERVICE_KEY]" in tail.line


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "DATABASE_URL"])
@pytest.mark.parametrize("part", [PROXY, "p%40ssw0rd!", "p@ssw0rd!", b64encode(b"ann:p@ssw0rd!").decode()])
def test_the_credentials_of_an_address_are_secrets(monkeypatch: pytest.MonkeyPatch, name: str, part: str) -> None:
    monkeypatch.setenv(name, PROXY)

    said = one_line(ValueError(f"407 from {part} again"))

    assert f"[{name}]" in said
    assert not [one for one in credentials_in(PROXY) if one in said]
    assert said.endswith(" again")


def test_an_address_without_credentials_is_no_secret() -> None:
    assert not [
        credentials_in(one) for one in ("http://proxy:3128", "ann@example.com", "", "a:b") if credentials_in(one)
    ]


def test_an_error_of_a_provider_holds_no_part_of_a_key_of_several_lines() -> None:
    said = failure_of(ValueError(f"wrong: {LINES}"), [LINES], now_s=0).text

    assert said == f"wrong: {HIDDEN}"


def test_a_long_error_is_cut_and_shows_no_key() -> None:
    secret = "sk-Zz9" + "0a" * 20
    for text in (
        "a-" * 300_000,
        "eyJaaaaaaaaaaaa-" * 60_000,
        "Error: " * 100_000,
        " " * LONGEST + secret + "a-" * 99_000,
    ):
        told = words_of(ValueError(text + secret), [secret])
        assert len(told) <= LONGEST
        assert "Zz9" not in told


@pytest.mark.parametrize("before", range(48, 56))
def test_no_part_of_an_unknown_key_is_shown_where_a_long_error_is_cut(before: int) -> None:
    text = "x " * (LONGEST // 2 - 30) + "y" * before + " sk-Zz9" + "0a" * 20 + " more" * 99

    assert "Zz9" not in redacted(text)
