"""Template tags of the sign-in pages."""
