"""`check` and budgets of money: what a model costs has to be known, from the file or from litellm's table."""

from pathlib import Path

from engine.teamfile import parse_team
from engine.teamfile.prices import unpriced_models

TEAM = """
version: 1
supervisor: {name: desk}
limits: {LIMITS}
models:
  here: {model: openai/llama, base_url: "http://127.0.0.1:1/v1"}
  priced: {model: openai/llama, base_url: "http://127.0.0.1:1/v1", price: {in_usd: 1, out_usd: 2}}
  fake: {replies: [{text: yes}]}
agents:
  - {name: a, type: SimpleAgent, model: here}
  - {name: b, type: SimpleAgent, model: [priced, fake]}
  - {name: c, type: SimpleAgent, model: MODELS}
"""


def said(tmp_path: Path, limits: str, models: str = "fake") -> list[str]:
    """What is said of a team."""
    text = TEAM.replace("{LIMITS}", limits).replace("MODELS", models)
    return [f"{one.field}: {one.text}" for one in unpriced_models(parse_team(text, tmp_path / "team.yaml"))]


def test_a_model_at_another_address_needs_a_price_where_money_is_bounded(tmp_path: Path) -> None:
    problems = said(tmp_path, "{run: {cost_usd: 5}}")

    assert problems == [
        "agents[a].model: no price is known for 'here', so a budget of cost_usd would not count it; give it a 'price'"
        " under 'models', or bound tokens instead"
    ]
    assert said(tmp_path, "{tokens: 1000}") == []


def test_prices_of_providers_are_looked_up_in_the_table_of_litellm(tmp_path: Path) -> None:
    problems = said(tmp_path, "{cost_usd: 5}", "[openai/gpt-4o-mini, openai/nobody-has-this, nonsense]")

    assert [problem.split("'")[1] for problem in problems] == ["here", "openai/nobody-has-this", "nonsense"]
