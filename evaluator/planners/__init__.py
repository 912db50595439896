"""Planners: bundled ones, and the client of planner endpoints.

What it exports is imported on first use: processes that import one module below it, such as the inspection of an
uploaded checkpoint, start in a third of the time without all suites and the network client.
"""
