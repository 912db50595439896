"""The wording of hidden requests: a second realiser with a lexicon of its own, which no training code reads.

Closed seasons are published, and so is this code; what a season says stays unknown because its seed is.
"""
