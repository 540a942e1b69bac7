"""A scroll bar that is drawn as lines are: in Textual's general way its cells took longer than the rows beside them.

With `overflow-y: scroll` it is always there, and where all lines have room it draws what stands behind it. The screen
is then not laid out anew where a scroll bar comes or goes, as while a filter is being typed.
"""

from textual import events
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from dashboard.widgets.tones import Toned


class SlimScrollBar(Toned, ScrollBar):
    """Looks as Textual's, and takes the mouse as that does."""

    virtual_size = Reactive(Size(0, 0))
    """Without a second layout of the screen where its size has changed."""
    _cache_key: tuple[object, ...] = ()
    _cells: list[Strip]
    """What was drawn, of `_asked`."""

    @property
    def is_needed(self) -> bool:
        """Whether there is more than has room."""
        return self.window_virtual_size > self.window_size

    def render_lines(self, crop: Region) -> list[Strip]:
        if not self.is_needed and isinstance(behind := self.parent, Scrolling):
            last = behind.size.width - 1
            return self.clip_strips([behind.render_line(y).crop(last, last + 1) for y in crop.line_range], crop)
        bar, height, base = self.render(), self.size.height, self.rich_style
        assert isinstance(bar, ScrollBarRender)
        cache_key = (height, bar.virtual_size, bar.window_size, bar.position, bar.style, base)
        if cache_key != self._cache_key:
            style = self.app.console.get_style(bar.style)
            assert style.color is not None
            assert style.bgcolor is not None
            segments = bar.render_bar(
                size=height,
                virtual_size=bar.virtual_size,
                window_size=bar.window_size,
                position=bar.position,
                back_color=style.bgcolor,
                bar_color=style.color,
            ).segments
            strips = {
                key: Strip([segment], 1).apply_style(base)
                for key, segment in {id(segment): segment for segment in segments}.items()
            }
            self._cache_key, self._cells = cache_key, [strips[id(segment)] for segment in segments]
        return self.clip_strips(self._cells[crop.y : crop.bottom], crop)

    def on_click(self, event: events.Click) -> None:
        if not self.is_needed and isinstance(behind := self.parent, Scrolling):
            click = event._apply_offset(behind.size.width - 1, 0)
            click._set_forwarded()  # else the app would send it to what is under the mouse: here
            behind.post_message(click)


class Scrolling(ScrollView):
    """Scrolls over lines that it draws, with such a bar."""

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = bar = SlimScrollBar(vertical=True, name="vertical")
            bar.display = self.show_vertical_scrollbar
            self.app._start_widget(self, bar)
        return self._vertical_scrollbar
