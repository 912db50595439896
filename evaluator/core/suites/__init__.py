"""Suites: versioned benchmarks and their tasks."""
