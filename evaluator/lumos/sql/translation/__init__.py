"""Translation from MySQL to SQLite, with sqlglot."""
