"""`planarena verify`: checks what a site publishes about a board against what its operator signed.

command.py    the command
fetching.py   bounded reading from a site, or from a downloaded file
documents.py  what a site serves, as types
trust.py      which keys are trusted: pinned, given, or introduced by one of these
pins.py       the file of known sites
history.py    the chain of snapshots
rows.py       rows of a snapshot, and the figures recomputed from results
records.py    the sample of records and artefacts
report.py     findings, and the report
"""
