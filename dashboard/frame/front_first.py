"""Composes a screen from front to back, and draws no line that is covered.

Textual draws all of each widget between the first and the last line that changed, and the grounds of containers behind
what covers them whole: half of what a frame costs in which a few lines change.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from textual._compositor import Compositor
from textual.geometry import Region
from textual.strip import Strip

from dashboard.widgets.scrolling import SlimScrollBar

_PASSED = Strip([])
"""In place of a scroll bar that is not needed: what stands behind it comes in one piece."""


class OcclusionCompositor(Compositor):
    """Asks widgets only for the lines that are painted, and for none that those before them have filled."""

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Sequence[Mapping[int, Strip]]:
        cuts = self.cuts
        chops: list[dict[int, Strip | None]] = [dict.fromkeys(ends[:-1]) for ends in cuts]
        missing = {y: len(chops[y]) for y in crop.line_range if is_rendered_line(y)}
        for widget, (region, clip) in self.visible_widgets.items():
            if not missing:
                break
            visible_region = region.intersection(clip)
            lines = [y for y in visible_region.line_range if y in missing]
            if not lines or not visible_region.width:
                continue
            if isinstance(widget, SlimScrollBar) and not widget.is_needed:
                for chop, y in ((chops[y], y) for y in lines if chops[y].get(visible_region.x, _PASSED) is None):
                    chop[visible_region.x] = _PASSED
                    missing[y] -= 1
                continue
            widget_crop = Region(
                visible_region.x - region.x, lines[0] - region.y, visible_region.width, lines[-1] - lines[0] + 1
            )
            strips = widget.render_lines(widget_crop)
            first, last = visible_region.column_span
            for y in lines:
                if y - lines[0] >= len(strips):
                    break  # it has another size already than it had when the screen was laid out
                chop = chops[y]
                ends = [cut for cut in cuts[y] if first <= cut <= last and chop.get(cut) is not _PASSED]
                parts = strips[y - lines[0]].divide([cut - first for cut in ends[1:]])
                for cut, part in zip(ends, parts, strict=False):
                    if chop.get(cut) is None:
                        missing[y] -= cut in chop
                        chop[cut] = part
                if not missing[y]:
                    del missing[y]
        return cast("Sequence[Mapping[int, Strip]]", chops)
