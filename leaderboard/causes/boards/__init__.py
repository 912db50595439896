"""Causes of a board: tasks by cause and planner."""
