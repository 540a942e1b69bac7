"""Several pictures of one terminal as one animated SVG: a recording that any page shows as an image.

Each line of the terminal is drawn once for as long as it stays the same. The animation is CSS alone, without a script;
who prefers reduced motion sees the first picture.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

CAPTION_PX = 44.0
"""Height of the line below the terminal that says what is done."""
TITLE_PX = 36.0
"""Height of the window's title, which is left out."""
GROUND, CAPTION = "#0e131a", "#ffd75e"
SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of a recording.

    Attributes:
        svg: The terminal, as Textual exports it; all frames of a recording are of one size.
        caption: Shown below it.
        seconds: How long it stands.
    """

    svg: str
    caption: str
    seconds: float


def film(frames: Sequence[Frame], *, fonts: str) -> str:
    """Return frames as one animated SVG that begins again at its end."""
    width, height = _size_of(frames[0].svg)
    styles: dict[str, str] = {}
    lines = [_lines_of(frame.svg, styles) | {height: _caption(frame.caption, height)} for frame in frames]
    spans = _spans(lines)
    times = [0.0]
    for frame in frames:
        times.append(times[-1] + frame.seconds)
    shown = sorted({(first, last) for first, last, _ in spans})
    style = "\n".join(
        [
            f"text{{font:20px {fonts};white-space:pre}}",
            *(f".{name}{{{css}}}" for css, name in styles.items()),
            *(_shown_from_to(first, last, times) for first, last in shown),
            "@media (prefers-reduced-motion){g{animation:none!important;visibility:hidden}"
            + ",".join(f".s0-{last}" for first, last in shown if first == 0)
            + "{visibility:visible}}",
        ]
    )
    body = "\n".join(f'<g class="s{first}-{last}">{drawn}</g>' for first, last, drawn in spans)
    seen = f'y="{TITLE_PX:g}" width="{width:g}" height="{height - TITLE_PX + CAPTION_PX:g}"'
    return (
        f'<svg viewBox="0 {TITLE_PX:g} {width:g} {height - TITLE_PX + CAPTION_PX:g}"'
        f' xmlns="http://www.w3.org/2000/svg">\n<style>{style}</style>\n'
        f'<rect {seen} rx="8" fill="{GROUND}"/>\n{body}\n</svg>\n'
    )


def _size_of(svg: str) -> tuple[float, float]:
    """Width and height in pixels."""
    _, _, width, height = map(float, ET.fromstring(svg).attrib["viewBox"].split())
    return width, height


def _lines_of(svg: str, styles: dict[str, str]) -> dict[float, str]:
    """Return what is drawn on each line of a terminal, by its place; `styles` names each style by its CSS."""
    root = ET.fromstring(svg)
    sheet = next(root.iter(f"{SVG}style")).text or ""
    css = dict(re.findall(r"\.([\w-]+-r\d+) \{ (.*?) \}", sheet))
    lines: dict[float, list[str]] = {}
    grounds: dict[float, list[tuple[float, float, float, str]]] = {}
    for group in root.findall(f"{SVG}g"):
        across, down = map(float, re.findall(r"translate\(([\d.]+), ?([\d.]+)\)", group.attrib["transform"])[0])
        for each in group.iter():
            if each.tag == f"{SVG}rect":
                x, y = across + float(each.attrib["x"]), down + float(each.attrib["y"])
                row = grounds.setdefault(round(y), [])
                end, color = x + float(each.attrib["width"]), each.attrib["fill"]
                if row and row[-1][3] == color and abs(row[-1][2] - x) < 1:
                    x = row.pop()[1]
                row.append((y, x, end, color))
            elif each.tag == f"{SVG}text" and (text := each.text or "").strip("\u00a0 "):
                name = styles.setdefault(css[each.attrib["class"]], f"t{len(styles)}")
                x, y = across + float(each.attrib["x"]), down + float(each.attrib["y"])
                lines.setdefault(round(y - 18.5), []).append(
                    f'<text class="{name}" x="{x:g}" y="{y:g}" textLength="{each.attrib["textLength"]}">'
                    f"{escape(text, quote=False)}</text>"
                )
    return {
        place: "".join([*map(_ground, grounds.get(place, ())), *lines.get(place, ())])
        for place in lines.keys() | grounds.keys()
    }


def _ground(rect: tuple[float, float, float, str]) -> str:
    y, first, end, color = rect
    return f'<rect x="{first:g}" y="{y:g}" width="{end - first:g}" height="24.65" fill="{color}"/>'


def _caption(text: str, top: float) -> str:
    return f'<text x="20" y="{top + CAPTION_PX / 2 + 3:g}" fill="{CAPTION}" font-weight="bold">{escape(text)}</text>'


def _spans(lines: Sequence[dict[float, str]]) -> list[tuple[int, int, str]]:
    """Return what is drawn, with the first frame that it is in and the first that it is no longer in."""
    spans = []
    for place in sorted({place for frame in lines for place in frame}):
        first = 0
        for number in range(1, len(lines) + 1):
            before = lines[first].get(place, "")
            if number == len(lines) or lines[number].get(place, "") != before:
                if before:
                    spans.append((first, number, before))
                first = number
    return spans


def _shown_from_to(first: int, last: int, times: Sequence[float]) -> str:
    """CSS that shows a group from one frame on until another."""
    if first == 0 and last == len(times) - 1:
        return ""
    name, whole = f"s{first}-{last}", times[-1]
    steps = ["0%{visibility:hidden}"] if first else []
    steps.append(f"{100 * times[first] / whole:.2f}%{{visibility:visible}}")
    if last < len(times) - 1:
        steps.append(f"{100 * times[last] / whole:.2f}%{{visibility:hidden}}")
    return f".{name}{{animation:{name} {whole:g}s step-end infinite}}@keyframes {name}{{{''.join(steps)}}}"
