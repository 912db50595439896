"""Comparison of evaluations task by task: page and API."""
