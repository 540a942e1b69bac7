"""What every block of a team file is made of: no key that is not known, no type but the one that is asked for."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
Text = Annotated[str, StringConstraints(max_length=100_000)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Block(BaseModel):
    """A block of keys."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
