"""Agents that models play: a conversation whose turns and tool calls are recorded steps of the attempt.

What is recorded is the conversation: an attempt that goes on takes its answers and results from there, and asks for
what is missing alone. See docs/reference/model-agents.md.
"""
