"""What a folder says it depends on, read from its manifests, how that fits what its code imports, and its licences."""

import json
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from configparser import ConfigParser, Error
from pathlib import PurePosixPath
from typing import Any, Final

from dashboard.demo.source import SourceRefused, read_bytes

_NAME = re.compile(r"(?i)^(?:un)?licen[cs]e|^copying|^notice")
_MARKS: Final = (
    ("AGPL-3.0", ("gnu affero general public license",)),
    ("LGPL", ("gnu lesser general public license",)),
    ("GPL-3.0", ("gnu general public license", "version 3")),
    ("GPL-2.0", ("gnu general public license", "version 2")),
    ("Apache-2.0", ("apache license", "version 2.0")),
    ("MPL-2.0", ("mozilla public license", "2.0")),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "neither the name")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",)),
    ("MIT", ("permission is hereby granted, free of charge", "the software is provided \"as is\"")),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software",)),
    ("PSF-2.0", ("python software foundation license",)),
    ("Unlicense", ("free and unencumbered software released into the public domain",)),
    ("CC0-1.0", ("cc0 1.0 universal",)),
    ("CC-BY", ("creative commons attribution",)),
)  # fmt: skip


def is_licence_file(name: str) -> bool:
    """Whether a file's name promises a licence."""
    path = PurePosixPath(name)
    return bool(_NAME.match(path.name)) and path.suffix.lower() in ("", ".txt", ".md", ".rst")


def licence_of(text: str) -> str:
    """The SPDX-like name of the licence that stands first in a text, or "unknown"."""
    plain = " ".join(text.lower().replace("“", '"').replace("”", '"').split())
    found = [(min(map(plain.find, marks)), name) for name, marks in _MARKS if all(mark in plain for mark in marks)]
    if not found:
        return "unknown"
    # The order of _MARKS decides between licences whose first words are the same.
    first = min(at for at, _ in found)
    return next(name for at, name in found if at == first)


MANIFESTS: Final = ("pyproject.toml", "setup.cfg", "package.json", "Cargo.toml", "go.mod", "Pipfile")
IMPORT_NAMES: Final = {
    "yaml": "pyyaml", "pil": "pillow", "cv2": "opencv-python", "sklearn": "scikit-learn", "bs4": "beautifulsoup4",
    "dateutil": "python-dateutil", "attr": "attrs", "dotenv": "python-dotenv", "jwt": "pyjwt", "git": "gitpython",
    "serial": "pyserial", "usb": "pyusb", "crypto": "pycryptodome", "openssl": "pyopenssl", "google": "protobuf",
    "mysqldb": "mysqlclient", "psycopg2": "psycopg2-binary", "win32api": "pywin32", "pkg-resources": "setuptools",
}  # fmt: skip
"""Import names that differ from their package's name; several packages provide `google`."""

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*([^;#]*)")
_GO_REQUIRE = re.compile(r"(?m)^\s*(?:require\s+)?([\w.-]+\.[\w./-]+)\s+(v[\w.+-]+)")


def is_manifest(name: str) -> bool:
    """Whether a file declares dependencies."""
    base = PurePosixPath(name).name
    return base in MANIFESTS or re.fullmatch(r"requirements[\w.-]*\.(?:txt|in)", base) is not None


def declared_in(folder: str, names: Iterable[str]) -> dict[str, Any]:
    """Read manifests; blocking.

    Returns:
        `{"items": [{"name", "version", "kind", "file"}], "failures": [{"file", "error"}]}`.
    """
    items: list[dict[str, str]] = []
    failures = []
    for name in names:
        try:
            text = read_bytes(folder, name).decode("utf-8-sig")
            found = list(requirements(name, text))
            "".join(map("".join, found)).encode()  # half a character can be escaped in JSON, and not be journaled
            items += [{"name": n, "version": v, "kind": kind, "file": name} for n, v, kind in found]
        except SourceRefused as error:
            failures.append({"file": name, "error": error.reason})
        except (ValueError, TypeError, AttributeError, Error, RecursionError) as error:
            failures.append({"file": name, "error": f"not understood: {str(error).splitlines()[0]:.120}"})
    return {"items": items, "failures": failures}


def requirements(name: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Name, version condition and kind ("python", "npm", "cargo", "go") of what a manifest asks for.

    Raises:
        ValueError: The text is not what the file name promises; TypeError and AttributeError where its shape is not.
    """
    base = PurePosixPath(name).name
    if base == "package.json":
        data = json.loads(text)
        for group in ("dependencies", "devDependencies", "peerDependencies"):
            yield from ((n, str(v), "npm") for n, v in data.get(group, {}).items())
    elif base == "Cargo.toml":
        data = tomllib.loads(text)
        for group in ("dependencies", "dev-dependencies", "build-dependencies"):
            for n, wanted in data.get(group, {}).items():
                yield n, str(wanted.get("version", "") if isinstance(wanted, dict) else wanted), "cargo"
    elif base == "go.mod":
        yield from ((match[1], match[2], "go") for match in _GO_REQUIRE.finditer(text))
    else:
        for line in _python_lines(base, text):
            match = _REQUIREMENT.match(line)
            if match and not line.lstrip().startswith(("-", "#", "git+", "http")):
                yield match[1], re.sub(r"\s*(\\|--hash).*", "", match[2]).strip(), "python"


def _python_lines(base: str, text: str) -> Iterator[str]:
    if base == "pyproject.toml":
        data = tomllib.loads(text)
        project = data.get("project", {})
        yield from project.get("dependencies", [])
        for extra in project.get("optional-dependencies", {}).values():
            yield from extra
        for group in data.get("dependency-groups", {}).values():
            yield from (line for line in group if isinstance(line, str))
        poetry = data.get("tool", {}).get("poetry", {}).get("dependencies", {})
        yield from (f"{n} {v if isinstance(v, str) else ''}" for n, v in poetry.items() if n != "python")
    elif base == "setup.cfg":
        parser = ConfigParser(interpolation=None)
        parser.read_string(text)
        yield from parser.get("options", "install_requires", fallback="").splitlines()
    elif base == "Pipfile":
        data = tomllib.loads(text)
        for group in ("packages", "dev-packages"):
            yield from (f"{n} {v if isinstance(v, str) and v != '*' else ''}" for n, v in data.get(group, {}).items())
    else:
        yield from text.splitlines()


def canonical(name: str) -> str:
    """The form in which Python package names are compared. Source: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def compared(declared: list[dict[str, str]], outside: dict[str, int], *, firm: Collection[str]) -> dict[str, Any]:
    """Compare items of `declared_in` with outside packages by import name, of which `firm` are required.

    Returns:
        Counts, `undeclared` (firmly imported, not declared), `unseen` (declared, never imported), `loose` (no version
        at all) and `twice` (declared with different conditions).
    """
    python = {canonical(item["name"]) for item in declared if item["kind"] == "python"}
    used = {IMPORT_NAMES.get(canonical(name), canonical(name)): name for name in outside}
    missing = sorted(name for package, name in used.items() if name in firm and not _covers(python, package))
    versions: dict[str, set[str]] = {}
    for item in declared:
        versions.setdefault(f"{item['kind']} {canonical(item['name'])}", set()).add(item["version"])
    return {
        "declared": len(versions),
        "manifests": sorted({item["file"] for item in declared}),
        "undeclared": missing[:20] if python else [],
        "unseen": sorted(package for package in python if not _covers(set(used), package))[:30],
        "loose": sorted({item["name"] for item in declared if item["version"] in ("", "*", "latest")})[:20],
        "twice": sorted(name.partition(" ")[2] for name, found in versions.items() if len(found - {""}) > 1)[:20],
    }


def _covers(packages: set[str], package: str) -> bool:
    """`python-foo`, `foo-python` and `pyfoo` often bring `foo`."""
    bare = package.removeprefix("python-").removesuffix("-python")
    return bool(packages & {package, bare, f"python-{bare}", f"{bare}-python", f"py{bare}", bare.removeprefix("py")})
