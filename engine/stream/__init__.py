"""What readers hear of work while it happens: the text of agents, and the events of the journal, in one order.

`bus` takes what attempts say and what was journaled; `subscription` is one reader in this process, `board` the live
file, from which `merging` puts the same order together in another process; `narrator` makes `StreamEvent`s of both.
"""
