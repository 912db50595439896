"""Pages, forms and API of submissions."""
