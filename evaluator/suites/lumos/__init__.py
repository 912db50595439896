"""LUMOS: interactive suites, where a planner and the tools take turns."""
