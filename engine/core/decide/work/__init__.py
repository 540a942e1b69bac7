"""Decides on work: requests, graphs, dispatch, attempts, failures, strategies."""
