"""A scroll bar that is drawn as lines are: in Textual's general way its cells took longer than the rows beside them."""

from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from dashboard.widgets.tones import Toned


class SlimScrollBar(Toned, ScrollBar):
    """Looks as Textual's, and takes the mouse as that does."""

    _asked: tuple[object, ...] = ()
    _cells: list[Strip]
    """What was drawn, of `_asked`."""

    def render_lines(self, crop: Region) -> list[Strip]:
        bar, height, base = self.render(), self.size.height, self.rich_style
        assert isinstance(bar, ScrollBarRender)
        asked = (height, bar.virtual_size, bar.window_size, bar.position, bar.style, base)
        if asked != self._asked:
            style = self.app.console.get_style(bar.style)
            assert style.color is not None
            assert style.bgcolor is not None
            segments = bar.render_bar(
                size=height, virtual_size=bar.virtual_size, window_size=bar.window_size, position=bar.position,
                back_color=style.bgcolor, bar_color=style.color,
            ).segments  # fmt: skip
            strips = {key: Strip([one], 1).apply_style(base) for key, one in {id(one): one for one in segments}.items()}
            self._asked, self._cells = asked, [strips[id(one)] for one in segments]
        return self.shown(self._cells[crop.y : crop.bottom], crop)


class Scrolling(ScrollView):
    """Scrolls over lines that it draws, with such a bar."""

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = bar = SlimScrollBar(vertical=True, name="vertical")
            bar.display = False
            self.app._start_widget(self, bar)
        return self._vertical_scrollbar
