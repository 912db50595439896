"""Interactive suites of LUMOS: the planner sees the result of each action before the next."""
