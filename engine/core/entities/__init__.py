"""Entities of the state, one file per subject; only `core/fold/` changes them.

Import them from `core/state.py`.
"""
