"""The API for submissions."""
