"""Executing plans: experts with their profiles, and the engine."""
