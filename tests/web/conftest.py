"""Databases that are served, a certificate, and a browser."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.pilot.scene import audit, written
from tests.web.chromium import Browser, browsing, chromium


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A team in the middle of its work, whose engine is gone."""
    return written(tmp_path / "team.db", audit())


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for this machine that nobody has signed, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    cert_file, key_file = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert_file.write_bytes(made.sign(key, SHA256()).public_bytes(Encoding.PEM))
    key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return cert_file, key_file


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """One browser for the tests of a file, each with a window of its own: starting it costs as much as a test."""
    with chromium(tmp_path_factory.mktemp("chromium")) as at:
        yield at


@pytest.fixture
async def browser(program: tuple[int, str]) -> AsyncIterator[Browser]:
    async with browsing(program) as window:
        yield window
