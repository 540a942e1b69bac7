"""Routes of edges between two layers: sources with the same targets share one vertical track."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dashboard.views.drawing.canvas import HEAVY, LIGHT, Canvas
from dashboard.views.drawing.graph_layout import is_dummy
from dashboard.views.graph.model import HOT

ARROW = "►"


class Route(NamedTuple):
    """A link between two layers, from row to row, over a track of the gap between them."""

    link: tuple[str, str]
    begin: int
    end: int
    track: int


@dataclass(frozen=True, slots=True)
class Gap:
    """The routes between two layers, and the number of their tracks."""

    routes: tuple[Route, ...]
    tracks: int


class EdgeStyle(NamedTuple):
    """How an edge is drawn."""

    heat: int
    dashed: bool = False
    near: bool = False
    """Whether it touches the node under the cursor."""

    @property
    def tone(self) -> str:
        if self.heat > 1:
            return f"heat-{self.heat}"
        return "muted" if self.near else "line" if self.dashed else "heat-1"

    @property
    def weight(self) -> int:
        return HEAVY if self.heat >= HOT else LIGHT


def route_gap(links: Sequence[tuple[str, str]], ports: Mapping[str, int]) -> Gap:
    """Return the routes of the links between two layers, by the rows of their ends."""
    targets: dict[str, list[str]] = {}
    for source, target in links:
        targets.setdefault(source, []).append(target)
    groups: dict[tuple[str, ...], list[str]] = {}
    for source, target_ids in targets.items():
        groups.setdefault(tuple(sorted(target_ids)), []).append(source)
    spans = []
    for group_targets, sources in groups.items():
        ends = [ports[node_id] for node_id in (*sources, *group_targets)]
        spans.append((min(ends), max(ends), sources, group_targets))
    tracks: list[list[tuple[int, int]]] = []
    routes: list[Route] = []
    for low, high, sources, group_targets in sorted(spans, key=lambda span: (span[0], span[1])):
        track = 0
        if low != high:
            track = _free_track(tracks, low, high)
            tracks[track].append((low, high))
        routes += [Route((a, b), ports[a], ports[b], track) for a in sources for b in group_targets]
    return Gap(tuple(routes), max(1, len(tracks)))


def _free_track(tracks: list[list[tuple[int, int]]], low: int, high: int) -> int:
    """Return the first track without an interval that overlaps `low` to `high`; add one if there is none."""
    for track, intervals in enumerate(tracks):
        if all(high < first or low > last for first, last in intervals):
            return track
    tracks.append([])
    return len(tracks) - 1


def draw(
    canvas: Canvas, gap: Gap, columns: tuple[int, int], looks: Mapping[tuple[str, str], EdgeStyle], through: int
) -> None:
    """Draw the routes of a gap, the hottest last.

    Args:
        canvas: The target.
        columns: First column of the gap, and the column after its last one.
        looks: The look of each link.
        through: Columns of the next layer, which lines to dummies cross.
    """
    left, right = columns
    width = right - left
    first = left + max(1, (width - gap.tracks) // 2)
    for route in sorted(gap.routes, key=lambda route: looks[route.link].heat):
        look = looks[route.link]
        passes = is_dummy(route.link[1])
        begin = left if is_dummy(route.link[0]) else left + (1 if width >= 6 else 0)
        end = right + through if passes else right - 1  # to the next gap
        track = first + route.track
        if route.begin == route.end:
            canvas.draw_across(route.begin, begin, end, look.tone, weight=look.weight, dashed=look.dashed)
        else:
            canvas.draw_across(route.begin, begin, track, look.tone, weight=look.weight, dashed=look.dashed)
            rows = sorted((route.begin, route.end))
            canvas.draw_down(track, rows[0], rows[1], look.tone, weight=look.weight, dashed=look.dashed)
            canvas.draw_across(route.end, track, end, look.tone, weight=look.weight, dashed=look.dashed)
        if not passes:
            canvas.text(end, route.end, ARROW, look.tone)
