"""A picture as the documents show it: it fetches nothing, names no folder, and differs only where the screen does."""

import re
from pathlib import Path

FONTS = '"DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace'
HOME_FOLDER = "~/quarterdeck"
"""What pictures show for the temporary folder."""
DESCENDER = 3.0


def standing_alone(svg: str, name: str, folder: str) -> str:
    """Return a picture with fonts of the reader's machine in place of those of the net, and ids after its name.

    Args:
        svg: The terminal, as Textual exports it.
        name: Of the picture.
        folder: The temporary folder of the team.

    Raises:
        ValueError: If it would name a folder of this machine.
    """
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = svg.replace("font-family: Fira Code, monospace", f"font-family: {FONTS}")
    svg = re.sub(r'(clip-terminal">\s*<rect [^>]*height=")([\d.]+)', _with_descenders, svg)
    svg = svg.replace(folder, HOME_FOLDER.ljust(len(folder), "\u00a0"))  # in as many cells
    foreign = [word for word in ("url(http", "@import", str(Path.home())) if word in svg and word != "/"]
    if foreign:
        raise ValueError(f"the picture names {', '.join(foreign)}")
    return named_ids(svg, name).replace("\u00a0", "&#160;")


def named_ids(svg: str, name: str) -> str:
    """Return a picture whose ids begin with its name, in place of the exporter's number.

    That number is a hash of the whole screen: one changed cell would change every line of the file.
    """
    return re.sub(r"\bterminal-\d+-", f"{name}-", svg)


def _with_descenders(found: "re.Match[str]") -> str:
    """Make room for the lowest part of the last line, which the exporter cuts off."""
    return f"{found[1]}{float(found[2]) + DESCENDER}"
