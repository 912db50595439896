"""Pages of evaluations and tasks, comparisons and sharing. Read-only."""
