"""Scorers with models: how good an answer is beside its reference."""
