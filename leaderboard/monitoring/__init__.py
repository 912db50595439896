"""Figures for Prometheus: what the database says, and how long requests of this process take."""
