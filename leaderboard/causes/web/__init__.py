"""The API of causes."""
