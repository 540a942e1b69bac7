"""Environment variables with the keys of each provider, by the provider's name in litellm."""

from collections.abc import Mapping
from dataclasses import dataclass

KEY_SUFFIX = "_API_KEY"
"""Suffix of the variable of a provider that is not listed."""


@dataclass(frozen=True, slots=True)
class Provider:
    """The environment variables of a provider."""

    key: tuple[str, ...] = ()
    """Alternative variables for the key; the first that is set counts."""
    required: tuple[str, ...] = ()
    """Further variables that must be set."""
    optional: tuple[str, ...] = ()
    """Variables that are passed on if set."""


_AWS = Provider(
    optional=(
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_REGION",
        "AWS_REGION_NAME",
        "AWS_DEFAULT_REGION",
        "AWS_PROFILE",
        "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    )
)
_LOCAL = Provider(optional=("OLLAMA_API_BASE", "OLLAMA_API_KEY"))

PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider(key=("ANTHROPIC_API_KEY",)),
    "azure": Provider(key=("AZURE_API_KEY",), required=("AZURE_API_BASE", "AZURE_API_VERSION")),
    "azure_ai": Provider(key=("AZURE_AI_API_KEY",), required=("AZURE_AI_API_BASE",)),
    "bedrock": _AWS,
    "bedrock_converse": _AWS,
    "cerebras": Provider(key=("CEREBRAS_API_KEY",)),
    "cloudflare": Provider(key=("CLOUDFLARE_API_KEY",), required=("CLOUDFLARE_ACCOUNT_ID",)),
    "cohere": Provider(key=("COHERE_API_KEY", "CO_API_KEY")),
    "cohere_chat": Provider(key=("COHERE_API_KEY", "CO_API_KEY")),
    "deepinfra": Provider(key=("DEEPINFRA_API_KEY",)),
    "deepseek": Provider(key=("DEEPSEEK_API_KEY",)),
    "fireworks_ai": Provider(key=("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY")),
    "gemini": Provider(key=("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "groq": Provider(key=("GROQ_API_KEY",)),
    "hosted_vllm": Provider(optional=("HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY")),
    "huggingface": Provider(key=("HF_TOKEN", "HUGGINGFACE_API_KEY")),
    "llamafile": Provider(optional=("LLAMAFILE_API_BASE",)),
    "lm_studio": Provider(optional=("LM_STUDIO_API_BASE", "LM_STUDIO_API_KEY")),
    "mistral": Provider(key=("MISTRAL_API_KEY",)),
    "moonshot": Provider(key=("MOONSHOT_API_KEY",)),
    "nvidia_nim": Provider(key=("NVIDIA_NIM_API_KEY",)),
    "ollama": _LOCAL,
    "ollama_chat": _LOCAL,
    "openai": Provider(key=("OPENAI_API_KEY",)),
    "openrouter": Provider(key=("OPENROUTER_API_KEY",)),
    "perplexity": Provider(key=("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY")),
    "replicate": Provider(key=("REPLICATE_API_KEY",)),
    "sagemaker": _AWS,
    "together_ai": Provider(key=("TOGETHERAI_API_KEY", "TOGETHER_API_KEY")),
    "vertex_ai": Provider(
        required=("VERTEXAI_PROJECT", "VERTEXAI_LOCATION"),
        optional=("GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS"),
    ),
    "xai": Provider(key=("XAI_API_KEY",)),
}


def provider_named(name: str, variables: tuple[str, ...] = ()) -> Provider:
    """Return the variables of a provider.

    Args:
        name: Its name in litellm.
        variables: Variables in which litellm looks for its key; used if the provider is not listed.
    """
    provider = PROVIDERS.get(name)
    if provider is not None:
        return provider
    return Provider(key=variables or (name.upper().replace("-", "_") + KEY_SUFFIX,))


def find_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the variables that contain a key, by provider; never their values."""
    variables: dict[str, str] = {}
    for name, provider in PROVIDERS.items():
        key = next((variable for variable in provider.key if environment.get(variable)), None)
        if key is not None:
            variables[name] = key
    if environment.get("AWS_ACCESS_KEY_ID") or environment.get("AWS_PROFILE"):
        variables["bedrock"] = "AWS_ACCESS_KEY_ID" if environment.get("AWS_ACCESS_KEY_ID") else "AWS_PROFILE"
    return variables


def missing_key(model: str, environment: Mapping[str, str]) -> str | None:
    """Return the variable to set for the key of a model such as `openai/gpt-4o-mini`.

    None if a key is set, none is needed, or the provider is unknown.
    """
    provider = PROVIDERS.get(model.partition("/")[0])
    if provider is None or not provider.key or any(environment.get(variable) for variable in provider.key):
        return None
    return " or ".join(provider.key)
