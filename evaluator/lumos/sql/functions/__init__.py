"""MySQL's functions for SQLite."""
