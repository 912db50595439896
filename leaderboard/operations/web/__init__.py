"""Pages and API of operations."""
