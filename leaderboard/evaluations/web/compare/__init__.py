"""Comparing two or more evaluations task by task: a page and an address of the API. Keeps nothing of its own."""
