"""Records of the models and tool servers that agents use by name; part of the settings of a supervisor.

A key is never part of it: `key_env`, `env` and `headers_env` name variables of the engine's environment.
See docs/reference/team-file.md.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import field
from typing_extensions import override

from engine.core.errors import BadValue
from engine.core.records.records import Json
from engine.core.validation.bounds import DAY_S, Label, Text
from engine.core.validation.records import ValidatedRecord
from engine.core.validation.rules import Within, Wording

Variable: TypeAlias = Annotated[
    str, Within(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,199}$"), Wording("the name of an environment variable")
]
Address: TypeAlias = Annotated[
    str,
    Within(pattern=r"^https?://[^\s]+$", max_length=500),
    Wording("an address that begins with http:// or https://"),
]
if TYPE_CHECKING:  # what a program may give; records hold decimals
    PerMillion: TypeAlias = Decimal | float | str
else:
    PerMillion = Annotated[Decimal, Within(ge=0, le=10**6)]
"""US dollars for a million tokens."""
PerMinute: TypeAlias = Annotated[int, Within(ge=1, le=10**9)]
WaitSeconds: TypeAlias = Annotated[float, Within(gt=0, le=DAY_S)]
"""Seconds."""


class Price(ValidatedRecord, kw_only=True):
    """What tokens cost, in US dollars for a million of them."""

    in_usd: PerMillion = Decimal(0)
    """Price of input tokens."""
    out_usd: PerMillion = Decimal(0)
    """Price of output tokens."""
    cached_usd: PerMillion | None = None
    """Price of input tokens from the provider's cache; by default that of others."""


class ModelSpec(ValidatedRecord, kw_only=True):
    """A model under a name of the team's own.

    Raises:
        BadValue: If it says neither `model` nor `replies`, or both.
    """

    whose = "model"
    model: Label | None = None
    """Its name in litellm, such as `openai/gpt-4o-mini`."""
    key_env: Variable | None = None
    """The environment variable that holds the key; by default the provider's own."""
    base_url: Address | None = None
    """Where it is served, if not at its provider; gets no key but the one that `key_env` names."""
    rpm: PerMinute | None = None
    """Requests a minute that are allowed."""
    tpm: PerMinute | None = None
    """Tokens a minute that are allowed, in and out."""
    price: Price | None = None
    """US dollars for a million tokens in, out, and in from the provider's cache."""
    context_tokens: Annotated[int, Within(ge=256, le=10**9)] | None = None
    """Tokens that a request may hold; by default as litellm's table says."""
    timeout_s: WaitSeconds = 600.0
    """Longest a request may take, in seconds."""
    idle_s: WaitSeconds = 60.0
    """Longest that nothing of an answer may come, in seconds."""
    replies: Annotated[Sequence[Json], Within(max_length=1_000)] = ()
    """What is said in place of a model: scripted answers, in order (`engine.models.scripted`)."""

    @override
    def __post_init__(self) -> None:
        """Refuse invalid values."""
        super().__post_init__()
        if (self.model is None) == (not self.replies):
            raise BadValue("model", (), "says either 'model', the name that litellm knows it by, or 'replies'")


class McpSpec(ValidatedRecord, kw_only=True):
    """A tool server that speaks the Model Context Protocol: a program, or an address.

    Raises:
        BadValue: If it says neither `argv` nor `url`, or both.
    """

    whose = "mcp"
    argv: Annotated[tuple[Text, ...], Within(max_length=100)] = ()
    """The program and its arguments; never a shell."""
    url: Address | None = None
    """The address of a server; in place of a program."""
    env: Annotated[tuple[Variable, ...], Within(max_length=100)] = ()
    """Variables that the program gets besides PATH, HOME, LANG, TERM and TMPDIR."""
    headers_env: Mapping[Label, Variable] = field(default_factory=dict)
    """Variables that hold headers of each request; by the name of the header."""
    idempotent: Annotated[tuple[Label, ...], Within(max_length=200)] = ()
    """Tools that may be called twice without harm."""
    timeout_s: WaitSeconds = 60.0
    """Longest a call may take, in seconds."""

    @override
    def __post_init__(self) -> None:
        """Refuse invalid values."""
        super().__post_init__()
        if bool(self.argv) == (self.url is not None):
            raise BadValue("mcp", (), "says either 'argv', a program and its arguments, or 'url'")
