"""Money is written by one function: exact enough for small sums, never as a float of Python, never as too much."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.words.amounts import amount, cost_text, describe_usage, money, short_money, spent_text
from engine.core.queries.team.track_record import mean_of
from engine.core.records.values import Usage, dollars
from engine.core.state import TrackRecord
from engine.models.costs import usage_at
from engine.models.failures import error_text

COSTS = st.lists(st.floats(0, 1e4, allow_nan=False), min_size=1, max_size=6)
WRITES_MONEY = re.compile(r"""f["'](?:[^"'\n]*[^"'\n$])?\$\{(?!\{)""")
WRITERS = {"engine/core/records/values.py", "dashboard/views/words/amounts.py"}
ROOT = Path(__file__).parents[2]


@given(COSTS)
def test_a_sum_of_floats_is_written_in_few_digits_and_is_nearly_what_it_is(costs: list[float]) -> None:
    whole = sum(map(Decimal, costs), Decimal(0))
    text = dollars(whole)

    assert re.fullmatch(r"\$[\d,]+(\.\d+)?", text)
    said = Decimal(text[1:].replace(",", ""))
    assert abs(said - whole) <= max(Decimal("0.000001"), whole / 20)
    assert len(text) <= len("$60,000.123456") or whole < Decimal("0.00001")
    usage = Usage(cost_usd=whole)
    assert describe_usage(usage) == amount(whole, "cost_usd") == text
    assert len(money(usage)) <= 8
    assert whole >= 1_000 or money(usage)[-5] == "." or "<" in money(usage)
    assert len(short_money(whole)) <= len("<$0.0001")
    assert spent_text(whole, Decimal("2.50"), "cost_usd") == f"{short_money(whole)} of $2.50"


@pytest.mark.parametrize(
    ("cost", "text"),
    [("0.0015400000000000001", "$0.00154"), ("0", "$0"), ("1E+3", "$1,000"), ("0.00000012345", "$0.00000012")],
)
def test_an_amount_of_money_is_written_in_the_digits_that_count(cost: str, text: str) -> None:
    assert dollars(Decimal(cost)) == text


def test_no_other_code_writes_money() -> None:
    sources = [path for name in ("engine", "dashboard", "quarterdeck") for path in (ROOT / name).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in sources if WRITES_MONEY.search(path.read_text(encoding="utf-8"))}

    assert found <= WRITERS


def test_the_known_part_of_a_cost_is_not_shown_as_the_cost() -> None:
    from engine.core.specs.model_spec import Price

    priced = usage_at(Price(in_usd=1, out_usd=2), tokens_in=1_000, tokens_out=100)
    unpriced = usage_at(None, tokens_in=50, tokens_out=5)

    for whole in (priced.plus(unpriced), unpriced.plus(priced)):
        assert describe_usage(whole).endswith(", at least $0.0012")
        assert (money(whole), cost_text(whole)) == ("≥0.0012", "≥$0.0012")
    assert describe_usage(priced).endswith(" out, $0.0012")
    assert (describe_usage(unpriced), money(unpriced)) == ("50 tokens in, 5 out", "–")
    assert usage_at(None, tokens_in=0, tokens_out=0).unpriced is False


def test_no_mean_is_made_of_the_known_part_of_a_cost() -> None:
    usage = Usage(cost_usd=Decimal(2), time_ms=4_000)

    assert mean_of(TrackRecord(done=2, usage=usage)) == (2.0, 1.0)
    assert mean_of(TrackRecord(done=2, usage=usage.plus(Usage(tokens_in=5, unpriced=True)))) == (2.0, None)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("""APIError: OpenAIException - b'{\\n  "error": "no such model"\\n}'""", '{ "error": "no such model" }'),
        ('b"it\'s full"', "it's full"),
        ("b'\\xc3\\xa4h'", "äh"),
        ("it was b'cut", "it was b'cut"),
        ("a job's b 'quote'", "a job's b 'quote'"),
    ],
)
def test_bytes_of_python_are_not_shown_in_errors_of_providers(said: str, text: str) -> None:
    assert error_text(ValueError(said), []) == text
