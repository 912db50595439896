"""Exporting a user's data, closing accounts, and deleting them."""
