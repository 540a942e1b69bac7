"""Supervisors in a program: `DynamicSupervisor` and what it is made from. Import names from `quarterdeck`.

See docs/reference/python.md.
"""
