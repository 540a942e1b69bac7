"""What models were asked: the engine's own service, which notes each request."""

from collections.abc import Callable

from engine.models.records import Chunk, ModelAnswer, ModelRequest, Sleep
from engine.models.service import ModelService

REQUESTS: list[ModelRequest] = []
"""Since the test began that uses the fixture `noted_requests`."""


class Noting(ModelService):
    """The real service, which notes what it is asked."""

    async def ask(self, request: ModelRequest, on_chunk: Callable[[Chunk], None], sleep: Sleep) -> ModelAnswer:
        REQUESTS.append(request)
        return await super().ask(request, on_chunk, sleep)
