"""Arbiters decide whether two texts have the same meaning if a judge's rules are undecided.

An arbiter never sees a pair that the rules decide. If it fails, the pair stays undecided and has the reason.
"""
