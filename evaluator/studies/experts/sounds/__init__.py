"""Training of the experts that hear."""
