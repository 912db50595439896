"""`planarena view`: the pages of evaluations and tasks for reports that `planarena evaluate` wrote, without a database.

A report is a file of a stranger: `reading.py` checks it, `records.py` makes the records of the site's presenters and
templates of it, `serving.py` serves their pages, `bundle.py` writes them as files.
"""
