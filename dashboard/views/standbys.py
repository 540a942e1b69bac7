"""Engines that stand by, in words."""

from collections.abc import Sequence

from store.records import StandbyInfo


def waiting_said(standbys: Sequence[StandbyInfo]) -> str:
    """Return who stands by; empty where nobody does."""
    if not standbys:
        return ""
    if len(standbys) == 1:
        verb = "stands by and does not answer" if standbys[0].hung else "stands by"
        return f"engine {standbys[0].pid} {verb}"
    still = [each for each in standbys if each.hung]
    doubt = f", {len(still)} of them not answering" if still else ""
    return f"engines {', '.join(str(each.pid) for each in standbys)} stand by{doubt}"
