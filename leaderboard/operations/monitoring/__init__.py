"""Metrics for Prometheus, logs, and the status of the site."""
