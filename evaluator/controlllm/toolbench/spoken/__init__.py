"""How hidden requests speak: words, phrases and frames that no public request has."""
