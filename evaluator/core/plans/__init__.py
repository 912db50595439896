"""Plans: what a planner answers, how it is read and printed, and what can be wrong with it."""
