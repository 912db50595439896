"""One task across two to four planners: plans, steps and scores of samples beside each other."""
