"""Benchmarks of the library, reported as ratios to a baseline in the same process."""
