"""Word problems with one to five operations."""
