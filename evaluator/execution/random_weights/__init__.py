"""Checkpoints of a profile with random weights, built from their configurations without a hub."""
