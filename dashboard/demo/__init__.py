"""The demo's audit crew: function agents that read a folder of source code and write a report on it.

Rule: workers (`checks`) take and return JSON values, and a file that cannot be read is a recorded failure. They import
the standard library alone, because each of them is loaded in fresh processes. The team file is `crew.yaml`; the
dashboard's suggestions to viewers are in `dashboard/views/words/tips.py` and `dashboard/app/guide.py`.
"""

MISSING_CODE_HINT = "this team is from an older demo; quarterdeck demo makes a new one"
"""Follows the error of an agent whose code is no longer in this package (`engine/runtimes/functions/child.py`)."""
