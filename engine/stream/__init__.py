"""Streams of work in progress: live output of agents and events of the journal, in one order.

`bus` receives both; `subscription` is a reader in this process; `board` writes the live file, from which `merging`
restores the order in another process; `narrator` converts either into `StreamEvent`s.
"""
