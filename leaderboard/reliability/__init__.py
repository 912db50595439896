"""Reliability profiles of planners: requests, members, figures, pages and their API."""
