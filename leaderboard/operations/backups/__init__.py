"""Backups of the database and the stores, and what is made of them again."""
