"""Confinement of untrusted programs and models, and the checks of a model before it is loaded."""
