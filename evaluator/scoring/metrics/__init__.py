"""Metrics of plans and results, their intervals, and paired tests."""
