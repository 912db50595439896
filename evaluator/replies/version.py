"""The version of the reader of replies, which is part of the rules of every suite."""

READER = 1
"""Raise it if any reply may be read otherwise than before: as another plan, or not at all. Evaluations before and after
that are on boards of their own. `tests/evaluator/replies/test_version.py` notices changes of the code."""
