"""Template tags of figures, outcomes and comparisons."""
