"""Who did what: an append-only log of what owners and operators do."""
