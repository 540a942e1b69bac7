"""What a team says of the models and tool servers that its agents use: by name, in its settings.

A key is never part of it: `key_env`, `env` and `headers_env` name variables of the engine's environment.
See docs/reference/team-file.md.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, TypeAlias

from msgspec import field

from engine.core.errors import BadValue
from engine.core.records import JsonValue
from engine.core.validation.bounds import DAY_S, Label, Text
from engine.core.validation.records import Written
from engine.core.validation.rules import Says, Within

Variable: TypeAlias = Annotated[
    str, Within(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,199}$"), Says("the name of an environment variable")
]
Address: TypeAlias = Annotated[
    str, Within(pattern=r"^https?://[^\s]+$", max_length=500), Says("an address that begins with http:// or https://")
]
PerMillion: TypeAlias = Annotated[Decimal, Within(ge=0, le=10**6)]
"""US dollars for a million tokens."""
PerMinute: TypeAlias = Annotated[int, Within(ge=1, le=10**9)]
LongestWait: TypeAlias = Annotated[float, Within(gt=0, le=DAY_S)]
"""Seconds."""


class Price(Written, kw_only=True):
    """What tokens cost, in US dollars for a million of them."""

    in_usd: PerMillion = Decimal(0)
    out_usd: PerMillion = Decimal(0)
    cached_usd: PerMillion | None = None
    """Of tokens in that the provider had in its cache; None where they cost what others do."""


class ModelSpec(Written, kw_only=True):
    """A model under a name of the team's own.

    Raises:
        BadValue: If it says neither `model` nor `replies`, or both.
    """

    whose = "model"
    model: Label | None = None
    """The name that litellm knows it by, such as `openai/gpt-4o-mini`."""
    key_env: Variable | None = None
    """The variable that holds the key; None where the provider's own is meant."""
    base_url: Address | None = None
    """Where it is served, if not at the provider's own address; gets no key but the one that `key_env` names."""
    rpm: PerMinute | None = None
    """Requests a minute that the provider allows for the key."""
    tpm: PerMinute | None = None
    """Tokens a minute, in and out."""
    price: Price | None = None
    context_tokens: Annotated[int, Within(ge=256, le=10**9)] | None = None
    """Tokens that a request may hold; None where litellm's table says it."""
    timeout_s: LongestWait = 600.0
    """Longest a request may take, in seconds."""
    idle_s: LongestWait = 60.0
    """Longest that nothing of an answer may come, in seconds."""
    replies: Annotated[Sequence[JsonValue], Within(max_length=1_000)] = ()
    """Answers to give in place of a model, in order: `engine.models.scripted`."""

    def __post_init__(self) -> None:
        """Refuse what cannot be right."""
        super().__post_init__()
        if (self.model is None) == (not self.replies):
            raise BadValue("model", (), "says either 'model', the name that litellm knows it by, or 'replies'")


class McpSpec(Written, kw_only=True):
    """A server of tools that speaks the Model Context Protocol: a program, or an address.

    Raises:
        BadValue: If it says neither `argv` nor `url`, or both.
    """

    whose = "mcp"
    argv: Annotated[tuple[Text, ...], Within(max_length=100)] = ()
    """The program and its arguments; never a shell."""
    url: Address | None = None
    env: Annotated[tuple[Variable, ...], Within(max_length=100)] = ()
    """Variables of the engine that the program gets besides PATH, HOME, LANG, TERM and TMPDIR."""
    headers_env: Mapping[Label, Variable] = field(default_factory=dict)
    """From a header of each request to the variable that holds its value."""
    idempotent: Annotated[tuple[Label, ...], Within(max_length=200)] = ()
    """Tools that may be called twice without harm."""
    timeout_s: LongestWait = 60.0
    """Longest that a call may take, in seconds."""

    def __post_init__(self) -> None:
        """Refuse what cannot be right."""
        super().__post_init__()
        if bool(self.argv) == (self.url is not None):
            raise BadValue("mcp", (), "says either 'argv', a program and its arguments, or 'url'")
