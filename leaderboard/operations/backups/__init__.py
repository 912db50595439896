"""Backups of the database and the stores, and their restoration."""
