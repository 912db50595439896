"""Pages of the documentation and the search."""
