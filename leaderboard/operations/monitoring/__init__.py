"""Figures for Prometheus, of the database and of how long requests of this process take; and the public status page."""
