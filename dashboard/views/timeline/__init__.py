"""The timeline: the work of every agent over the whole journal.

`lanes` sums attempts in slots of time, `axis` divides a period into columns, `drawing` makes lines of both.
"""

from dashboard.views.timeline.axis import Axis, cut_axis
from dashboard.views.timeline.drawing import Timeline, TimelineView, draw_timeline
from dashboard.views.timeline.lanes import BODIED, KINDS, Lanes

__all__ = ["BODIED", "KINDS", "Axis", "Lanes", "Timeline", "TimelineView", "cut_axis", "draw_timeline"]
