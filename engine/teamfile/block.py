"""What every block of a team file is made of: no key that is not known, no type but the one that is asked for."""

from pydantic import BaseModel, ConfigDict


class Block(BaseModel):
    """A block of keys."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
