"""The host: the loop around the core. Messages in, events on disk, effects out.

One file each: the loop (`loop`), what it decided (`batch`), writing and reading that (`disk`), what it does then
(`effects`), attempts, the code of agents (`runtime_pool`), timers, and commands (`pending_commands`). Who listens is in
`engine/stream/`.
"""

from engine.host.host import Host
from engine.host.pending_commands import Applied

__all__ = ["Applied", "Host"]
