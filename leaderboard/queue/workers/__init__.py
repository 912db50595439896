"""Credentials and logs of workers."""
