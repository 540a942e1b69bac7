"""The files of the page: all that is served from the disk, read once.

Rule: a browser keeps them and asks whether they are still good, because a page that comes back on a slow line would
need a minute for the terminal otherwise. They hold nothing of a team.
"""

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

import textual_serve
from aiohttp import web

PAGE = Path(__file__).with_name("page")
BUNDLE = Path(textual_serve.__file__).parent / "static"
FILES: dict[str, tuple[Path, str]] = {
    "page.js": (PAGE / "page.js", "text/javascript"),
    "page.css": (PAGE / "page.css", "text/css"),
    "icon.svg": (PAGE / "icon.svg", "image/svg+xml"),
    "mono.woff2": (PAGE / "mono.woff2", "font/woff2"),
    "mono-bold.woff2": (PAGE / "mono-bold.woff2", "font/woff2"),
    "FONT-LICENSE.txt": (PAGE / "FONT-LICENSE.txt", "text/plain"),
    "textual.js": (BUNDLE / "js" / "textual.js", "text/javascript"),
    "xterm.css": (BUNDLE / "css" / "xterm.css", "text/css"),
}
OPTIONS = b"allowProposedApi:!0,"
SELECTS = OPTIONS + b"macOptionClickForcesSelection:!0,"
"""On a Mac xterm.js lets nothing be selected without this option, which textual.js has no way to give."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file."""

    content: bytes
    packed: bytes
    """The same in gzip; empty where that saves nothing."""
    kind: str
    tag: str
    """Names its content (ETag)."""

    def answer(self, request: web.Request) -> web.Response:
        """Return it, or that the browser has it."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if request.headers.get("If-None-Match") == self.tag:
            return web.Response(status=304, headers=headers)
        body = self.content
        if self.packed and "gzip" in request.headers.get("Accept-Encoding", ""):
            body = self.packed
            headers["Content-Encoding"] = "gzip"
        charset = None if "font" in self.kind else "utf-8"
        return web.Response(body=body, content_type=self.kind, charset=charset, headers=headers)


def assets() -> dict[str, Asset]:
    """Read all of them."""
    return {name: _read(path, kind) for name, (path, kind) in FILES.items()}


def _read(path: Path, kind: str) -> Asset:
    content = path.read_bytes()
    if path.name == "textual.js":
        content = content.replace(OPTIONS, SELECTS, 1)
    packed = gzip.compress(content, mtime=0)
    tag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
    return Asset(content, packed if len(packed) < len(content) * 0.9 else b"", kind, tag)
