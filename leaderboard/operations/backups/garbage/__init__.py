"""Retention: what of the site is deleted after which time, and what never is."""
