"""What `doctor` finds to work with: keys by their variables, servers that answer, command-line agents on the path."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.models.local_services import installed_agents, running_servers
from engine.models.providers import find_keys
from tests.model_server import ModelServer, model_server


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with model_server() as served:
        yield served


def test_keys_are_named_by_their_variables_and_never_shown() -> None:
    environment = {"OPENAI_API_KEY": "sk-secret", "GOOGLE_API_KEY": "other-secret", "MISTRAL_API_KEY": "", "PATH": "/"}

    assert find_keys(environment) == {"openai": "OPENAI_API_KEY", "gemini": "GOOGLE_API_KEY"}


def test_a_server_that_answers_is_found_with_its_models_as_a_team_writes_them(server: ModelServer) -> None:
    servers = {"mine": (f"{server.url}/models", "openai/{}"), "none": ("http://127.0.0.1:9/v1/models", "openai/{}")}

    found = running_servers(servers, probe_s=30)

    assert [(one.name, one.models, one.base_url) for one in found] == [("mine", ("openai/tested-1",), server.url)]


def test_what_listens_and_says_nothing_is_passed_over_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/models"

        assert running_servers({"silent": (url, "{}")}, probe_s=0.1) == []


def test_command_line_agents_are_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert installed_agents() == {"codex": str(program)}
