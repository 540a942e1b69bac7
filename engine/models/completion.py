"""Sends requests through litellm; the only file that imports it, and only in the child process (`child.py`).

One request per call, without retries: the engine decides about retries, in the journal.
"""

import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, cast

import anyio
from msgspec import structs

from engine.core.records.records import changed
from engine.core.records.values import NO_USAGE, Usage
from engine.core.specs.model_spec import Price
from engine.models.assembly import Assembly
from engine.models.child_messages import Ask, Facts
from engine.models.costs import tokens_in, tokens_of, usage_at
from engine.models.records import ModelAnswer, ModelRequest
from engine.models.sending import sent, tools_sent
from engine.models.wire import Exchange, bound_clients, exchange
from engine.platform import garbage

CLOSING_S = 2.0
"""Timeout for closing a connection."""
LATER_S = 10.0
"""How long after ours litellm's own timeout comes: ours leaves out the time that we stood still."""
MOST_TOKENS = 1_000_000_000
"""Of one request; more is not a count."""
MOST_USD = 10_000
"""Of one request; more is not a cost."""
COST_DIGITS = 9
"""Decimal digits of a stated cost: floating point has others that mean nothing."""
NO_KEY = "none"
"""Sent instead of a missing key: without a key litellm searches the environment for one."""

PARAMS = frozenset(
    {"extra_body", "min_p", "reasoning_effort", "repetition_penalty", "safety_settings", "seed", "stop", "temperature",
     "thinking", "top_k", "top_p", "verbosity"}
)  # fmt: skip
"""Parameters that are passed on in addition to those that litellm lists for a provider."""
NOT_PARAMS = frozenset(
    {"extra_headers", "functions", "function_call", "messages", "model", "n", "response_format", "stream",
     "stream_options", "timeout", "tools"}
)  # fmt: skip
"""Parameters that the engine sets itself, and headers, which could redirect a request as an address could."""


class Litellm:
    """litellm, configured to send requests and do nothing else."""

    def __init__(self) -> None:
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches prices over HTTP while it is imported
        os.environ["LITELLM_MODE"] = "PRODUCTION"  # else it loads a stray .env
        with garbage.importing(), garbage.paused():  # what it makes stays: nothing to collect
            import litellm  # 4 s and 180 MB where nothing is cached

        litellm.suppress_debug_info = True
        litellm.telemetry = False
        litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize  # else a ruled line in an answer ends it as an error
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).handlers.clear()
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._litellm: Any = litellm
        bound_clients()

    def facts(self, model: str) -> Facts:
        """Return what is known of a model, without a request.

        Raises:
            ValueError: If no provider is known by that name.
        """
        name, provider = self._named(model)
        row = self._row(model, name, provider)
        return Facts(
            provider=provider,
            variables=self._variables(model),
            price=_price(row),
            context_tokens=row.get("max_input_tokens") or row.get("max_tokens") or None,
        )

    def _named(self, model: str) -> tuple[str, str]:
        try:
            name, provider, _, _ = self._litellm.get_llm_provider(model=model)
        except Exception as error:  # litellm has no class of its own for this
            raise ValueError(
                f"no model provider is known for {model!r}; write it as provider/model, such as openai/gpt-4o-mini"
            ) from error
        return name, provider

    def _row(self, model: str, name: str, provider: str) -> dict[str, Any]:
        table = self._litellm.model_cost
        for key in (model, f"{provider}/{name}", name):
            row = table.get(key)
            if row is not None and str(row.get("litellm_provider", "")).startswith(provider.partition("_")[0]):
                return dict(row)
        return {}

    def _variables(self, model: str) -> tuple[str, ...]:
        return tuple(self._litellm.validate_environment(model=model).get("missing_keys") or ())

    def _takes_schema(self, name: str, provider: str) -> bool:
        try:
            return bool(self._litellm.supports_response_schema(model=name, custom_llm_provider=provider))
        except Exception:  # an unknown model raises whatever its provider's code comes upon
            return False

    async def stream(self, ask: Ask, current: Exchange) -> AsyncIterator[Any]:
        """Send a request; yield the pieces of its answer. Stopping early closes the connection.

        Raises:
            BadAnswer: If what is sent is none.
            CutShort: If the stream ends without an end of the answer.
        """
        exchange.set(current)
        try:
            response = await self._litellm.acompletion(**self._arguments(ask))
            try:
                async for chunk in response:
                    yield chunk
                if getattr(response, "received_finish_reason", "") is None and not current.is_over:
                    raise CutShort
            finally:
                with anyio.move_on_after(CLOSING_S, shield=True):
                    await _closed(response)
        except Exception as error:
            if current.fault is not None:
                raise current.fault from error
            raise

    def _arguments(self, ask: Ask) -> dict[str, Any]:
        request, spec = ask.request, ask.request.model
        model = cast(str, spec.model)
        name, provider = self._named(model)
        taken = self._litellm.get_supported_openai_params(model=name, custom_llm_provider=provider) or ()
        found: dict[str, Any] = {
            **_allowed(request.params, {*taken, *PARAMS} - NOT_PARAMS, provider),
            "model": model,
            "messages": sent(request.messages, self.provider(request), with_tools=bool(request.tools)),
            "stream": True,
            "timeout": spec.timeout_s + LATER_S,
            "num_retries": 0,
            "max_retries": 0,
        }
        if request.tools:
            found["tools"] = tools_sent(request.tools)
        if request.output is not None and (spec.base_url is not None or self._takes_schema(name, provider)):
            schema = {"name": "answer", "schema": request.output}
            found["response_format"] = {"type": "json_schema", "json_schema": schema}
        if spec.base_url is not None or "stream_options" in taken:
            found["stream_options"] = {"include_usage": True}
        if spec.base_url is not None:
            found["base_url"] = spec.base_url
        if ask.key is not None or spec.base_url is not None:
            found["api_key"] = ask.key or NO_KEY
        return found

    def provider(self, request: ModelRequest) -> str:
        """Return who answers: the provider, and where, if it is not at its own address."""
        _, provider = self._named(cast(str, request.model.model))
        return provider if request.model.base_url is None else f"{provider}@{request.model.base_url}"

    def answer(self, request: ModelRequest, assembly: Assembly, current: Exchange) -> ModelAnswer:
        """Return the whole answer, with what it cost."""
        usage = self.usage(request, assembly.usage, current)
        return structs.replace(assembly.answer(self.provider(request)), usage=usage)

    def usage(self, request: ModelRequest, counted: Any, current: Exchange) -> Usage:
        """Return what litellm has counted and what that costs.

        The cost that the provider states counts before that of a price; one of 0 only where no price is known, because
        a proxy without a price states that too.

        Args:
            counted: Usage as litellm has it; None where the provider has stated none.
        """
        stated = _cost(getattr(counted, "cost", None), current.cost)
        if counted is None:
            return changed(NO_USAGE, cost_usd=stated)
        given, answered = _count(counted.prompt_tokens), _count(counted.completion_tokens)
        details = getattr(counted, "prompt_tokens_details", None)
        cached = min(_count(getattr(details, "cached_tokens", None)), given)
        price = self._price(request)
        usage = usage_at(price, tokens_in=given, tokens_out=answered, tokens_cached=cached or None)
        if stated is not None and (stated or price is None):
            usage = changed(usage, cost_usd=stated, unpriced=False)
        return usage

    def estimate(self, request: ModelRequest, characters_out: int) -> Usage:
        """Return about what a request has cost whose answer was cut off."""
        return usage_at(self._price(request), tokens_in=tokens_in(request), tokens_out=tokens_of(characters_out))

    def _price(self, request: ModelRequest) -> Price | None:
        """Return what tokens cost: the table of prices is about the providers' own addresses."""
        if request.model.price is not None or request.model.base_url is not None:
            return request.model.price
        model = cast(str, request.model.model)
        return _price(self._row(model, *self._named(model)))


def _count(told: object) -> int:
    """Return how many tokens a provider says it has counted; what cannot be a number of tokens is 0."""
    return told if isinstance(told, int) and 0 < told <= MOST_TOKENS else 0


def _cost(*stated: object) -> Decimal | None:
    """Return the first of the amounts that can be a cost, in US dollars."""
    for amount in stated:
        if isinstance(amount, int | float | str) and not isinstance(amount, bool):
            with suppress(ValueError):
                cost = round(float(amount), COST_DIGITS)
                if 0 <= cost <= MOST_USD:
                    return Decimal(str(cost))
    return None


def _allowed(params: Mapping[str, Any], names: set[str], provider: str) -> dict[str, Any]:
    """Return parameters of a request; litellm takes addresses and keys there too, which are not for a spec to say.

    Raises:
        BadRequestError: If one is none.
    """
    wrong = next((name for name in params if name not in names), None)
    if wrong is not None:
        near = get_close_matches(wrong, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(sorted(names)[:12])} …"
        raise BadRequestError(f"{provider} takes no parameter {wrong!r}; {hint}")
    return dict(params)


class BadRequestError(Exception):
    """A request cannot be sent as it is."""


class CutShort(Exception):
    """The stream ended, and the provider did not say that the answer is over."""

    def __init__(self) -> None:
        super().__init__("the answer ended early")


async def _closed(response: Any) -> None:
    """Close the connection of a stream: litellm's wrapper does not where it was not read to its end."""
    for one in (response, getattr(response, "completion_stream", None)):
        close = getattr(one, "aclose", None) or getattr(one, "close", None)
        if close is not None:
            with suppress(Exception):  # closing a closed stream may raise anything
                done = close()
                if hasattr(done, "__await__"):
                    await done


def _price(row: dict[str, Any]) -> Price | None:
    given, answered = row.get("input_cost_per_token"), row.get("output_cost_per_token")
    if given is None or answered is None:
        return None
    cached = row.get("cache_read_input_token_cost")
    return Price(
        in_usd=_per_million(given),
        out_usd=_per_million(answered),
        cached_usd=None if cached is None else _per_million(cached),
    )


def _per_million(amount: float) -> Decimal:
    return (Decimal(str(amount)) * 1_000_000).normalize()
