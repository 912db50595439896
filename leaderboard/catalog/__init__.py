"""Suites and tasks as the site knows them, and the conditions under which it evaluates them."""
