"""What a request wants: derived from its gold decomposition, and every sufficient way to get it."""
