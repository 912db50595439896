"""Benchmarks of the library: always as ratios against a baseline in the same process."""
