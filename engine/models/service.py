"""Who answers model requests in one engine."""

from collections.abc import Callable

from engine.models.records import Answer, Chunk, ModelError, ModelRequest, Sleeps
from engine.models.scripted import answer


class ModelService:
    """Answers requests: those to scripted models from their replies."""

    async def ask(self, request: ModelRequest, on_chunk: Callable[[Chunk], None], sleep: Sleeps) -> Answer:
        """Send one request and return its whole answer.

        Raises:
            ModelError: If there is no whole answer.
        """
        if request.model.replies:
            return await answer(request, on_chunk, sleep)
        raise ModelError(
            f"{request.name}: no provider of models is installed",
            model=request.name,
            error_type="bad_request",
            retryable=False,
        )
