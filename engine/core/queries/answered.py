"""Who answered in a step of a model."""

from engine.core.events import StepRecorded


def model_of(event: StepRecorded) -> str | None:
    """Return the model that answered, as the team calls it; None of any other step."""
    if event.what != "model":
        return None
    for said in (event.input, event.output):
        if isinstance(said, dict) and isinstance(said.get("model"), str):
            return str(said["model"])
    return None
