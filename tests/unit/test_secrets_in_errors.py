"""What an exception says is kept without the secrets of the environment, however long they are."""

import json
from base64 import b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.children.tail import TAIL_BYTES, StderrTail
from engine.models.failures import error_text, failure_of
from engine.platform.redaction import KEY_PLACEHOLDER, MAX_CHARACTERS, credentials_in, hide, note_sent_variable, redact
from engine.runtimes.values import one_line
from tests.depth import examples

LONG = "".join(f"-{number}" for number in range(2_000))
LINES = '{\n  "private_key": "abcdefgh\nijklmnop"\n}'
PROXY = "http://ann:p%40ssw0rd!@proxy.example:3128"


@pytest.fixture(autouse=True)
def _nothing_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what other tests in this process have sent as keys."""
    monkeypatch.setattr("engine.platform.redaction._sent_variables", set())


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
    tail = StderrTail()
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

    assert said == f"wrong: {KEY_PLACEHOLDER}"


def test_a_long_error_is_cut_and_shows_no_key() -> None:
    secret = "sk-Zz9" + "0a" * 20
    for text in (
        "a-" * 300_000,
        "eyJaaaaaaaaaaaa-" * 60_000,
        "Error: " * 100_000,
        " " * MAX_CHARACTERS + secret + "a-" * 99_000,
    ):
        told = error_text(ValueError(text + secret), [secret])
        assert len(told) <= MAX_CHARACTERS
        assert "Zz9" not in told


@pytest.mark.parametrize("before", range(48, 56))
def test_no_part_of_an_unknown_key_is_shown_where_a_long_error_is_cut(before: int) -> None:
    text = "x " * (MAX_CHARACTERS // 2 - 30) + "y" * before + " sk-Zz9" + "0a" * 20 + " more" * 99

    assert "Zz9" not in redact(text)


def escaped(text: str) -> str:
    """Return a text with each sign as in an address, also those that other writers leave as they are."""
    return "".join(one if one.isalnum() and one.isascii() else quote(one, safe="") or one for one in text)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON with all characters": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "JSON with escaped slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "an address": quote,
    "a part of an address": lambda text: quote(text, safe=""),
    "a form": quote_plus,
    "an address in an address": lambda text: quote(quote(text, safe=""), safe=""),
    "as browsers escape": lambda text: quote(text, safe="!'()*~-_."),
    "with every sign escaped": escaped,
}
CASES: dict[str, Callable[[str], str]] = {"same": str, "upper": str.upper, "lower": str.lower}
SECRETS = st.text(st.sampled_from("aZ09-_.~+/=\\\"' \n\t%&#:@!()é💡"), min_size=8, max_size=24)


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=examples(8))
@given(SECRETS, st.sampled_from([*CASES]), st.sampled_from(["", "key=", '{"error": "bad key ', "https://x/?k="]))
def test_a_secret_is_hidden_however_a_server_writes_it(encoding: str, secret: str, case: str, before: str) -> None:
    echoed = ENCODINGS[encoding](CASES[case](secret))

    assert hide(f"{before}{echoed}", [("[NAME]", secret)]) == f"{before}[NAME]"
    assert KEY_PLACEHOLDER in redact(f"{before}{echoed}", [secret])


@pytest.mark.parametrize(
    "name",
    ["GITHUB_PAT", "PGPASS", "PGPASSWORD", "MYSQL_PWD", "SMTP_PASS", "SSH_PASSPHRASE", "MODEL_KEY", "API_TOKEN", "pat"],
)
def test_variables_that_are_called_like_secrets_are_secrets(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "planted-value-1")

    assert one_line(ValueError("no planted-value-1")) == f"no [{name}]"


@pytest.mark.parametrize("name", ["PATH", "PWD", "OLDPWD", "PATTERN", "PASSENGERS"])
def test_variables_that_are_called_otherwise_are_not(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "/an/ordinary/value")

    assert one_line(ValueError("no /an/ordinary/value")) == "no /an/ordinary/value"


@pytest.mark.parametrize(
    ("name", "value", "said", "shown"),
    [
        ("SHORT_KEY", "abc1234", "bad key abc1234, sorry", "bad key [SHORT_KEY], sorry"),
        ("SHORT_KEY", "abc12", "xabc12 and abc123 are others", "xabc12 and abc123 are others"),
        ("SHORT_KEY", "abc12", "key=abc12&x, %20abc12", "key=[SHORT_KEY]&x, %20[SHORT_KEY]"),
        ("MONKEY_MODE", "true", "it is true", "it is true"),
        ("PORT_KEY", "8080", "port 8080", "port 8080"),
        ("SENT", "none", "none of NONE, nonetheless", "[SENT] of [SENT], nonetheless"),
        ("SENT", "a1b", "a1b", "a1b"),
        ("SENT", "a1b2", "a1b2", "[SENT]"),
        ("ORDINARY", "a1b2", "a1b2", "a1b2"),
        ("PROXY_URL", "http://u:abc12@host", "no abc12 for u:abc12", "no abc12 for u:abc12"),
        ("PROXY_URL", "http://u:abc12345@host", "no abc12345", "no [PROXY_URL]"),
    ],
)
def test_a_short_key_is_hidden_where_it_stands_as_a_word(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str, shown: str
) -> None:
    monkeypatch.setenv(name, value)
    if name == "SENT":
        note_sent_variable(name)

    assert one_line(ValueError(said)) == shown


def test_a_short_key_is_hidden_from_when_it_is_sent_in_an_environment_that_was_read_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SENT", "sesame")
    assert one_line(ValueError("no sesame")) == "no sesame"

    note_sent_variable("SENT")

    assert one_line(ValueError("no sesame")) == "no [SENT]"


def test_of_secrets_that_begin_alike_the_longer_one_is_hidden_whole() -> None:
    secrets = ["planted-value", "planted-value-and-more"]

    for order in (secrets, secrets[::-1]):
        assert redact("no planted-value-and-more", order) == f"no {KEY_PLACEHOLDER}"


def test_a_long_text_ends_at_the_end_of_a_word() -> None:
    words = "ab " * ((MAX_CHARACTERS - 20) // 3)

    assert redact(f"{words}{'y' * 40}") == words.rstrip()


@pytest.mark.parametrize("name", [r"[A\1]", r"[\g<0>]", "[A\\"])
def test_a_name_stands_for_its_secret_as_it_is(name: str) -> None:
    assert hide("no planted-value-1", [(name, "planted-value-1")]) == f"no {name}"
