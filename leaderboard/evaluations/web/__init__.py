"""Pages of evaluations, tasks and workers. Reads only."""
