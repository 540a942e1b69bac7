"""The installed version of quarterdeck, and its build."""

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("engine", "store")
"""Packages whose code identifies a build."""


@cache
def program_version() -> str:
    """Return the installed version, or "unknown" without an installation; reads the metadata once, 5 ms."""
    try:
        return version("quarterdeck")
    except PackageNotFoundError:
        return "unknown"


@cache
def program_build() -> str:
    """Return the version with eight hex digits of a hash of its code, such as `1.0.0+0a1b2c3d`; read once, 12 ms."""
    root, content = Path(__file__).resolve().parents[2], hashlib.blake2b(digest_size=4)
    for package in _PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            content.update(file.read_bytes())
    return f"{program_version()}+{content.hexdigest()}"
