"""What there is to work with on this computer: keys, servers of models, command-line agents. Looks; asks no model."""

import json
import shutil
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException

SERVERS = {
    "Ollama": ("http://127.0.0.1:11434/api/tags", "ollama_chat/{}"),
    "a server at port 8000": ("http://127.0.0.1:8000/v1/models", "openai/{}"),
    "LM Studio": ("http://127.0.0.1:1234/v1/models", "openai/{}"),
}
"""Where servers of models listen by default: what lists their models, and how those are written in a team."""
AGENTS = (
    "claude",
    "claude-code-acp",
    "codex",
    "codex-acp",
    "gemini",
    "opencode",
    "goose",
    "aider",
    "cursor-agent",
    "qwen",
    "amp",
    "copilot",
    "auggie",
    "kimi",
)
"""Command-line agents that people have."""
PROBE_S = 0.5
"""How long a server may take to answer."""
MAX_RESPONSE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server of models that answers."""

    name: str
    url: str
    models: tuple[str, ...]
    """As a team file writes them."""
    base_url: str | None = None
    """What a team file says besides; None where litellm knows the address."""


def installed_agents(names: Iterable[str] = AGENTS) -> dict[str, str]:
    """Return the command-line agents that are installed, with their paths."""
    paths = {name: shutil.which(name) for name in names}
    return {name: path for name, path in paths.items() if path is not None}


def running_servers(servers: Mapping[str, tuple[str, str]] = SERVERS, *, probe_s: float = PROBE_S) -> list[ModelServer]:
    """Return the servers that answer within `probe_s` seconds, all of them asked at once; blocks."""
    with ThreadPoolExecutor(len(servers) or 1) as pool:
        servers_found = pool.map(lambda name: _probe(name, *servers[name], probe_s=probe_s), servers)
        return [server for server in servers_found if server is not None]


def _probe(name: str, url: str, name_format: str, *, probe_s: float) -> ModelServer | None:
    # Servers on this computer are asked without a proxy.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=probe_s) as response:
            body = json.loads(response.read(MAX_RESPONSE_BYTES))
    except (OSError, ValueError, HTTPException):  # no server there, or one that serves no models
        return None
    models = body.get("models") or body.get("data") if isinstance(body, dict) else None
    if not isinstance(models, list):
        return None
    ids = [model.get("name") or model.get("id") for model in models if isinstance(model, dict)]
    base_url = url.removesuffix("/models") if name_format.startswith("openai/") else None
    return ModelServer(
        name, url, tuple(name_format.format(model_id) for model_id in ids if isinstance(model_id, str)), base_url
    )
