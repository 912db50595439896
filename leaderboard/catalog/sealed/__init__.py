"""The pool of sealed requests: adding, parsing, reviewing and withdrawing them, and their use in a season.

Only staff see an entry before its season closes. Texts and goals are encrypted at rest, and the audit log has neither.
"""
