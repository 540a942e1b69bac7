"""What a person decides on is shown whole: with names in place of secrets, and never two arguments as one."""

from typing import Any

import pytest

from engine.runtimes.values import SHOWN_CHARACTERS, shown_whole

SECRET = "svc-0123456789"


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", SECRET)
    monkeypatch.setenv("SERVICE_TOKEN_LONG", f"{SECRET}-and-more")


@pytest.mark.parametrize("value", [None, True, 0, 2.5, "text", [], {}, {"a": [{"b": ["c" * 900, None]}] * 30}])
def test_a_value_without_secrets_is_shown_as_it_is(value: Any) -> None:
    assert shown_whole(value) == (value, False)


@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: {"a": [0, {"b": text}]}, lambda text: {text: text}])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Bearer {SECRET}", "Bearer [SERVICE_TOKEN]"),
        (f"{SECRET}-and-more, {SECRET}", "[SERVICE_TOKEN_LONG], [SERVICE_TOKEN]"),
    ],
)
def test_a_secret_is_shown_by_its_name_wherever_it_stands(wrap: Any, text: str, shown: str) -> None:
    assert shown_whole(wrap(text)) == (wrap(shown), True)


def test_keys_that_differ_in_secrets_alone_cannot_be_shown() -> None:
    with pytest.raises(ValueError, match="two of its keys are the same without the secrets"):
        shown_whole([{SECRET: 1, "[SERVICE_TOKEN]": 2}])


def test_what_is_shown_has_a_bounded_length() -> None:
    assert shown_whole("x" * SHOWN_CHARACTERS) == ("x" * SHOWN_CHARACTERS, False)
    with pytest.raises(ValueError, match="1,000,001 characters are more than the 1,000,000 that can be shown"):
        shown_whole("x" * (SHOWN_CHARACTERS + 1))


def test_a_secret_that_is_set_anew_is_shown_by_its_name_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_whole("svc-new-456") == ("svc-new-456", False)

    monkeypatch.setenv("SERVICE_TOKEN", "svc-new-456")

    assert shown_whole(["svc-new-456", SECRET]) == (["[SERVICE_TOKEN]", SECRET], True)
