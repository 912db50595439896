"""The page of a suite: what it measures, its tasks and tools, its data and its metrics."""
