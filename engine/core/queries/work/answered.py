"""The model of a recorded model step."""

from engine.core.events import StepRecorded


def model_of(event: StepRecorded) -> str | None:
    """Return the model that a step asked, by the team's name for it; None for code and tools."""
    if event.what not in ("model", "compact"):
        return None
    for content in (event.input, event.output):
        if isinstance(content, dict) and isinstance(content.get("model"), str):
            return str(content["model"])
    return None
