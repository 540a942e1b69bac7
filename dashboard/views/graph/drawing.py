"""A graph as lines: the largest boxes that fit, edges between them, and in narrow windows finished stages on one line.

`draw_graph` is a pure function; it also returns the place of each box, for the cursor and the mouse.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dashboard.views.drawing.canvas import Canvas
from dashboard.views.drawing.graph_layout import MAX_BARE_ROWS, Layered, assign_rows, layer_height, port
from dashboard.views.drawing.lines import BLANK, Line, Span, cut, fit_height, hairline, line
from dashboard.views.graph import boxes, routes
from dashboard.views.graph.model import Edge, Graph, Node
from dashboard.views.graph.nodes import IDLE_PREFIX, Sight
from dashboard.views.graph.overflow import bound_layers
from dashboard.views.graph.stages import Box, Stages, split_stages
from dashboard.views.graph.subject import graph_of

NARROW = 100
"""Width below which finished and future stages are shown in one line."""
SMALL = 60
"""Width below which names take precedence: edges are short, and idle members are only counted."""
SMALL_MAX_WIDTH = 16
"""Maximum columns of a box below `SMALL`, if not all boxes fit."""
SMALL_MAX_CUT = 4
"""Maximum cut columns of names below `SMALL`; if more would be cut, members are merged into their teams."""
MIN_GAP, SMALL_GAP, MAX_GAP = 4, 3, 12
MIN_VISIBLE_SHARE = 0.9
"""Larger boxes are used if at least this share of their preferred width fits."""
LEGEND = "━ just now  ─ before  ╌ planned"
LEGEND_MIN_WIDTH = 60
"""Minimum columns for the legend beside the title."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Lines, and the places of the nodes in them."""

    lines: list[Line]
    boxes: dict[str, Box] = field(default_factory=dict)
    fits: bool = True
    """Whether the whole graph is visible."""

    def node_at(self, x: int, y: int) -> str | None:
        inside = (
            key for key, box in self.boxes.items() if box.x <= x < box.x + box.width and box.y <= y < box.y + box.height
        )
        return next(inside, None)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Sizes and places of the layout, in rows and columns of the whole plane."""

    layering: Layered
    size: int
    heights: Mapping[str, int]
    top: Mapping[str, int]
    widths: Sequence[int]
    gaps: Sequence[routes.Gap]
    gap_widths: Sequence[int]
    left: int

    @property
    def width(self) -> int:
        return sum(self.widths) + sum(self.gap_widths)

    @property
    def height(self) -> int:
        return max((y + self.heights.get(node, 1) for node, y in self.top.items()), default=0)

    def x_of(self, layer: int) -> int:
        return self.left + sum(self.widths[:layer]) + sum(self.gap_widths[:layer])


def graph_lines(
    sight: Sight, *, subject: str, width: int, height: int, selected: str | None = None, calm: bool = False
) -> list[Line]:
    """Return a graph with its heading, for panes of other screens.

    Args:
        subject: The id of an open run or of a supervisor, `team`, or empty for the current run.
        height: Lines, including the heading.
        selected: The id of a node, or of its object.
        calm: Whether edges have two steps of heat instead of five.
    """
    graph = graph_of(sight, subject, lines=height - 1)
    if width < SMALL:
        graph = _fit_small_pane(graph, subject, width, height - 1)
        if subject in sight.state.supervisors and _cut_columns(graph, width, height - 1) > SMALL_MAX_CUT:
            graph = _fit_small_pane(graph_of(sight, subject, opened=subject, folded=True), subject, width, height - 1)
    chosen = next((node.id for node in graph.nodes if selected in (node.id, node.about)), None)
    drawing = draw_graph(
        graph, width=width, height=height - 1, now_ms=sight.now_ms, selected=chosen, calm=calm, bound=True
    )
    return [heading(graph.title, width), *drawing.lines]


def _fit_small_pane(graph: Graph, subject: str, width: int, height: int) -> Graph:
    """Return the part of a graph for a small pane."""
    # The subject is known from the pane: leave its columns to the names below it.
    if any(edge.source != subject for edge in graph.edges):
        graph = graph.subgraph(node.id for node in graph.nodes if node.id != subject)
    if not _cut_columns(graph, width, height):
        return graph
    short = (
        node._replace(name=node.name.removesuffix(" idle")) if node.id.startswith(IDLE_PREFIX) else node
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(short))


def _cut_columns(graph: Graph, width: int, height: int) -> int:
    """Return the number of columns by which the names of visible layers are cut in a small graph."""
    if not graph.nodes:
        return 0
    plan = _plan(graph, width=width, height=height, size=None)
    name_widths = _widths(_without_figures(graph), plan.layering, plan.size)
    visible_widths = (min(column_width, width - plan.x_of(index)) for index, column_width in enumerate(plan.widths))
    return sum(max(0, name - cells) for name, cells in zip(name_widths, visible_widths, strict=True) if cells > 0)


def _without_figures(graph: Graph) -> Graph:
    return replace(graph, nodes=tuple(node._replace(took="", figure="") for node in graph.nodes))


def heading(title: str, width: int) -> Line:
    """Return the hairline above a graph, with the legend if there is room."""
    return hairline(title, width, right=LEGEND if width >= LEGEND_MIN_WIDTH else "")


def draw_graph(
    graph: Graph,
    *,
    width: int,
    height: int,
    now_ms: int,
    selected: str | None = None,
    calm: bool = False,
    size: int | None = None,
    bound: bool = False,
) -> Drawing:
    """Return a graph as exactly `height` lines.

    Args:
        now_ms: The time for the heat of edges.
        selected: The node under the cursor; if the graph does not fit, the part around it is shown.
        calm: Whether edges have two steps of heat instead of five.
        size: Rows of a box; by default the largest that fits.
        bound: Whether nodes of a layer that do not fit are merged into one, for a pane without a cursor.
    """
    if not graph.nodes or width < 20 or height < 1:
        lines = [BLANK] * max(0, height // 3) + [line(Span(cut(f"   {text}", width), "muted")) for text in graph.empty]
        return Drawing(fit_height(lines if not graph.nodes else [], height))
    staged = split_stages(graph, now_ms=now_ms) if graph.is_run and width < NARROW and height > 5 else Stages((), graph)
    stage_lines = staged.lines(selected, width)
    graph_height = height - len(stage_lines)
    if bound:
        staged = replace(staged, rest=bound_layers(staged.rest, graph_height, selected))
    plan = _plan(staged.rest, width=width, height=graph_height, size=size)
    dx, dy = _offset(plan, selected, width, graph_height)
    canvas = Canvas(width, graph_height, left=dx, top=dy)
    looks = _looks(staged.rest, plan.layering, now_ms, selected, calm=calm)
    for index, gap in enumerate(plan.gaps):
        left = plan.x_of(index) + plan.widths[index]
        routes.draw(canvas, gap, (left, left + plan.gap_widths[index]), looks, plan.widths[index + 1])
    node_boxes: dict[str, Box] = dict(staged.boxes(width))
    nodes = {node.id: node for node in staged.rest.nodes}
    for index, layer in enumerate(plan.layering.layers):
        for key in layer:
            node = nodes.get(key)
            if node is None:
                continue
            x, y, box_width, box_height = plan.x_of(index), plan.top[key], plan.widths[index], plan.heights[key]
            node_boxes[key] = Box(x - dx, y - dy + len(stage_lines), box_width, box_height, index)
            if x + box_width > dx and x < dx + width and y + box_height > dy and y < dy + graph_height:
                # A box without a border must fit into the pane, so that a cut name ends with a `…`.
                if box_height <= MAX_BARE_ROWS:
                    box_width = max(boxes.BARE_MIN_WIDTH, min(box_width, dx + width - x))
                boxes.draw(canvas, node, (x, y), (box_width, box_height), selected=key == selected)
    fits = plan.width <= width and plan.height <= graph_height
    return Drawing([*stage_lines, *canvas.lines()], node_boxes, fits)


def _plan(graph: Graph, *, width: int, height: int, size: int | None) -> _Plan:
    """Choose the largest boxes that fit, and place them."""
    layering = graph.layering()
    chosen = size or _largest_size(graph, layering, width=width, height=height)
    heights = {node.id: chosen for node in graph.nodes}
    top = assign_rows(layering, heights, height, gap=boxes.gap_of(chosen))
    ports = {key: y + port(heights.get(key, 1)) for key, y in top.items()}
    place_of = {key: index for index, layer in enumerate(layering.layers) for key in layer}
    between: list[list[tuple[str, str]]] = [[] for _ in layering.layers[1:]]
    for link in layering.links:
        between[place_of[link[0]]].append(link)
    gaps = [routes.route_gap(links, ports) for links in between]
    min_gaps = [_min_gap(width) - 1 + gap.tracks for gap in gaps]
    available = width - sum(min_gaps)
    natural = _widths(graph, layering, chosen)
    name_widths = _widths(_without_figures(graph), layering, chosen) if width < SMALL else natural
    floors = _widths(graph, layering, chosen, boxes.figure_width)
    if width < SMALL or sum(floors) > available:
        floors = [boxes.MIN_WIDTH] * len(floors)
    widths = _shrink(name_widths if sum(natural) > available else natural, available, floors)
    if width < SMALL and sum(widths) > available:  # the graph has to be scrolled anyway: do not shrink names further
        widths = [min(column_width, SMALL_MAX_WIDTH) for column_width in name_widths]
        # The last layer takes the rest.
        widths[-1] = min(widths[-1], max(available - sum(widths[:-1]), boxes.BARE_MIN_WIDTH))
    elif name_widths is not natural:
        for index, column_width in enumerate(natural):  # show figures where no name is cut for them
            widths[index] = column_width if sum(widths) - widths[index] + column_width <= available else widths[index]
    gap_widths = _grow_gaps(min_gaps, width - 2 - sum(widths) - sum(min_gaps))
    left = max(0, (width - sum(widths) - sum(gap_widths)) // 2)
    return _Plan(layering, chosen, heights, top, widths, gaps, gap_widths, left)


def _largest_size(graph: Graph, layering: Layered, *, width: int, height: int) -> int:
    """Return the rows of the largest boxes that fit, or 1."""
    gaps_width = _min_gap(width) * (len(layering.layers) - 1)
    for size in boxes.SIZES:
        is_allowed = (
            any(node.words or node.spent for node in graph.nodes)
            if size == boxes.TALKING
            else size < boxes.TALL or width >= boxes.TALL_BOX_MIN_COLUMNS
        )
        heights = {node.id: size for node in graph.nodes}
        if not is_allowed or height < max(
            layer_height(layer, heights, gap=boxes.gap_of(size)) for layer in layering.layers
        ):
            continue
        is_whole = width < SMALL or size == boxes.TALKING
        needed_width = round(sum(_widths(graph, layering, size)) * (1 if is_whole else MIN_VISIBLE_SHARE)) + gaps_width
        if needed_width <= width or size < 3:
            return size
    return boxes.SIZES[-1]


def _min_gap(width: int) -> int:
    return SMALL_GAP if width < SMALL else MIN_GAP


def _widths(
    graph: Graph, layering: Layered, size: int, takes: Callable[[Node, int], int] = boxes.natural_width
) -> list[int]:
    """Return the columns of each layer, which are those of its widest box."""
    width_by_id = {node.id: takes(node, size) for node in graph.nodes}
    return [max((width_by_id.get(key, 1) for key in layer), default=1) for layer in layering.layers]


def _shrink(widths: list[int], available: int, floors: Sequence[int]) -> list[int]:
    """Shrink the widths of layers to fit into `room` columns, the widest first, none below its floor."""
    out = list(widths)
    while sum(out) > available and (giving := [place for place, floor in enumerate(floors) if out[place] > floor]):
        out[max(giving, key=lambda place: out[place])] -= 1
    return out


def _grow_gaps(gaps: list[int], available: int) -> list[int]:
    """Widen all gaps equally by the free columns, up to `MAX_GAP`."""
    if not gaps or available <= 0:
        return gaps
    growth = available // len(gaps)
    return [max(gap, min(gap + growth, MAX_GAP)) for gap in gaps]


def _offset(plan: _Plan, selected: str | None, width: int, height: int) -> tuple[int, int]:
    """Return the top left corner of the visible part: around the node under the cursor, or the first one."""
    place = next((place for place, layer in enumerate(plan.layering.layers) if selected in layer), None)
    x = 0 if place is None else plan.x_of(place) + plan.widths[place] // 2
    y = plan.top.get((selected or "") if place is not None else plan.layering.layers[0][0], 0)
    return max(0, min(x - width // 2, plan.width - width)), max(0, min(y - height // 2, plan.height - height))


def _looks(
    graph: Graph, layering: Layered, now_ms: int, selected: str | None, *, calm: bool
) -> dict[tuple[str, str], routes.EdgeStyle]:
    looks: dict[tuple[str, str], routes.EdgeStyle] = {}

    def look(edge: Edge) -> routes.EdgeStyle:
        near = selected in (edge.source, edge.target)
        return routes.EdgeStyle(edge.heat(now_ms, calm=calm), edge.is_planned, near)

    for edge in graph.edges:
        for link in layering.paths[edge.source, edge.target]:
            looks[link] = look(edge)
    return looks
