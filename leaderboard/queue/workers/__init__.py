"""Credentials, logs and launches of workers."""
