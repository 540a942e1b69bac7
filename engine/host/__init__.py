"""The host: the loop around the core. Messages in, events on disk, effects out.

Files: the loop (`loop`), batches of events (`batch`), writing and reading them (`journal_writer`), effects, attempts,
the code of agents (`runtime_pool`), timers, and commands (`pending_commands`). Subscribers are served by
`engine/stream/`.
"""
