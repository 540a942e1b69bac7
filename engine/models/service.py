"""Routes the model requests of one engine: to scripted replies, or to providers through a child process."""

import os
from collections import Counter
from collections.abc import Awaitable, Callable

from engine.core.queries.team.code import references_of_model
from engine.core.records.values import NO_USAGE, Usage
from engine.core.specs.model_spec import ModelSpec, Price
from engine.errors import Unusable
from engine.models.child_messages import Facts, Failed
from engine.models.costs import tokens_in, tokens_of, usage_at
from engine.models.link import Link, RequestFailed
from engine.models.providers import Provider, provider_named
from engine.models.rate_limits import RateLimits, RequestSlot
from engine.models.records import Chunk, ModelAnswer, ModelError, ModelRequest, Sleep
from engine.platform.redaction import note_sent_variable

DEFAULT_ANSWER_TOKENS = 256
"""Estimate for an answer of a model that has not answered yet."""


class ModelService:
    """Answers requests to scripted models from their replies, and sends others to their provider.

    Args:
        spawn: Starts a task that lives as long as the engine.
        check: Raises `Unusable` for an address that is not trusted.
    """

    def __init__(self, spawn: Callable[..., object], check: Callable[[str], Awaitable[None]]) -> None:
        self._spawn = spawn
        self._check = check
        self._checked: set[str] = set()
        self._rate_limits = RateLimits()
        self._turns: dict[int, RequestSlot] = {}
        self._tokens_out: dict[str, tuple[int, int]] = {}
        """Number of answers per model, and the sum of their tokens."""
        self._links: dict[tuple[str, ...], Link] = {}
        """Child processes by their environment variables: no provider's code sees the keys of another."""
        self._facts: dict[str, Facts] = {}
        self._failures: Counter[tuple[str, int, str]] = Counter()
        """Of scripted models (`scripted.Failures`)."""

    async def ask(self, request: ModelRequest, on_chunk: Callable[[Chunk], None], sleep: Sleep) -> ModelAnswer:
        """Send one request and return its whole answer; when cancelled, the connection is closed.

        Args:
            on_chunk: Called with each piece of the answer.
            sleep: Waits on the engine's clock.

        Raises:
            ModelError: If there is no whole answer.
        """
        if request.model.replies:
            from engine.models.scripted import answer  # with pydantic, 60 ms, which models of providers do not need

            return await answer(request, on_chunk, sleep, self._failures)
        try:
            await self._check_addresses(request)
            key, variables = await self._credentials(request)
            return await self._link(variables).ask(request, key, on_chunk)
        except RequestFailed as failed:
            raise _to_model_error(request, failed.failure) from failed

    def due_ms(self, request: ModelRequest, now_ms: int) -> int:
        """Reserve a turn under the rate limits of its key; return the time from which `ask` may be called."""
        spec = request.model
        paused_ms = self._rate_limits.paused_until_ms(_model_key(request))
        if spec.rpm is None and spec.tpm is None:
            return max(now_ms, paused_ms)
        estimate = self.estimate(request) if spec.tpm is not None else NO_USAGE
        tokens = (estimate.tokens_in or 0) + (estimate.tokens_out or 0)
        turn = self._rate_limits.turn(_key(request), tokens, max(now_ms, paused_ms), rpm=spec.rpm, tpm=spec.tpm)
        self._turns[id(request)] = turn
        return turn.at_ms

    def settle(self, request: ModelRequest, usage: Usage, now_ms: int, *, retry_after_s: float | None = None) -> None:
        """Record the usage of a request, and the delay that its provider asks for."""
        turn = self._turns.pop(id(request), None)
        if turn is not None:
            # The request was given up before its turn; another one may use it.
            if turn.at_ms > now_ms:
                self._rate_limits.give_back(_key(request), turn)
            turn.tokens = (usage.tokens_in or 0) + (usage.tokens_out or 0)
        if usage.tokens_out is not None:
            count, tokens = self._tokens_out.get(request.name, (0, 0))
            self._tokens_out[request.name] = count + 1, tokens + usage.tokens_out
        if retry_after_s is not None:
            self._rate_limits.pause(_model_key(request), now_ms + round(retry_after_s * 1000))

    def estimate(self, request: ModelRequest, characters_out: int | None = None) -> Usage:
        """Estimate the usage of a request; with `characters_out`, of one whose answer was cut off after so many."""
        if request.model.replies and characters_out is None:
            from engine.models.scripted import scripted_usage

            return scripted_usage(request, self._failures)
        tokens_out = self._expected_tokens_out(request) if characters_out is None else tokens_of(characters_out)
        return usage_at(self._price(request.model), tokens_in=tokens_in(request), tokens_out=tokens_out)

    def _expected_tokens_out(self, request: ModelRequest) -> int:
        """Estimate the tokens of an answer: the requested maximum, else the mean of earlier answers."""
        for name in ("max_tokens", "max_completion_tokens"):
            max_tokens = request.params.get(name)
            if isinstance(max_tokens, int) and max_tokens > 0:
                return max_tokens
        count, tokens = self._tokens_out.get(request.name, (0, 0))
        return -(-tokens // count) if count else DEFAULT_ANSWER_TOKENS

    def _price(self, spec: ModelSpec) -> Price | None:
        if spec.price is not None or spec.base_url is not None:
            return spec.price
        facts = self._facts.get(spec.model or "")
        return None if facts is None else facts.price

    def context_tokens(self, model: ModelSpec) -> int | None:
        """Return the size of a model's context in tokens; None if unknown, as before its first request."""
        facts = self._facts.get(model.model or "")
        return model.context_tokens or (None if facts is None or model.base_url is not None else facts.context_tokens)

    async def close(self) -> None:
        """End the child processes; no request may follow."""
        for link in self._links.values():
            await link.close()

    async def facts(self, model: str) -> Facts:
        """Return a model's entry in the table of litellm; raises RequestFailed for an unknown provider."""
        if model not in self._facts:
            self._facts[model] = await self._link(()).look(model)
        return self._facts[model]

    def _link(self, variables: tuple[str, ...]) -> Link:
        if variables not in self._links:
            self._links[variables] = Link(self._spawn, variables)
        return self._links[variables]

    async def _check_addresses(self, request: ModelRequest) -> None:
        """Raise RequestFailed if the user of this engine does not trust an address of a request."""
        for reference in references_of_model(request.model):
            if reference not in self._checked:
                try:
                    await self._check(reference)
                except Unusable as unusable:
                    failure = Failed(id=0, text=unusable.reason, error_type="bad_request", retryable=False)
                    raise RequestFailed(failure) from unusable
                self._checked.add(reference)

    async def _credentials(self, request: ModelRequest) -> tuple[str | None, tuple[str, ...]]:
        """Return the API key of a request and its process's variables; raises RequestFailed if one is not set."""
        spec = request.model
        assert spec.model is not None
        own = () if spec.key_env is None else (spec.key_env,)
        for name in own:
            note_sent_variable(name)
        if spec.base_url is not None:
            return (_variable_value(own) if own else None), ()
        facts = await self.facts(spec.model)
        provider = provider_named(facts.provider, facts.variables)
        names = own or provider.key
        return (_variable_value(names) if names else None), _provider_variables(provider)


def _key(request: ModelRequest) -> tuple[str, str | None]:
    """Return the key of a rate limit: providers count the requests to one address with one API key.

    A scripted model is a provider of its own.
    """
    spec = request.model
    return spec.base_url or (spec.model or request.name).partition("/")[0], spec.key_env


def _model_key(request: ModelRequest) -> tuple[str, str | None, str | None]:
    return (*_key(request), request.model.model)


def _provider_variables(provider: Provider) -> tuple[str, ...]:
    for name in provider.required:
        _variable_value((name,))
    return tuple(name for name in (*provider.required, *provider.optional) if os.environ.get(name))


def _variable_value(names: tuple[str, ...]) -> str:
    """Return the value of the first variable that is set."""
    for name in names:
        if value := os.environ.get(name, "").strip():
            return value
    words = f"no key: set the environment variable {' or '.join(names)} where the engine runs"
    raise RequestFailed(Failed(id=0, text=words, error_type="auth", retryable=False))


def _to_model_error(request: ModelRequest, failure: Failed) -> ModelError:
    return ModelError(
        f"{request.name}: {failure.text}",
        model=request.name,
        error_type=failure.error_type,
        retryable=failure.retryable,
        retry_after_s=failure.retry_after_s,
        usage=failure.usage,
        partial=failure.partial,
    )
