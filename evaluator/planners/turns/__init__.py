"""Planners that are asked turn by turn."""
