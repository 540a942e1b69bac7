"""The demo's audit crew: function agents that read a folder of source code and write a report on it.

Rule: workers take and return JSON values, and a file that cannot be read is a recorded failure. Workers (`scan`,
`parse`, `hazards`, `fingerprints`, `imports`, `documentation`) import the standard library alone, because each of them
is loaded in fresh processes. The team file is `crew.yaml`; the dashboard's suggestions to viewers are in
`dashboard/views/words/tips.py` and `dashboard/app/guide.py`.
"""
