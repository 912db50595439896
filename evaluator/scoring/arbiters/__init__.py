"""Arbiters settle, once per pair, whether two texts mean the same where a judge's rules do not know.

An arbiter never sees a pair that the rules decide. Whatever goes wrong with it leaves the pair undecided and is said.
"""
