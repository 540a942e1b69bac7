"""What a file name says about the language inside, and how that language starts a comment line."""

from pathlib import PurePosixPath
from typing import Final

LANGUAGES: Final[dict[str, str]] = {
    ".py": "Python", ".pyi": "Python", ".pyx": "Cython", ".js": "JavaScript", ".mjs": "JavaScript",
    ".cjs": "JavaScript", ".jsx": "JavaScript",
    ".ts": "TypeScript", ".tsx": "TypeScript", ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++",
    ".cxx": "C++", ".hpp": "C++", ".rs": "Rust", ".go": "Go", ".java": "Java", ".kt": "Kotlin", ".swift": "Swift",
    ".rb": "Ruby", ".php": "PHP", ".cs": "C#", ".sh": "Shell", ".bash": "Shell", ".zsh": "Shell", ".fish": "Shell",
    ".lua": "Lua", ".pl": "Perl", ".r": "R", ".sql": "SQL", ".html": "HTML", ".htm": "HTML", ".css": "CSS",
    ".scss": "CSS", ".tcss": "CSS", ".md": "Markdown", ".rst": "reStructuredText", ".txt": "Text", ".json": "JSON",
    ".yaml": "YAML", ".yml": "YAML", ".toml": "TOML", ".ini": "INI", ".cfg": "INI", ".xml": "XML", ".csv": "CSV",
    ".tcl": "Tcl", ".bat": "Batch", ".ps1": "PowerShell", ".vue": "Vue", ".svelte": "Svelte", ".scala": "Scala",
    ".ex": "Elixir", ".exs": "Elixir", ".hs": "Haskell", ".ml": "OCaml", ".zig": "Zig", ".dart": "Dart", ".nix": "Nix",
    ".tf": "Terraform", ".proto": "Protocol Buffers", ".ipynb": "Notebook", ".svg": "SVG",
}  # fmt: skip
NAMES: Final[dict[str, str]] = {
    "makefile": "Make", "dockerfile": "Docker", "license": "Text", "copying": "Text", "readme": "Text",
    "cmakelists.txt": "CMake", ".gitignore": "Git", ".gitattributes": "Git",
}  # fmt: skip
_HASH = (
    "Python", "Cython", "Shell", "Ruby", "R", "YAML", "TOML", "Perl", "Make", "Docker", "Tcl", "Elixir", "Nix", "Git",
    "PowerShell",
)  # fmt: skip
_SLASHES = (
    "JavaScript", "TypeScript", "C", "C++", "Rust", "Go", "Java", "Kotlin", "Swift", "C#", "Scala", "Zig", "Dart",
    "PHP", "Protocol Buffers",
)  # fmt: skip
COMMENTS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(_HASH, ("#",)),
    **dict.fromkeys(_SLASHES, ("//", "/*", "*")),
    **dict.fromkeys(("SQL", "Lua", "Haskell"), ("--",)),
    "INI": ("#", ";"),
    "Terraform": ("#", "//"),
    "Batch": ("REM", "::"),
    "CSS": ("/*", "*"),
}
CODE: Final = frozenset(COMMENTS) - {"YAML", "TOML", "INI", "Git"} | {"OCaml", "Vue", "Svelte"}
"""Languages in which copied passages are worth finding."""


def language_of(name: str, head: bytes = b"") -> str:
    """The language of a file.

    Args:
        name: File name.
        head: Its first bytes; a `#!` line decides where the name does not.

    Returns:
        A name from `LANGUAGES`, or "other".
    """
    path = PurePosixPath(name.lower())
    language = NAMES.get(path.name) or LANGUAGES.get(path.suffix)
    if language:
        return language
    first = head.split(b"\n", 1)[0] if head.startswith(b"#!") else b""
    if b"python" in first:
        return "Python"
    return "Shell" if first.endswith(b"sh") else "other"
