"""Calls of models: requests, answers, and providers.

A call is one request: retries and the change to another model are decisions in the journal, never made here.
See docs/reference/models.md.
"""
