"""Recognising licences by what their texts cannot do without. Pure."""

import re
from pathlib import PurePosixPath
from typing import Final

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
