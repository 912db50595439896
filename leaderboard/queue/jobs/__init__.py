"""Jobs: what a user asked for that waits for others' machines or executes plans, outside of requests."""
