"""Registered studies: plan, code, data and analysis are signed before the first run.

plan.py        the plan of a study, as its author writes it
files.py       bounded reading within a folder, and manifests of files
keys.py        the author's private key, and the public keys that a reader trusts
statements.py  what is signed: registration, runs, deviations, closings
folder.py      the folder of a study: its plan and the chain of its statements
conduct.py     registering, adding scores, declaring deviations, closing
analysis.py    the stated analysis: from scores to figures
tables.py      figures as Markdown, and the generated tables of documents
"""
