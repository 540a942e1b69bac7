"""Model agents: a conversation whose turns and tool calls are recorded steps of the attempt.

A later attempt takes answers and results from the record, and only requests what is missing. See
docs/reference/model-agents.md.
"""
