"""Who answers model requests in one engine: scripts, and providers through a process of their own."""

import os
from collections.abc import Awaitable, Callable

from engine.core.code import references_of_model
from engine.errors import Unusable
from engine.models.link import CallFailed, Link
from engine.models.providers import Provider, provider_named
from engine.models.records import Answer, Chunk, ModelError, ModelRequest, Sleeps
from engine.models.scripted import answer
from engine.models.wire import Facts, Failed


class ModelService:
    """Answers requests: those to scripted models from their replies, others by their provider.

    Args:
        spawn: Starts a task that lives as long as the engine.
        check: Raises `Unusable` for an address that is not trusted.
    """

    def __init__(self, spawn: Callable[..., object], check: Callable[[str], Awaitable[None]]) -> None:
        self._spawn = spawn
        self._check = check
        self._checked: set[str] = set()
        self._links: dict[tuple[str, ...], Link] = {}
        """By the variables that their process gets: one never sees another's keys."""
        self._facts: dict[str, Facts] = {}

    async def ask(self, request: ModelRequest, on_chunk: Callable[[Chunk], None], sleep: Sleeps) -> Answer:
        """Send one request and return its whole answer.

        Raises:
            ModelError: If there is no whole answer.
        """
        if request.model.replies:
            return await answer(request, on_chunk, sleep)
        try:
            await self._may_be_reached(request)
            key, variables = await self._credentials(request)
            return await self._link(variables).ask(request, key, on_chunk)
        except CallFailed as failed:
            raise _error(request, failed.said) from failed

    async def close(self) -> None:
        """End the processes."""
        for link in self._links.values():
            await link.close()

    async def facts(self, model: str) -> Facts:
        """Return what litellm's table says of a model.

        Raises:
            CallFailed: If it knows no provider of that name.
        """
        if model not in self._facts:
            self._facts[model] = await self._link(()).look(model)
        return self._facts[model]

    def _link(self, variables: tuple[str, ...]) -> Link:
        if variables not in self._links:
            self._links[variables] = Link(self._spawn, variables)
        return self._links[variables]

    async def _may_be_reached(self, request: ModelRequest) -> None:
        """Return when the addresses of a request are trusted, also by the user of this engine.

        Raises:
            CallFailed: If they are not.
        """
        for reference in references_of_model(request.model):
            if reference not in self._checked:
                try:
                    await self._check(reference)
                except Unusable as unusable:
                    said = Failed(id=0, text=unusable.reason, error_type="bad_request", retryable=False)
                    raise CallFailed(said) from unusable
                self._checked.add(reference)

    async def _credentials(self, request: ModelRequest) -> tuple[str | None, tuple[str, ...]]:
        """Return the key of a request, and the variables that its process needs.

        Raises:
            CallFailed: If there is no key.
        """
        spec = request.model
        assert spec.model is not None
        own = () if spec.key_env is None else (spec.key_env,)
        if spec.base_url is not None:
            return (_value(own) if own else None), ()
        facts = await self.facts(spec.model)
        provider = provider_named(facts.provider, facts.variables)
        names = own or provider.key
        return (_value(names) if names else None), _passed_on(provider)


def _passed_on(provider: Provider) -> tuple[str, ...]:
    for name in provider.needs:
        _value((name,))
    return tuple(name for name in (*provider.needs, *provider.may) if os.environ.get(name))


def _value(names: tuple[str, ...]) -> str:
    """Return what the first of some variables holds that is set."""
    for name in names:
        if value := os.environ.get(name, "").strip():
            return value
    words = f"no key: set the environment variable {' or '.join(names)} where the engine runs"
    raise CallFailed(Failed(id=0, text=words, error_type="auth", retryable=False))


def _error(request: ModelRequest, said: Failed) -> ModelError:
    return ModelError(
        f"{request.name}: {said.text}",
        model=request.name,
        error_type=said.error_type,
        retryable=said.retryable,
        retry_after_s=said.retry_after_s,
        usage=said.usage,
        partial=said.partial,
    )
