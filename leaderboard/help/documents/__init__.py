"""The documentation on the site: the chapters of `docs/`, and the reference of the API made from its schema."""
