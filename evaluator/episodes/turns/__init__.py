"""Episodes in turns: a planner is asked, its actions are run, their results are fed back, and it is asked again."""
