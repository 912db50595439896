"""What a planner is: its kinds, checkpoints, secret headers and declared facts."""
