"""`planarena audit`: how much a planner scores that tries to score without solving."""
