"""Worker pools: which evaluations each may lease, and how many workers it needs now."""
