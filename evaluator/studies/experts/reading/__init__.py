"""Training of the experts that read signs and short texts."""
