"""What the state is made of: plain entities that only `core/fold/` changes, one file per subject.

`core/state.py` has all of them by name; import them from there.
"""
