"""The documentation on the site: the chapters of `docs/`, and the API reference generated from its schema."""
