"""The documentation, the reference of the API and the search."""
