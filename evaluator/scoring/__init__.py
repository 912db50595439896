"""Scores and what follows from them: metrics, intervals, tests, causes of lost points, arbiters."""
