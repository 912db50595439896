"""Template tags of the comparison page."""
