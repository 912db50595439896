"""The queue: decisions, attempts, workers and their verification."""
