"""`planarena verify`: checks what a site publishes about a board against what its operator signed.

command.py    the command
fetching.py   bounded reading from a site, or from a downloaded file
documents.py  what a site serves, as types
trust.py      which keys are trusted: pinned, given, or introduced by one of these
pins.py       the file of known sites
site.py       addresses of boards, and what is read of a site
history.py    the chain of snapshots, and names and rows that the operator took back
rows.py       rows of a snapshot, and the figures recomputed from results
ranks.py      ranks and their ranges, computed again
publications.py  what pages, files and the API show of the snapshot
records.py    the digests of all records, and a sample of records and artefacts
hidden_data.py  announcements of hidden data, and data regenerated from published seeds
studies.py    registered studies, and the tables of documents
report.py     findings, and the report
"""
