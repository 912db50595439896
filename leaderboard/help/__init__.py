"""The documentation, the API reference and the search."""
