"""Finds model servers and command-line agents on this computer, without a request to any model."""

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
"""Model servers by name: the default address that lists their models, and the format of model names in a team."""
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
"""Names of common command-line agents."""
PROBE_S = 0.5
"""Timeout of a server's answer, in seconds."""
MAX_RESPONSE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A running model server."""

    name: str
    url: str
    models: tuple[str, ...]
    """Names of its models, as in a team file."""
    base_url: str | None = None
    """The `base_url` for a team file; None if litellm knows the address."""


def installed_agents(names: Iterable[str] = AGENTS) -> dict[str, str]:
    """Return the command-line agents that are installed, with their paths."""
    paths = {name: shutil.which(name) for name in names}
    return {name: path for name, path in paths.items() if path is not None}


def running_servers(servers: Mapping[str, tuple[str, str]] = SERVERS, *, probe_s: float = PROBE_S) -> list[ModelServer]:
    """Return the servers that answer within `probe_s` seconds; probes all at once, and blocks."""
    with ThreadPoolExecutor(len(servers) or 1) as pool:
        running = pool.map(lambda name: _probe(name, *servers[name], probe_s=probe_s), servers)
        return [server for server in running if server is not None]


def _probe(name: str, url: str, name_format: str, *, probe_s: float) -> ModelServer | None:
    # Without a proxy, which cannot reach servers on this computer.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=probe_s) as response:
            body = json.loads(response.read(MAX_RESPONSE_BYTES))
    except (OSError, ValueError, HTTPException):  # no server there, or one that serves no models
        return None
    entries = body.get("models") or body.get("data") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        return None
    ids = [entry.get("name") or entry.get("id") for entry in entries if isinstance(entry, dict)]
    base_url = url.removesuffix("/models") if name_format.startswith("openai/") else None
    models = tuple(name_format.format(model_id) for model_id in ids if isinstance(model_id, str))
    return ModelServer(name, url, models, base_url)
