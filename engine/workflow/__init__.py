"""A supervisor that gives the tasks of a request to workers, in plain blocking calls.

A thin layer over `engine.supervisor`: one team, one engine and one queue for each worker, in a thread of the pool.
"""
