"""Which shard a worker leases next, and what a lease contains."""
