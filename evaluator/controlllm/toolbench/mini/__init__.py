"""The requests of `toolmini`, with their gold decompositions."""
