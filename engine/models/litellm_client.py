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

from engine.core.errors import did_you_mean
from engine.core.records.records import copy_with
from engine.core.records.values import NO_USAGE, Usage
from engine.core.specs.model_spec import Price
from engine.models.assembly import Assembly
from engine.models.child_messages import Ask, Facts
from engine.models.costs import tokens_in, tokens_of, usage_at
from engine.models.openai_messages import to_openai_messages, to_openai_tools
from engine.models.price_table import Row, context_of, find_row, price_of
from engine.models.records import ModelAnswer, ModelRequest
from engine.models.responses import Exchange, exchange, limit_clients
from engine.platform import garbage

CLOSING_S = 2.0
"""Timeout for closing a connection."""
TIMEOUT_MARGIN_S = 10.0
"""Added to litellm's own timeout, which unlike ours counts time in which this process stood still."""
MAX_TOKENS = 1_000_000_000
"""Tokens of one request; a larger number is not a count."""
MAX_USD = 10_000
"""Cost of one request; a larger amount is not a cost."""
COST_DIGITS = 9
"""Decimal digits of a stated cost; further ones are noise of floating point."""
NO_KEY = "none"
"""Sent instead of a missing key: without a key litellm searches the environment for one."""

PARAMS = frozenset(
    {
        "extra_body",
        "min_p",
        "reasoning_effort",
        "repetition_penalty",
        "safety_settings",
        "seed",
        "stop",
        "temperature",
        "thinking",
        "top_k",
        "top_p",
        "verbosity",
    }
)
"""Parameters that are passed on in addition to those that litellm lists for a provider."""
NOT_PARAMS = frozenset(
    {
        "extra_headers",
        "functions",
        "function_call",
        "messages",
        "model",
        "n",
        "response_format",
        "stream",
        "stream_options",
        "timeout",
        "tools",
    }
)
"""Parameters that the engine sets itself, and headers, which could redirect a request as an address could."""


class Litellm:
    """litellm, configured to send requests and do nothing else."""

    def __init__(self) -> None:
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches prices over HTTP while it is imported
        os.environ["LITELLM_MODE"] = "PRODUCTION"  # else it loads a stray .env
        with garbage.importing_package(), garbage.collection_paused():  # what it makes stays: nothing to collect
            import litellm  # 4 s and 180 MB where nothing is cached

        litellm.suppress_debug_info = True
        litellm.telemetry = False
        litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize  # else a ruled line in an answer ends it as an error
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).handlers.clear()
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._litellm: Any = litellm
        limit_clients()

    def facts(self, model: str) -> Facts:
        """Return a model's entry in litellm's table, without a request; raises ValueError for an unknown provider."""
        name, provider = self._resolve_name(model)
        row = self._cost_row(model, name, provider)
        return Facts(
            provider=provider,
            variables=self._variables(model),
            price=price_of(row),
            context_tokens=context_of(row),
        )

    def _resolve_name(self, model: str) -> tuple[str, str]:
        try:
            name, provider, _, _ = self._litellm.get_llm_provider(model=model)
        except Exception as error:  # litellm has no class of its own for this
            raise ValueError(
                f"no model provider is known for {model!r}; write it as provider/model, such as openai/gpt-4o-mini"
            ) from error
        return name, provider

    def _cost_row(self, model: str, name: str, provider: str) -> Row:
        return find_row(self._litellm.model_cost, model, provider=provider, name=name)

    def _variables(self, model: str) -> tuple[str, ...]:
        return tuple(self._litellm.validate_environment(model=model).get("missing_keys") or ())

    def _takes_schema(self, name: str, provider: str) -> bool:
        try:
            return bool(self._litellm.supports_response_schema(model=name, custom_llm_provider=provider))
        except Exception:  # an unknown model may raise anything in its provider's code
            return False

    async def stream(self, ask: Ask, current: Exchange) -> AsyncIterator[Any]:
        """Send a request; yield the chunks of its answer. Stopping early closes the connection.

        Raises:
            BadAnswer: If the response is not an answer.
            CutShort: If the stream ends before the answer does.
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
                    await _close(response)
        except Exception as error:
            if current.fault is not None:
                raise current.fault from error
            raise

    def _arguments(self, ask: Ask) -> dict[str, Any]:
        """Return the arguments of litellm's completion, from which it makes the body of the request."""
        request = ask.request
        spec = request.model
        model = cast(str, spec.model)
        name, provider = self._resolve_name(model)
        supported_params = self._litellm.get_supported_openai_params(model=name, custom_llm_provider=provider) or ()
        arguments: dict[str, Any] = {
            **_checked_params(request.params, {*supported_params, *PARAMS} - NOT_PARAMS, provider),
            "model": model,
            "messages": to_openai_messages(request.messages, self.provider(request), with_tools=bool(request.tools)),
            "stream": True,
            "timeout": spec.timeout_s + TIMEOUT_MARGIN_S,
            "num_retries": 0,
            "max_retries": 0,
        }
        if request.tools:
            arguments["tools"] = to_openai_tools(request.tools)
        if request.output is not None and (spec.base_url is not None or self._takes_schema(name, provider)):
            schema = {"name": "answer", "schema": request.output}
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        if spec.base_url is not None or "stream_options" in supported_params:
            arguments["stream_options"] = {"include_usage": True}
        if spec.base_url is not None:
            arguments["base_url"] = spec.base_url
        if ask.key is not None or spec.base_url is not None:
            arguments["api_key"] = ask.key or NO_KEY
        return arguments

    def provider(self, request: ModelRequest) -> str:
        """Return the provider that answers, with its address if that is not the provider's own."""
        _, provider = self._resolve_name(cast(str, request.model.model))
        return provider if request.model.base_url is None else f"{provider}@{request.model.base_url}"

    def answer(self, request: ModelRequest, assembly: Assembly, current: Exchange) -> ModelAnswer:
        """Return the whole answer, with its usage and cost."""
        usage = self.usage(request, assembly.usage, current)
        return structs.replace(assembly.answer(self.provider(request)), usage=usage)

    def usage(self, request: ModelRequest, litellm_usage: Any, current: Exchange) -> Usage:
        """Return the usage of a request and its cost.

        A cost stated by the provider takes precedence over one computed from a price. A stated cost of 0 counts only if
        no price is known, because a proxy without prices states 0 as well.

        Args:
            litellm_usage: Usage as litellm reports it; None if the provider reported none.
        """
        stated_cost = _valid_cost(getattr(litellm_usage, "cost", None), current.cost)
        if litellm_usage is None:
            return copy_with(NO_USAGE, cost_usd=stated_cost)
        prompt_tokens = _valid_count(litellm_usage.prompt_tokens)
        completion_tokens = _valid_count(litellm_usage.completion_tokens)
        details = getattr(litellm_usage, "prompt_tokens_details", None)
        cached_tokens = min(_valid_count(getattr(details, "cached_tokens", None)), prompt_tokens)
        price = self._price(request)
        usage = usage_at(
            price, tokens_in=prompt_tokens, tokens_out=completion_tokens, tokens_cached=cached_tokens or None
        )
        if stated_cost is not None and (stated_cost or price is None):
            usage = copy_with(usage, cost_usd=stated_cost, unpriced=False)
        return usage

    def estimate(self, request: ModelRequest, characters_out: int) -> Usage:
        """Estimate the usage of a request whose answer was cut off."""
        return usage_at(self._price(request), tokens_in=tokens_in(request), tokens_out=tokens_of(characters_out))

    def _price(self, request: ModelRequest) -> Price | None:
        """Return the price of a model; litellm's table applies only to the providers' own addresses."""
        if request.model.price is not None or request.model.base_url is not None:
            return request.model.price
        model = cast(str, request.model.model)
        return price_of(self._cost_row(model, *self._resolve_name(model)))


def _valid_count(count: object) -> int:
    """Return a count of tokens that a provider reports; 0 if it is not a valid count."""
    return count if isinstance(count, int) and 0 < count <= MAX_TOKENS else 0


def _valid_cost(*amounts: object) -> Decimal | None:
    """Return the first valid cost among the amounts, in US dollars; None if there is none."""
    for amount in amounts:
        if isinstance(amount, int | float | str) and not isinstance(amount, bool):
            with suppress(ValueError):
                cost = round(float(amount), COST_DIGITS)
                if 0 <= cost <= MAX_USD:
                    return Decimal(str(cost))
    return None


def _checked_params(params: Mapping[str, Any], names: set[str], provider: str) -> dict[str, Any]:
    """Return the parameters of a request.

    Only `names` are allowed, because litellm also takes addresses and keys as parameters, which no spec may set.

    Raises:
        BadRequestError: If a parameter is not allowed.
    """
    unknown = next((name for name in params if name not in names), None)
    if unknown is not None:
        near = map(repr, get_close_matches(unknown, names, n=1))
        hint = did_you_mean(near, f"it takes {', '.join(sorted(names)[:12])} …")
        raise BadRequestError(f"{provider} takes no parameter {unknown!r}; {hint}")
    return dict(params)


class BadRequestError(Exception):
    """A request cannot be sent as it is."""


class CutShort(Exception):
    """The stream ended before the provider ended the answer."""

    def __init__(self) -> None:
        super().__init__("the answer ended early")


async def _close(response: Any) -> None:
    """Close the connection of a stream; litellm's wrapper does not unless it was read to its end."""
    for stream in (response, getattr(response, "completion_stream", None)):
        close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
        if close is not None:
            with suppress(Exception):  # closing a closed stream may raise anything
                done = close()
                if hasattr(done, "__await__"):
                    await done
