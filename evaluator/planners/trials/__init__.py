"""Test calls: a planner that its owner wants to submit is asked for one task, and the answer is judged."""
