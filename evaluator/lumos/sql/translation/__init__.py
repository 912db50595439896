"""From MySQL to the SQL of SQLite; loads sqlglot."""
