"""Make the font of the page in `dashboard/web/page`: python .ci/font.py FOLDER (needs fonttools and brotli).

FOLDER holds DejaVuSansMono.ttf and DejaVuSansMono-Bold.ttf of DejaVu 2.37. The result has the signs that the dashboard
draws, and a braille block, which DejaVu Sans Mono lacks. Its licence asks for another name where glyphs were added.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

NAME = "Quarterdeck Mono"
PAGE = Path(__file__).resolve().parents[1] / "dashboard" / "web" / "page"
RANGES = (
    (0x20, 0x17F), (0x370, 0x52F), (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x20A0, 0x20BF), (0x2100, 0x23FF),
    (0x2460, 0x24FF), (0x2500, 0x27BF), (0x27C0, 0x27EF), (0x2900, 0x297F), (0x2B00, 0x2BFF), (0xFFFD, 0xFFFD),
)  # fmt: skip
DOTS = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
"""Column and row of each bit of a braille character."""


def braille(font: TTFont, radius: int) -> None:
    """Add U+2800 to U+28FF: eight squares with round-off left out, so that rows of cells join into a curve."""
    width, top, bottom = font["hmtx"]["A"][0], 1420, -280
    columns = (width * 0.28, width * 0.72)
    rows = [top - (top - bottom) * (0.125 + 0.25 * row) for row in range(4)]
    for bits in range(256):
        pen = TTGlyphPen(None)
        for place, (column, row) in enumerate(DOTS):
            if bits >> place & 1:
                x, y = round(columns[column]), round(rows[row])
                pen.moveTo((x - radius, y))
                pen.qCurveTo((x - radius, y + radius), (x, y + radius))
                pen.qCurveTo((x + radius, y + radius), (x + radius, y))
                pen.qCurveTo((x + radius, y - radius), (x, y - radius))
                pen.qCurveTo((x - radius, y - radius), (x - radius, y))
                pen.closePath()
        name = f"uni{0x2800 + bits:04X}"
        font.setGlyphOrder([*font.getGlyphOrder(), name])
        font["glyf"][name] = pen.glyph()
        font["hmtx"][name] = (width, 0)
        for table in font["cmap"].tables:
            if table.isUnicode():
                table.cmap[0x2800 + bits] = name


def make(source: Path, target: Path, radius: int) -> None:
    """Cut a font down to what is drawn, and write it for the web."""
    font = TTFont(source)
    options = subset.Options(
        layout_features=[], hinting=False, name_IDs=[0, 1, 2, 4, 5, 6, 13, 14], notdef_outline=True
    )
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[code for first, last in RANGES for code in range(first, last + 1)])
    cutter.subset(font)
    braille(font, radius)
    for record in font["name"].names:
        if record.nameID in (1, 4, 6):
            record.string = str(record).replace("DejaVu Sans Mono", NAME).replace("DejaVuSansMono", "QuarterdeckMono")
    font.flavor = "woff2"
    font.save(target)


if __name__ == "__main__":
    make(Path(sys.argv[1]) / "DejaVuSansMono.ttf", PAGE / "mono.woff2", 140)
    make(Path(sys.argv[1]) / "DejaVuSansMono-Bold.ttf", PAGE / "mono-bold.woff2", 165)
